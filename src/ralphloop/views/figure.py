"""Figures for people: tokens, dollars, sizes, spans and moments of time, and what was used of a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ralphloop.domain.limits import duration
from ralphloop.domain.model import UNLIMITED
from ralphloop.domain.table import DOLLARS, LIMITS, TIME, TOKENS

VARIABLE = "RALPHLOOP_CLOCK"


class Used(NamedTuple):
    """One limit of a loop; what was used of it is None where nobody can tell."""

    name: str
    used: float | None
    most: float

    @property
    def share(self) -> float | None:
        return None if self.used is None or not self.most else self.used / self.most


def tokens(count: float) -> str:
    """`950`, `2.5k`, `83k`, `1.2M`."""
    if count < 1000:
        return f"{count:.0f}"
    if count < 999_500:
        return _short(count / 1000, digits=1 if count < 9_950 else 0) + "k"
    return _short(count / 1_000_000, digits=1) + "M"


def _short(value: float, *, digits: int) -> str:
    return f"{value:.{digits}f}".removesuffix(".0")


def dollars(amount: float) -> str:
    return "under $0.01" if 0 < amount < 0.005 else f"${amount:.2f}"


def span(seconds: float) -> str:
    """`45 s`, `12 min`, `1 h 05 min`, `3 days`."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 1 or not seconds else "under 1 s"
    return duration(seconds) if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


def size(count: int) -> str:
    """`950 bytes`, `2.5 kB`, `1.2 MB`."""
    for unit, step in (("MB", 1_000_000), ("kB", 1000)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} bytes"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def amount(name: str, value: float) -> str:
    """A value of the limit with this name."""
    kind = LIMITS[name].kind
    if kind in _AMOUNTS:
        return _AMOUNTS[kind](value)
    return "no limit" if value >= UNLIMITED else f"{value:.0f}"


_AMOUNTS = {TIME: span, DOLLARS: dollars, TOKENS: tokens}


def told(limit: Used) -> str:
    """`$1.20 of $5.00`, `unknown of 2M tokens`."""
    used = "unknown" if limit.used is None else amount(limit.name, limit.used)
    return f"{used} of {amount(limit.name, limit.most)}{unit(limit)}"


def unit(limit: Used) -> str:
    return " tokens" if LIMITS[limit.name].kind == TOKENS else ""


def time_told(limit: Used, working_s: float | None) -> str:
    """`4 s of 8 h`; of a loop that rested in between also how long it worked in all."""
    more = (working_s or 0.0) - (limit.used or 0.0)
    return told(limit) + (f" ({span(working_s or 0.0)} in all)" if more >= 1 else "")


def local(seconds: float, shape: str = "%Y-%m-%d %H:%M:%S") -> str:
    return time.strftime(shape, time.localtime(seconds))


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
