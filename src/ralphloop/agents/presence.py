"""Tells an agent's tools from the person's own terminal, by what clients put into the environment."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.domain.model import ATTENDED_VARIABLE, PID_VARIABLE

# Variables that a client sets for the commands its agent runs. An agent can unset them, so this stops
# the short way, not a hostile program.
AGENT_TOOLS = {
    "CLAUDECODE": "Claude Code",
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


def agent_in(env: Mapping[str, str]) -> str:
    """The client whose tool runs this, or nothing if it is the person's own terminal."""
    return next((client for name, client in AGENT_TOOLS.items() if env.get(name)), "")


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
