"""A growing file, read line by line as it grows, whatever happens to it in between."""

from __future__ import annotations

import os
import stat

FIRST_MAX = 1024 * 1024
LINE_MAX = 8 * 1024 * 1024
STEP_MAX = 4 * 1024 * 1024
OLDER_MAX = 16 * 1024 * 1024  # of a file that was moved aside for being too long
# a pipe in the file's place must not hold up the reader
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class Tail:
    """Whole lines since the last look; the first look takes the file's end only. A file that moves to
    `older` when it is too long is read to its end there first."""

    def __init__(self, path: str, *, first_max: int = FIRST_MAX, older: str = "") -> None:
        self.path = path
        self._older = older
        self._read_to_end = -1  # the older file's inode
        self._first_max = first_max
        self._inode = -1
        self._at = 0
        self._last = b""  # the byte before `_at`, by which a file that was written anew shows
        self._rest = b""
        self._skips = False  # within a line that is too long, or that began before the first look

    def lines(self) -> list[bytes]:
        """One stat call where nothing is new. A missing file has no lines, and may come back."""
        try:
            found = os.stat(self.path)
        except (OSError, ValueError):
            return self._left_in_older()
        if found.st_ino == self._inode and found.st_size == self._at:
            return []
        if not stat.S_ISREG(found.st_mode):
            return []
        try:
            return self._read()
        except OSError:
            return []

    def _read(self) -> list[bytes]:
        handle = os.open(self.path, _FLAGS)
        try:
            found = os.fstat(handle)
            before = self._left_in_older() if found.st_ino != self._inode else []
            if found.st_ino != self._inode or not self._goes_on(handle, found.st_size):
                self._begin(found)
            os.lseek(handle, self._at, os.SEEK_SET)
            data = os.read(handle, min(STEP_MAX, found.st_size - self._at))
        finally:
            os.close(handle)
        return before + self._take(data) if data else before

    def _left_in_older(self) -> list[bytes]:
        if not self._older:
            return []
        try:
            with open(self._older, "rb", opener=lambda path, _: os.open(path, _FLAGS)) as file:
                found = os.fstat(file.fileno())
                if found.st_ino == self._read_to_end or not stat.S_ISREG(found.st_mode):
                    return []
                self._read_to_end = found.st_ino
                if found.st_ino != self._inode:
                    self._begin(found)
                if found.st_size - self._at > OLDER_MAX:
                    self._at, self._rest, self._skips = found.st_size - OLDER_MAX, b"", True
                file.seek(self._at)
                return self._take(file.read(OLDER_MAX))
        except OSError:
            return []

    def _goes_on(self, handle: int, size: int) -> bool:
        if size < self._at:
            return False
        if not self._at:
            return True
        os.lseek(handle, self._at - 1, os.SEEK_SET)
        return os.read(handle, 1) == self._last

    def _begin(self, found: os.stat_result) -> None:
        self._inode = found.st_ino
        self._at = max(0, found.st_size - self._first_max)
        self._rest, self._skips = b"", self._at > 0

    def _take(self, data: bytes) -> list[bytes]:
        self._at += len(data)
        self._last = data[-1:]
        *whole, rest = data.split(b"\n")
        if whole:
            first = [] if self._skips else [self._rest + whole[0]]
            whole, self._rest, self._skips = [*first, *whole[1:]], rest, False
        elif not self._skips:
            self._rest += rest
        if len(self._rest) > LINE_MAX:
            self._rest, self._skips = b"", True
        return whole
