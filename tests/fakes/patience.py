"""Waiting for what takes its time, with a deadline: no test goes by how long something took."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

SOON_S = 30.0  # far above what anything takes that a test waits for, on a busy machine too
PAUSE_S = 0.05


def eventually(
    is_so: Callable[[], Any],
    *,
    what: str | Callable[[], object] = "it never came",
    deadline_s: float = SOON_S,
    pause_s: float = PAUSE_S,
) -> Any:
    """What the question finds, once it finds something; a file that is just being written is asked again.

    `what` says in a failure what was missing, or finds out then.
    """
    due_s = time.monotonic() + deadline_s
    while True:
        is_last = time.monotonic() >= due_s  # asked first: whatever took the time, the last look comes after
        with contextlib.suppress(OSError, ValueError):
            found = is_so()
            if found:
                return found
        assert not is_last, f"not within {deadline_s:g} s: {what() if callable(what) else what}"
        time.sleep(pause_s)
