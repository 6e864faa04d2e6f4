"""Ends a group of processes when we are gone, however that came: a small shell waits at a pipe to us."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

# A line means that all is well; the end of the pipe without one means that nobody is left to end the group.
SCRIPT = 'read -r _ || { kill -s TERM -- "-$1"; sleep "$2"; kill -s KILL -- "-$1"; }'


@contextlib.contextmanager
def leash(group: int, *, grace_s: float) -> Iterator[None]:
    """While this holds, the group ends with us; afterwards it is left to itself."""
    watcher = subprocess.Popen(
        ["/bin/sh", "-c", SCRIPT, "sh", str(group), format(grace_s, ".0f")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        watcher.communicate(b"\n")
