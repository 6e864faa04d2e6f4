"""What goes into a process and comes out of it, until it has ended: in time, and no more than a limit."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from typing import IO

from ralphloop.errors import TooMuchError

CHUNK = 64 * 1024
PIECE = 512  # any pipe that is ready takes so much at once


class Exchange:
    """With one process, whose streams are pipes without buffers."""

    def __init__(self, process: subprocess.Popen[bytes], data: bytes, *, most: int) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self._process = process
        self._data = memoryview(data)
        self._most = most

    def finish(self, limit_s: float) -> int:
        """The exit code.

        TooMuchError, or TimeoutExpired if it has not ended and closed its streams by then.
        """
        process, deadline = self._process, time.monotonic() + limit_s
        if not process.stdin or not process.stdout or not process.stderr:
            raise ValueError("all streams of the process must be pipes")
        with selectors.DefaultSelector() as streams:
            streams.register(process.stdin, selectors.EVENT_WRITE)
            streams.register(process.stdout, selectors.EVENT_READ, self.out)
            streams.register(process.stderr, selectors.EVENT_READ, self.err)
            while streams.get_map():
                ready = streams.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    raise subprocess.TimeoutExpired(process.args, limit_s)
                for key, _ in ready:
                    goes_on = self._give(process.stdin) if key.data is None else self._take(key.fd, key.data)
                    if not goes_on:
                        streams.unregister(key.fileobj)
            return process.wait(max(0.0, deadline - time.monotonic()))

    def _give(self, stdin: IO[bytes]) -> bool:
        try:
            given = os.write(stdin.fileno(), self._data[:PIECE])
        except BrokenPipeError:
            given = len(self._data)
        self._data = self._data[given:]
        if not self._data:
            stdin.close()
        return bool(self._data)

    def _take(self, handle: int, taken: bytearray) -> bool:
        data = os.read(handle, CHUNK)
        taken += data
        if len(taken) > self._most:
            raise TooMuchError
        return bool(data)
