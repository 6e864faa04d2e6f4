"""Waiting for an API that does not answer: for how long, and which answers no wait changes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

LONGEST_S = 15 * 60.0  # of waits that double
STALE_S, DAY_S = 22 * 3600.0, 24 * 3600.0 + 3600.0
FARTHEST_S = 8 * 24 * 3600.0

# the request, the key, the money, the rights, the model's name
HOPELESS = (400, 401, 402, 403, 404, 405, 413, 422)


def backoff_s(first_s: float, before: int) -> float:
    """Twice as long each time, up to a quarter of an hour, and never shorter than the first one."""
    return float(min(first_s * (1 << min(before, 20)), max(LONGEST_S, first_s)))


def due(announced: Optional[float], *, before: int, first_s: float, now: float) -> float:
    """When to try again, after so many waits in a row: at the announced reset, else after one that doubles.
    One that is over says nothing; right after a wait, one in about a day is the same one, read as tomorrow's;
    one that is further away than any limit lasts is a mistake."""
    doubled = now + backoff_s(first_s, before)
    if announced is None or not now < announced <= now + FARTHEST_S:
        return doubled
    if before == 0:
        return announced
    is_stale = STALE_S < announced - now <= DAY_S
    return doubled if is_stale else max(announced, doubled)
