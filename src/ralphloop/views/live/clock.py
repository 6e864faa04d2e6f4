"""The time that the view shows: the system's, or one that stands still for pictures and tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

VARIABLE = "RALPHLOOP_CLOCK"


def clock(env: Mapping[str, str]) -> Callable[[], float]:
    """`RALPHLOOP_CLOCK=<seconds since 1970>` makes it stand still."""
    try:
        frozen = float(env[VARIABLE])
    except (KeyError, ValueError):
        return time.time
    return lambda: frozen


def spell(seconds: float) -> str:
    """`4:05`, `1:04:05`: for figures that change every second."""
    whole = max(0, int(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
