"""What a session waits for after an API error: the client retries for minutes, and tells no hook.

Of a session without a terminal its transcript says why; one in a terminal shows it on screen only (2.1.325).
"""

from __future__ import annotations

import time

from ralphloop.domain import outage
from ralphloop.engine.entries import entry_of, new_bytes
from ralphloop.store.loop import iso

LAST_MAX = 64 * 1024
FRESH_S = 120.0  # the longest pause between two tries is about 40 s: an older notice is a dead client's


def now(path: str) -> str:
    """The reason of the retry that the transcript ends with; empty where anything came after it."""
    found = new_bytes(path, 0, LAST_MAX) if path else None
    if found is None or b'"api_error"' not in found[0]:
        return ""
    for raw in reversed(found[0].splitlines()):
        entry = entry_of(raw) or {}
        if entry.get("subtype") == "api_error":
            is_fresh = str(entry.get("timestamp") or "") >= iso(time.time() - FRESH_S)
            return outage.retrying(entry) if is_fresh else ""
        if entry.get("type") in ("assistant", "user"):
            return ""
    return ""
