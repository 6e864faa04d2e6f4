"""The clients by name, each a package of the same few parts, imported when something of them is wanted; and
which one's agent runs this, by what clients put into the environment."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ralphloop.agents.client import Client, Program, Variables

PACKAGES = {"claude": "ralphloop.agents.claude"}
NAMES = tuple(PACKAGES)
USUAL = NAMES[0]  # where nobody names one

# Variables that clients which we do not drive set for the commands their agents run.
_OTHERS = {
    "COPILOT_CLI": "Copilot CLI",
    "QWEN_CODE": "Qwen Code",
    "GEMINI_CLI": "Gemini CLI",
    "CODEX_SANDBOX": "Codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "DROID_PROJECT_DIR": "Droid",
    "FACTORY_PROJECT_DIR": "Droid",
    "CURSOR_AGENT": "Cursor",
    "OPENCODE": "OpenCode",
    "AI_AGENT": "a coding agent",
    "RALPHLOOP_CHECK": "a check",
}


class _Package:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, part: str) -> Any:
        name = f"{self._name}.{part}"
        __import__(name)
        return sys.modules[name]


def client(name: str = USUAL) -> Client:
    """KeyError for a name that is not in the table, which settings and options never let through."""
    found: Any = _Package(PACKAGES[name])
    return found  # type: ignore[no-any-return]


def program_at(name: str, env: Mapping[str, str]) -> str | None:
    """Where the program is; a folder that is named from where we stand may be anybody's."""
    import os
    import shutil

    folders = [folder for folder in (env.get("PATH") or "").split(os.pathsep) if os.path.isabs(folder)]
    return shutil.which(name, path=os.pathsep.join(folders))


def missing(of: Program, why: str = "") -> tuple[str, str]:
    """That its program is not found, with what that is in the way of, and what to do about it."""
    cure = f"install it with `{of.GET}`, or add its folder to PATH"
    return f"`{of.PROGRAM}` is not on PATH" + (f", and {why}" if why else ""), cure


def agent_tools() -> dict[str, str]:
    """The variables that a client sets for the commands its agent runs. An agent can unset them, so this
    stops the short way, not a hostile program."""
    return {**{mark: title for known in variables() for mark, title in known.TOOLS.items()}, **_OTHERS}


def variables() -> list[Variables]:
    return [client(name).variables for name in NAMES]


def agent_in(env: Mapping[str, str]) -> str:
    """The client whose tool runs this, or nothing if it is the person's own terminal."""
    return next((title for name, title in agent_tools().items() if env.get(name)), "")
