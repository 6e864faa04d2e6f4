"""A moment as the client stamps its transcripts, and as our journals do after it."""

from __future__ import annotations

import time
from calendar import timegm


def moment(stamp: object) -> float | None:
    """`2026-01-31T10:00:05.123Z` in seconds; None for what is no such stamp."""
    text = stamp if isinstance(stamp, str) else ""
    try:
        seconds = timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
    return seconds + (int(text[20:23]) / 1000 if text[20:23].isdigit() and len(text) == 24 else 0.0)
