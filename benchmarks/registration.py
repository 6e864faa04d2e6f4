"""Finds the Stop command as the plugin registers it, and the programs it is compared with."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PLUGIN = REPOSITORY / "plugins" / "ralphloop"
REFERENCES = Path(__file__).resolve().parent / "reference"


def hook_command(event: str = "Stop") -> str:
    """The registered shell line, with the plugin's folder put in as the client does it: as text."""
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    command: str = hooks[event][0]["hooks"][0]["command"]
    return command.replace("${CLAUDE_PLUGIN_ROOT}", str(PLUGIN))


def stop_argv() -> list[str]:
    return ["/bin/sh", "-c", hook_command()]


def prompt_argv() -> list[str]:
    return ["/bin/sh", "-c", hook_command("UserPromptSubmit")]


def base_interpreter() -> str:
    """The interpreter itself: no venv link and no version manager's shim, which would cost 70 ms."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def bare_python_argv() -> list[str]:
    return [base_interpreter(), "-I", "-S", "-c", "pass"]


def reference_argvs() -> dict[str, list[str] | None]:
    """The reference hooks; None where the machine lacks a program that the script needs."""
    bash, jq, node = map(shutil.which, ("bash", "jq", "node"))
    return {
        "bash+jq": [bash, str(REFERENCES / "hook.sh")] if bash and jq else None,
        "node": [os.path.realpath(node), str(REFERENCES / "hook.js")] if node else None,
    }


def second_stop_argv() -> list[str]:
    """The same hook as a project's settings would register it: under a name of its own."""
    return ["/bin/sh", "-c", renamed(hook_command(), "bench")]


def statusline_argv() -> list[str]:
    """The status line as settings register it: the same guard, for every layout."""
    command = renamed(hook_command(), "statusline")
    return ["/bin/sh", "-c", re.sub(r"\brl_layouts=\w+", "rl_layouts='features specum speckit'", command)]


def renamed(command: str, name: str) -> str:
    changed, count = re.subn(r"\brl_as=[\w-]+", f"rl_as={name}", command)
    if count != 1:
        raise SystemExit(f"no registration name (rl_as=…) in: {command}")
    return changed


def search_path() -> str:
    return os.environ.get("PATH", os.defpath)


def hook_env(home: Path, project: Path) -> dict[str, str]:
    return {
        "PATH": search_path(),
        "HOME": str(home),
        "CLAUDE_PROJECT_DIR": str(project),
        "CLAUDE_PLUGIN_ROOT": str(PLUGIN),
    }


def command_argv(*args: str) -> list[str]:
    return [sys.executable, "-m", "ralphloop", *args]


def command_env(home: Path) -> dict[str, str]:
    return {"PATH": search_path(), "HOME": str(home), "PYTHONPATH": str(REPOSITORY / "src")}
