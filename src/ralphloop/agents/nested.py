"""The environment of a client that we start: as if no other client stood above it."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.agents.presence import AGENT_TOOLS

# By this our hook knows that no person typed the session's prompt.
RUN = "RALPHLOOP_RUN"

# What a client sets for its hooks and its agent's commands (2.1.325), not what a person sets for it.
MARKS = frozenset(AGENT_TOOLS) | {
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
}
MARK_FAMILIES = ("CLAUDE_CODE_MESSAGING_",)


def scrubbed(env: Mapping[str, str]) -> dict[str, str]:
    """Without what marks the children of a client; everything that the person set for one stays."""
    kept = {
        name: value for name, value in env.items() if name not in MARKS and not name.startswith(MARK_FAMILIES)
    }
    return {**kept, RUN: "1"}
