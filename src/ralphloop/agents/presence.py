"""Around a client: whether the one that runs our hook was started by an agent, and the environment of one
that we start."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.agents.registry import agent_in, agent_tools, variables
from ralphloop.domain.model import ATTENDED_VARIABLE, PID_VARIABLE

# By this our hook knows that no person typed the session's prompt.
RUN = "RALPHLOOP_RUN"


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
    marks = frozenset(agent_tools()).union(*(known.MARKS for known in variables()))
    families = tuple(family for known in variables() for family in known.MARK_FAMILIES)
    kept = {name: value for name, value in env.items() if name not in marks and not name.startswith(families)}
    return {**kept, RUN: "1"}
