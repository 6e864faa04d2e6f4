"""The client's cap on blocked stops: after so many replies in a row without a tool it ends the turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ralphloop.agents.registration import CAP, Settings
from ralphloop.agents.registry import client
from ralphloop.domain.limits import CLIENT_CAP
from ralphloop.domain.model import CAP_VARIABLE
from ralphloop.engine.words import client_cap

# The client's own number lies above our limit on continuations without progress; a lower one may not. Only
# quick mode may go on for longer without a tool call; there the client's end is told and can be resumed.
SAFE = CLIENT_CAP
RAISED = f"{CAP_VARIABLE} is {CAP}"
REPAIR = f"set it to {CAP}, or remove it"


def set_in(env: Mapping[str, str], settings: Iterable[Settings]) -> str:
    """The cap that the person set: in the settings that win, else in the environment; else empty."""
    found = env.get(CAP_VARIABLE, "")
    for each in settings:
        said = each.data.get("env")
        if isinstance(said, dict) and CAP_VARIABLE in said:
            found = str(said[CAP_VARIABLE])
    return found


def is_low(value: str) -> bool:
    """Whether the client may end a turn before we would."""
    return 0 < client_cap({CAP_VARIABLE: value}) < SAFE


def told(value: str) -> str:
    """What the cap means, as the rest of a sentence."""
    most = client_cap({CAP_VARIABLE: value})
    if most == 0:
        return f"{client().program.TITLE} never ends a turn of a loop by itself"
    ends = f"{client().program.TITLE} ends a turn after {most} replies in a row without a tool call"
    return f"{ends}, which is too early for a loop ({CAP_VARIABLE}={value})" if is_low(value) else ends
