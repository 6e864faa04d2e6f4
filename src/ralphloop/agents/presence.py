"""Tells an agent's tools from the person's own terminal by what clients put into the environment, and takes
that out again for a client that we start."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.agents.client import Variables
from ralphloop.agents.registry import NAMES, client
from ralphloop.domain.model import ATTENDED_VARIABLE, PID_VARIABLE

# By this our hook knows that no person typed the session's prompt.
RUN = "RALPHLOOP_RUN"

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


def agent_tools() -> dict[str, str]:
    """The variables that a client sets for the commands its agent runs. An agent can unset them, so this
    stops the short way, not a hostile program."""
    return {**{mark: title for known in _known() for mark, title in known.TOOLS.items()}, **_OTHERS}


def _known() -> list[Variables]:
    return [client(name).variables for name in NAMES]


def agent_in(env: Mapping[str, str]) -> str:
    """The client whose tool runs this, or nothing if it is the person's own terminal."""
    return next((title for name, title in agent_tools().items() if env.get(name)), "")


def started_by_agent(env: Mapping[str, str]) -> bool:
    """Whether the client that runs this hook was itself started by an agent's tool: then nobody typed its
    prompt. Its own environment tells, where it can be read; else only a session with a person in front of
    it counts. An agent's own shell says what it is (2.1.325)."""
    if env.get("AI_AGENT", "").endswith("_agent"):
        return True
    try:
        with open(f"/proc/{int(env.get(PID_VARIABLE, ''))}/environ", "rb") as file:
            pairs = (entry.partition("=") for entry in file.read().decode("utf-8", "replace").split("\0"))
            began = {name: value for name, _, value in pairs}
    except (OSError, ValueError):
        return env.get(ATTENDED_VARIABLE) == "0"
    return bool(agent_in(began))


def scrubbed(env: Mapping[str, str]) -> dict[str, str]:
    """Without what marks the children of a client; everything that the person set for one stays."""
    marks = frozenset(agent_tools()).union(*(known.MARKS for known in _known()))
    families = tuple(family for known in _known() for family in known.MARK_FAMILIES)
    kept = {name: value for name, value in env.items() if name not in marks and not name.startswith(families)}
    return {**kept, RUN: "1"}
