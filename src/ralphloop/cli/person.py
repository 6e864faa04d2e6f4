"""Tells whether a command runs inside a coding agent's tools: some things only the person may do."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.cli.errors import UserError

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
}


def agent_in(env: Mapping[str, str]) -> str:
    """The client whose tool runs this, or nothing if it is the person's own terminal."""
    return next((client for name, client in AGENT_TOOLS.items() if env.get(name)), "")


def require_person(env: Mapping[str, str], what: str) -> None:
    client = agent_in(env)
    if client:
        raise UserError(
            f"{what} is the person's to decide, and this runs inside {client}; "
            "the person must run it in their own terminal."
        )
