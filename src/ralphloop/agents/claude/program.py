"""Claude Code: its settings, how it is started on a loop, and what it reports then (`parse`)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any

from ralphloop.agents.claude.stream import parse as parse
from ralphloop.domain.model import LAYOUTS

PROGRAM = "claude"
GET = "npm install -g @anthropic-ai/claude-code"
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
PLACES = ("CLAUDE_CONFIG_DIR",)  # variables that say where its files are
# those by which it gets at a model: a person's, and in no file of ours
LOGINS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
)  # fmt: skip
PROMPT_MAX = 100_000  # Linux takes no argument above 128 KiB


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
