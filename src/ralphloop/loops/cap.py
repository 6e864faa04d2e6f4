"""The client's cap on blocked stops: after so many replies in a row without a tool it ends the turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ralphloop.agents.claude.registration import Settings
from ralphloop.agents.claude.settings import CAP, CAP_NAME
from ralphloop.domain.limits import CLIENT_CAP
from ralphloop.engine.words import client_cap

# The client's own number lies above our limit on continuations without progress; a lower one may not. Only
# quick mode may go on for longer without a tool call; there the client's end is told and can be resumed.
SAFE = CLIENT_CAP
REPAIR = f"set it to {CAP}, or remove it"


def set_in(env: Mapping[str, str], settings: Iterable[Settings]) -> str:
    """The cap that the person set: in the settings that win, else in the environment; else empty."""
    found = env.get(CAP_NAME, "")
    for each in settings:
        said = each.data.get("env")
        if isinstance(said, dict) and CAP_NAME in said:
            found = str(said[CAP_NAME])
    return found


def is_low(value: str) -> bool:
    """Whether the client may end a turn before we would."""
    return 0 < client_cap({CAP_NAME: value}) < SAFE


def told(value: str) -> str:
    """What the cap means, as the rest of a sentence."""
    most = client_cap({CAP_NAME: value})
    if most == 0:
        return "Claude Code never ends a turn of a loop by itself"
    ends = f"Claude Code ends a turn after {most} replies in a row without a tool call"
    return f"{ends}, which is too early for a loop ({CAP_NAME}={value})" if is_low(value) else ends
