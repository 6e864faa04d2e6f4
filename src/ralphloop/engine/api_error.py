"""What an API error says: what a loop comes to by it, what of it may be kept, and when work can go on."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.domain.model import FAILED, RATE_LIMITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def instant(said: str, *, margin_s: Optional[float] = None) -> Optional[float]:
    """The instant at which a client's limit message says that work can go on."""
    from ralphloop.agents import limit

    margin_s = limit.MARGIN_S if margin_s is None else margin_s
    return limit.resume_at(said, now=time.time(), margin_s=margin_s)


def masked(said: str) -> str:
    """What somebody else said, as it may be kept and shown: without secrets."""
    from ralphloop.proof import mask

    return mask.mask(said, mask.spellings(mask.secrets(os.environ)))


def outcome(said: str, *, marked: bool = False) -> str:
    """The outcome of an error that the client reports in words; empty if it is none."""
    low = said.lower()
    if not marked and not low.startswith("api error"):
        return ""
    words = "".join([ch if ch.isalnum() else " " for ch in low[:2000]]).split()
    limited = "429" in words or "529" in words or "overloaded" in words
    if "limit" in low and "400" not in words:  # 400 speaks of the context's limit
        limited = True
    return RATE_LIMITED if limited else FAILED
