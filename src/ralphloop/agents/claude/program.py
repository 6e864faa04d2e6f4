"""Claude Code's program: how our hook is registered with it, how it is started on a loop, what it reports."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from typing import Any

from ralphloop.agents.claude.variables import TITLE as TITLE
from ralphloop.agents.event import Event, Limit, Result, Retry
from ralphloop.tasklists.registry import LAYOUTS

PROGRAM = "claude"
# Before the first one the hook gets no reply to judge; the second one added what continues without a block.
OLDEST, WANTED = (2, 1, 47), (2, 1, 163)
# what a person types to get it, to bring it up to date, to log in, to see whether it answers
GET, UPDATE = "npm install -g @anthropic-ai/claude-code", "claude update"
LOGIN, HELLO = "claude /login", "claude -p hello"
PERMISSION_MODES: tuple[str, ...] = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk")
WIDE: tuple[str, ...] = ("auto", "bypassPermissions")  # what only a person may choose
# event -> seconds that the client gives the hook
EVENTS = {
    "Stop": 360,  # above the time that checks may take in one stop
    "SubagentStop": 10,
    "SessionStart": 20,
    "UserPromptSubmit": 20,
    "StopFailure": 24 * 3600,  # it may wait for the end of a rate limit, while the prompt is free
    "SessionEnd": 10,
}
ON = {"UserPromptSubmit": "rl_on=prompt ", "StopFailure": "rl_on=wake "}
REWAKES = ("StopFailure",)
# Shown, and told to the model, where a hook's whole command line would stand (2.1.325).
SHOWN = "ralphloop"
OWN_COMMANDS = ("Bash(ralphloop *)", "Bash(sh *bin/ralphloop*)")
PROMPT_MAX = 100_000  # Linux takes no argument above 128 KiB
NUMBER_MAX = 1e15


def plugin_command(verb: str, plugin: str) -> str:
    return f"{PROGRAM} plugin {verb} {plugin}"


def hook_command(
    package_dir: str, *, registration: str = "settings", layouts: Sequence[str] = LAYOUTS
) -> str:
    """The command line that a client runs for the hook of the package in this folder."""
    guard = shlex.quote(os.path.join(package_dir, "hook", "guard.sh"))
    return (
        f"rl_guard={guard} rl_as={registration} rl_layouts={shlex.quote(' '.join(layouts))}; "
        '[ -r "$rl_guard" ] || exit 0; . "$rl_guard"'
    )


def statusline_command(package_dir: str) -> str:
    """The command line that a client runs for its status line."""
    return hook_command(package_dir, registration="statusline")


def hook_settings(command: str) -> dict[str, Any]:
    """Settings that register the command for every event; the guard is told which one is a prompt."""
    return {
        "hooks": {
            event: [{"hooks": [_entry(event, ON.get(event, "") + command, timeout_s=timeout_s)]}]
            for event, timeout_s in EVENTS.items()
        }
    }


def _entry(event: str, command: str, *, timeout_s: int) -> dict[str, Any]:
    entry = {"type": "command", "command": command, "timeout": timeout_s, "statusMessage": SHOWN}
    return {**entry, "asyncRewake": True} if event in REWAKES else entry


def run_settings(command: str) -> dict[str, Any]:
    """The same for a session that a supervisor starts: nobody is there to allow the loop's own commands."""
    settings = hook_settings(command)
    calls = [
        {"type": "command", "if": rule, "command": command, "timeout": 10, "statusMessage": SHOWN}
        for rule in OWN_COMMANDS
    ]
    settings["hooks"]["PreToolUse"] = [{"matcher": "Bash", "hooks": calls}]
    return settings


def print_argv(
    *,
    session: str,
    settings: str,
    model: str = "",
    fallback_model: str = "",
    permission_mode: str = "",
    budget_usd: float = 0.0,
) -> list[str]:
    """The client without a terminal; the prompt comes by stdin, its events as JSON lines."""
    options = {
        "--session-id": session,
        "--settings": settings,
        "--model": model,
        "--fallback-model": fallback_model,
        "--permission-mode": permission_mode,
        "--max-budget-usd": f"{budget_usd:.4f}" if budget_usd else "",
    }
    given = [word for option, value in options.items() if value for word in (option, value)]
    return [PROGRAM, "-p", "--output-format", "stream-json", "--verbose", *given]


def argv(prompt: str, *, session: str, settings: str = "", permission_mode: str = "") -> list[str]:
    """The interactive client on this prompt; one that begins with a dash is no option."""
    options = ["--settings", settings] if settings else []
    options += ["--permission-mode", permission_mode] if permission_mode else []
    return [PROGRAM, "--session-id", session, *options, "\n" + prompt if prompt.startswith("-") else prompt]


def parse(line: bytes | str) -> Event | None:
    """One line of `stream-json` output: an event, or nothing that we need to know. Shapes are those of
    2.1.325; a line or field that is unknown, missing or of another type never raises."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    if event.get("type") == "result":
        return _result(event)
    if event.get("type") == "rate_limit_event":
        return _limit(_object(event, "rate_limit_info"))
    if event.get("type") == "system" and event.get("subtype") == "api_retry":
        return Retry(_whole(event, "attempt") or 0, _whole(event, "error_status"), _text(event, "error"))
    return None


def _limit(info: dict[str, Any]) -> Limit:
    return Limit(_text(info, "status"), _number(info, "resetsAt") or None)


def _result(event: dict[str, Any]) -> Result:
    return Result(
        is_error=event.get("is_error") is True,
        subtype=_text(event, "subtype"),
        terminal_reason=_text(event, "terminal_reason"),
        api_error_status=_whole(event, "api_error_status"),
        text=_text(event, "result"),
        cost_usd=_number(event, "total_cost_usd"),
        tokens=_tokens(event),
        errors=_texts(event, "errors"),
    )


def _tokens(event: dict[str, Any]) -> int:
    """Those of all models, subagents' too; of the main conversation where the client does not tell them."""
    models = _object(event, "modelUsage")
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    counts = [_whole(_object(models, model), name) or 0 for model in models for name in names]
    if not counts:
        usage = _object(event, "usage")
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        counts = [_whole(usage, name) or 0 for name in names]
    return sum(counts)


def _text(event: dict[str, Any], key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _texts(event: dict[str, Any], key: str) -> tuple[str, ...]:
    values = event.get(key)
    return tuple(text for text in values if isinstance(text, str)) if isinstance(values, list) else ()


def _object(event: dict[str, Any], key: str) -> dict[str, Any]:
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def _whole(event: dict[str, Any], key: str) -> int | None:
    value = event.get(key)
    return value if type(value) is int and 0 <= value < NUMBER_MAX else None


def _number(event: dict[str, Any], key: str) -> float:
    """A measure of something: never below zero, never endless."""
    value: Any = event.get(key)
    if type(value) not in (int, float) or not 0 <= value < NUMBER_MAX:
        return 0.0
    return float(value)
