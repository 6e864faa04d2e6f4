"""Lets a loop's own commands through without a dialog: claims, questions and a look, in its session."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.hook import find, shell, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

EVENT = "PreToolUse"
COMMANDS = ("done", "ask", "status")
# What makes a shell do more than run the words that are there: expansion, redirection, grouping, lines.
LIVE = "$`<>(){}\\\n\r"


def respond(payload: Mapping[str, Any], call: find.Call) -> str:
    """The rules of a prompt end with it, and a subagent that comes back begins another one (fact 8)."""
    if wire.is_foreign(payload, call.env) or payload.get("tool_name") != "Bash":
        return ""
    given = payload.get("tool_input")
    command = given.get("command") if isinstance(given, dict) else None
    if not isinstance(command, str) or not is_own(command):
        return ""
    event = wire.stop_event(payload, cwd=call.cwd)
    loop = find.owned(event, call) if event.session else None
    state = loop.load() if loop is not None else None
    if state is None or not state.live:
        return ""
    return wire.allow(EVENT, "a command of the loop that this session owns")


def is_own(command: str) -> bool:
    """Whether a shell line does nothing but call us with such a command, however often."""
    if any(char in command for char in LIVE):
        return False
    try:
        calls = [words for _, words, _ in shell.commands(command) if words]
    except ValueError:
        return False
    return bool(calls) and all(_verb(words) in COMMANDS for words in calls)


def _verb(words: list[str]) -> str:
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    own = ["sh", os.path.join(os.path.dirname(package), "bin", "ralphloop")]
    named = 1 if words[0] == "ralphloop" else 2 if words[:2] == own else len(words)
    return "".join(words[named : named + 1])
