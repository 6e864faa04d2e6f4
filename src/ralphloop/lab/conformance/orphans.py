"""Finds the processes that a hook left behind, and ends them; where there is no /proc, none are found."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ralphloop.proof.keeper import adopt_orphans

PROC = Path("/proc")
ROUNDS, PAUSE_S = 100, 0.02  # somebody may fork while the others are ended


def end_marked(folder: Path, *, but_groups: frozenset[int]) -> list[str]:
    """End those that have this folder in their environment; their command lines.

    Members of groups that were ended already may not be gone yet, and are no news.
    """
    mark = os.fsencode(folder) + b"/"

    def is_left(pid: int) -> bool:
        return pid != os.getpid() and mark in _read(pid, "environ") and os.getpgid(pid) not in but_groups

    return _end(is_left)


@contextlib.contextmanager
def none_left() -> Iterator[None]:
    """Adopt who loses their parent meanwhile, and end all children afterwards: for a program of its own."""
    adopting = adopt_orphans()
    try:
        yield
    finally:
        if adopting:
            _end(lambda pid: _parent(pid) == os.getpid())


def _end(is_meant: Callable[[int], bool]) -> list[str]:
    ended: dict[int, str] = {}
    for _ in range(ROUNDS):
        found = [pid for pid in _pids() if _holds(is_meant, pid)]
        if not found:
            break
        for pid in found:
            ended.setdefault(pid, _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace"))
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)
        for pid in ended:
            with contextlib.suppress(OSError):  # not adopted by us
                os.waitpid(pid, os.WNOHANG)
    return list(ended.values())


def _pids() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir(PROC) if name.isdecimal()]
    return []


def _holds(is_meant: Callable[[int], bool], pid: int) -> bool:
    with contextlib.suppress(OSError):  # it has ended, or is another user's
        return is_meant(pid)
    return False


def _read(pid: int, name: str) -> bytes:
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / name).read_bytes()
    return b""


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0
