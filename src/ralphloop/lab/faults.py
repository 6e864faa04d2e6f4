"""A disk that fails: at the n-th call that changes it, the process is killed, refused, or loses its ground.

For a process of its own: what `install` replaces stays replaced. Every disk call of the hot path goes through
`ralphloop.system`, and most of the rest through `os`; the calls of both are counted together, with
`fcntl.flock`. What a file object writes or closes, also in `shutil`, is not counted.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import os
import shutil
import signal
from collections.abc import Callable
from typing import Any, NamedTuple

from ralphloop import system

KILL_BEFORE, KILL_AFTER, SHORT_KILL = "kill-before", "kill-after", "short-kill"
NO_SPACE, FULL, SHORT_FULL = "no-space", "full", "short-full"
IO_ERROR, DENIED, REMOVE = "io-error", "denied", "remove"
NO_LOCKS, READ_ONLY = "no-locks", "read-only"
KILLS = (KILL_BEFORE, KILL_AFTER, SHORT_KILL)
# at a write only: a part of it is done
SHORT = (SHORT_KILL, SHORT_FULL)
_ERRORS = {NO_SPACE: errno.ENOSPC, FULL: errno.ENOSPC, IO_ERROR: errno.EIO, DENIED: errno.EACCES}
# what the disk is like from then on
_LASTING = {
    FULL: errno.ENOSPC, SHORT_FULL: errno.ENOSPC, NO_LOCKS: errno.ENOLCK, READ_ONLY: errno.EROFS,
}  # fmt: skip

_ON_PATHS = ("chmod", "link", "mkdir", "rename", "replace", "rmdir", "symlink", "truncate", "unlink", "utime")
_ON_HANDLES = ("close", "fsync", "ftruncate", "write")
_TAKE_SPACE = ("link", "mkdir", "symlink", "write")
_WRITES = os.O_WRONLY | os.O_RDWR


class Fault(NamedTuple):
    """What goes wrong at which call, counted from 1; nothing at 0. FULL, NO_LOCKS and READ_ONLY last
    until the process ends."""

    at: int = 0
    kind: str = ""
    folder: str = ""  # what REMOVE takes away


class Disk:
    """Counts the calls that change what lies below a folder; `seen` is told of each of them."""

    def __init__(
        self, fault: Fault, *, within: str, seen: Callable[[str, str], object] = lambda name, path: None
    ) -> None:
        self._fault = fault
        self._within = within.rstrip(os.sep) + os.sep
        self._seen = seen
        self._count = 0
        self._handles: dict[int, str] = {}
        self._lasting = ""
        self._is_removing = False
        self._write = os.write

    def install(self) -> None:
        """In this process, for good."""
        for name in (*_ON_PATHS, *_ON_HANDLES, "open"):
            counted = self._counted(name, getattr(os, name))
            for module in (os, system):
                setattr(module, name, counted)
        setattr(fcntl, "flock", self._counted("flock", fcntl.flock))  # noqa: B010 - as it is done above

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            path = "" if self._is_removing else self._path(name, args)
            act = functools.partial(real, *args, **options)
            result = self._meet(name, path, act, args) if path else act()
            if name == "open":
                self._handles[result] = path
            return result

        return call

    def _path(self, name: str, args: tuple[Any, ...]) -> str:
        """What the call changes; empty if that is none of our business."""
        if name in _ON_PATHS or name == "open":
            path = os.fsdecode(args[0]) if isinstance(args[0], (str, bytes)) else ""
            counts = name != "open" or bool(args[1] & (_WRITES | os.O_CREAT))
            return path if counts and path.startswith(self._within) else ""
        handle = args[0]
        return self._handles.pop(handle, "") if name == "close" else self._handles.get(handle, "")

    def _meet(self, name: str, path: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        self._count += 1
        self._seen(name, path)
        if self._count == self._fault.at:
            return self._strike(name, path, real, args)
        self._must_be_possible(name, path, args)
        return real()

    def _must_be_possible(self, name: str, path: str, args: tuple[Any, ...]) -> None:
        number = _LASTING.get(self._lasting, 0)
        if number == errno.ENOLCK:
            is_refused = name == "flock"
        elif number == errno.EROFS:
            is_refused = name in _ON_PATHS or name == "open"
        else:
            is_refused = bool(number) and _takes_space(name, path, args)
        if is_refused:
            raise OSError(number, os.strerror(number), path)

    def _strike(self, name: str, path: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        kind = self._fault.kind
        self._lasting = kind if kind in _LASTING else ""
        if kind in (NO_LOCKS, READ_ONLY):
            self._must_be_possible(name, path, args)
            return real()
        if kind in SHORT:
            done = self._write(args[0], bytes(args[1])[: len(args[1]) // 2])
            return done if kind == SHORT_FULL else _die()
        if kind == KILL_BEFORE:
            _die()
        if kind == REMOVE:
            self._remove()
        if kind == FULL and not _takes_space(name, path, args):
            return real()
        if kind in _ERRORS and name != "close":
            raise OSError(_ERRORS[kind], os.strerror(_ERRORS[kind]), path)
        if kind == REMOVE:
            return real()
        try:
            real()
        finally:
            if kind == KILL_AFTER:
                _die()
        # a handle is closed also where closing it tells of an error
        raise OSError(_ERRORS[kind], os.strerror(_ERRORS[kind]), path)

    def _remove(self) -> None:
        self._is_removing = True
        shutil.rmtree(self._fault.folder, ignore_errors=True)
        self._is_removing = False


def _takes_space(name: str, path: str, args: tuple[Any, ...]) -> bool:
    return name in _TAKE_SPACE or (name == "open" and bool(args[1] & os.O_CREAT) and not os.path.exists(path))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
