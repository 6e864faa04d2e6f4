"""Claude Code: its settings, and how it is started on a loop."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any

from ralphloop.domain.model import LAYOUTS

PROGRAM = "claude"
# event -> seconds that the client gives the hook
EVENTS = {
    "Stop": 360,  # above the time that checks may take in one stop
    "SubagentStop": 10,
    "SessionStart": 20,
    "UserPromptSubmit": 20,
    "StopFailure": 20,
    "SessionEnd": 10,
}
ON = {"UserPromptSubmit": "rl_on=prompt "}
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
            event: [
                {"hooks": [{"type": "command", "command": ON.get(event, "") + command, "timeout": timeout_s}]}
            ]
            for event, timeout_s in EVENTS.items()
        }
    }


def argv(prompt: str, *, session: str, settings: str = "", permission_mode: str = "") -> list[str]:
    """The interactive client on this prompt; one that begins with a dash is no option."""
    options = ["--settings", settings] if settings else []
    options += ["--permission-mode", permission_mode] if permission_mode else []
    return [PROGRAM, "--session-id", session, *options, "\n" + prompt if prompt.startswith("-") else prompt]
