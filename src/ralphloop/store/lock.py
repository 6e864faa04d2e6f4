"""One lock per loop, with a deadline; the kernel lets go of it when its holder dies."""

from __future__ import annotations

import time

from ralphloop import errors
from ralphloop import system as os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Optional

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe in the lock's place must not hold up anybody


class Lock:
    def __init__(self, path: str, *, wait_s: float = 10.0) -> None:
        self._path = path
        self._wait_s = wait_s
        self._handle = -1

    def __enter__(self) -> Lock:
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_WAIT, 0o600)
        deadline = time.monotonic() + self._wait_s
        pause = 0.001
        while not self._take():
            if time.monotonic() >= deadline:
                os.close(self._handle)
                raise errors.BusyError(self._path)
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        return self

    def _take(self) -> bool:
        try:
            return try_lock(self._handle)
        except OSError as error:  # waiting would not help
            os.close(self._handle)
            raise errors.NoLocksError(error.errno, error.strerror, self._path) from None

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        os.close(self._handle)


def is_locked(path: str) -> bool:
    """Whether somebody holds it; nobody can where there are no locks. Those who only look do not see one
    another."""
    try:
        handle = os.open(path, os.O_RDONLY | _NO_WAIT)
    except OSError:
        return False
    try:
        return not try_lock(handle, shared=True)
    except OSError:
        return False
    finally:
        os.close(handle)


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Lock an open file, if nobody else has; closing it lets go. An error where there are no locks."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        else:
            _lock_first_byte(handle)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _lock_first_byte(handle: int) -> None:
    import msvcrt

    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
