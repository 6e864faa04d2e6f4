"""What comes out of a pipe: bytes without waiting, and whole lines out of them; and what goes into one."""

from __future__ import annotations

import os

LINE_MAX = 16 * 1024 * 1024
CHUNK = 64 * 1024
READS = 64  # at a time; a client that writes without end must not keep the supervisor from everything else


class Lines:
    """Bytes as they come, to whole lines; one above the limit is dropped."""

    def __init__(self, limit: int = LINE_MAX) -> None:
        self._limit = limit
        self._part = bytearray()
        self._is_too_long = False

    def add(self, data: bytes) -> list[bytes]:
        *whole, rest = data.split(b"\n")
        lines = []
        for piece in whole:
            self._extend(piece)
            lines += [] if self._is_too_long else [bytes(self._part)]
            self._part.clear()
            self._is_too_long = False
        self._extend(rest)
        return lines

    def rest(self) -> list[bytes]:
        """The last line, if no newline ended it."""
        return [bytes(self._part)] if self._part else []

    def _extend(self, piece: bytes) -> None:
        self._is_too_long = self._is_too_long or len(self._part) + len(piece) > self._limit
        if self._is_too_long:
            self._part.clear()
        else:
            self._part += piece


class Pipe:
    """The reading end of a pipe that never makes us wait; closed once its end was seen."""

    def __init__(self, handle: int) -> None:
        os.set_blocking(handle, False)
        self.handle = handle
        self.is_open = True

    def read(self) -> bytes:
        """What is there now, at most so much at a time."""
        data = bytearray()
        for _ in range(READS if self.is_open else 0):
            try:
                some = os.read(self.handle, CHUNK)
            except BlockingIOError:
                break
            if not some:
                self.close()
                break
            data += some
        return bytes(data)

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            os.close(self.handle)


def write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
