"""Lets a loop's own commands through without a dialog: claims, questions and a look, in its session."""

from __future__ import annotations

from ralphloop import errors
from ralphloop import system as os
from ralphloop.engine import find, shell
from ralphloop.engine.words import own_script
from ralphloop.hook import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.domain.model import StopEvent
    from ralphloop.store.loop import LoopFiles

EVENT = "PreToolUse"
NAME = "ralphloop"
COMMANDS = ("done", "ask", "status")
# What makes a shell do more than run the words that are there: expansion, redirection, grouping, lines.
LIVE = "$`<>(){}\\\n\r"


def respond(payload: Mapping[str, Any], call: find.Call) -> str:
    """The rules of a prompt end with it, and a subagent that comes back begins another one (2.1.325)."""
    if payload.get("tool_name") != "Bash":
        return ""
    given = payload.get("tool_input")
    command = given.get("command") if isinstance(given, dict) else None
    programs = programs_of(command) if isinstance(command, str) else set()
    event = wire.stop_event(payload, cwd=call.cwd)
    if not programs or not event.session or _are_within(programs, call.env, event.cwd):
        return ""
    try:
        loop = _loop(event, call)
        state = loop.load() if loop is not None else None
    except OSError:  # a newer version's
        return ""
    if loop is None or state is None or not state.live:
        return ""
    if _are_within(programs, call.env, loop.record.root):
        return ""
    return wire.allow(EVENT, "a command of the loop that this session owns")


def _loop(event: StopEvent, call: find.Call) -> Optional[LoopFiles]:
    """The session's loop; a list that its next stop would make its own becomes so before its first claim."""
    mine = find.held(event, call)
    if mine is not None:
        return mine if call.serves(mine) else None
    from ralphloop.engine import claim

    try:
        return claim.for_stop(event, call)
    except (OSError, errors.BusyError):
        return None


def _are_within(programs: set[str], env: Mapping[str, str], folder: str) -> bool:
    return any(is_within(name, env, folder) for name in programs)


def programs_of(command: str) -> set[str]:
    """The programs that a shell line starts, if it does nothing but call us with such commands; else none."""
    if any(char in command for char in LIVE):
        return set()
    try:
        calls = [words for _, words, _ in shell.commands(command) if words]
    except ValueError:
        return set()
    return {words[0] for words in calls} if all(_verb(words) in COMMANDS for words in calls) else set()


def _verb(words: list[str]) -> str:
    named = 1 if words[0] == NAME else 2 if words[:2] == ["sh", own_script()] else len(words)
    return "".join(words[named : named + 1])


def is_within(program: str, env: Mapping[str, str], folder: str) -> bool:
    """Whether the agent, who may write in this folder, could have put there what this name starts."""
    top = os.path.realpath(folder).rstrip(os.sep) + os.sep
    for place in [*(env.get("PATH") or "").split(os.pathsep), os.path.dirname(own_script())]:
        found = os.path.join(place, program)
        if not os.path.isabs(place):
            return True
        if os.access(found, os.X_OK) and not os.path.isdir(found):
            return any(os.path.join(path, "").startswith(top) for path in (found, os.path.realpath(found)))
    return program == "sh"
