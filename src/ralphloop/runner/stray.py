"""What a killed guardian left behind, known by the client's session and a mark in its environment: ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

ROUNDS = 100
PAUSE_S = 0.02
STATE, STARTED = 0, 19  # fields of /proc/<pid>/stat, counted behind the name


def born(pid: int) -> str | None:
    """When a process started, which tells it from a later one of the same number; None if it is not alive or
    nobody can tell."""
    fields = _fields(pid)
    return fields[STARTED] if fields and fields[STATE] != "Z" else None


def end(client: int | None, *, born: str | None, mark: str) -> None:
    """Kill what is ours, and what that started meanwhile, until nothing is left. `mark` is how an entry in
    its environment begins."""
    if client is not None and not os.path.isdir("/proc"):  # macOS: the client lives on, and has its number
        with contextlib.suppress(OSError):
            os.killpg(client, signal.SIGKILL)
    for _ in range(ROUNDS):
        left = list(_left(client, born, mark))
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):  # gone already
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


def _left(client: int | None, client_born: str | None, mark: str) -> Iterator[int]:
    # A session has its number to itself as long as one of it lives, its leader or not.
    is_ours = client is not None and born(client) in (client_born, None)
    for pid in _living():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and ((is_ours and os.getsid(pid) == client) or _has(pid, mark)):
                yield pid


def _living() -> list[int]:
    names = os.listdir("/proc") if os.path.isdir("/proc") else []
    return [int(name) for name in names if name.isdigit() and born(int(name)) is not None]


def _has(pid: int, mark: str) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as file:
        return any(entry.startswith(os.fsencode(mark)) for entry in file.read().split(b"\0"))


def _fields(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []
