"""When the hook reads a reset time; what it takes to do so is imported only then."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def instant(said: str, *, margin_s: Optional[float] = None) -> Optional[float]:
    """The instant at which a client's limit message says that work can go on."""
    from ralphloop.agents import limit

    margin_s = limit.MARGIN_S if margin_s is None else margin_s
    return limit.resume_at(said, now=time.time(), margin_s=margin_s)
