"""Work in a process of its own, which the person can end: what it wrote to disk stays, what it ran ends."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable

from ralphloop.runner.pipe import Pipe


class Aside:
    """A copy of this process that does one thing and says the text that came of it."""

    def __init__(self, work: Callable[[], str]) -> None:
        reading, writing = os.pipe()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(reading)
            _do(work, writing)
        os.close(writing)
        self._pipe = Pipe(reading)
        self._said = b""

    def handles(self) -> list[int]:
        return [self._pipe.handle] if self._pipe.is_open else []

    def take(self) -> str | None:
        """The text, once the work is done; None until then."""
        self._said += self._pipe.read()
        if self._pipe.is_open:
            return None
        self.end()
        return self._said.decode("utf-8", "replace")

    def end(self) -> None:
        """Nothing of it is left; checks that it runs end with it."""
        self._pipe.close()
        if self._pid:
            pid, self._pid = self._pid, 0
            os.kill(pid, signal.SIGKILL)  # one that has ended is still ours until it is waited for
            os.waitpid(pid, 0)


def _do(work: Callable[[], str], writing: int) -> None:
    """The copy's side; it leaves nothing to the code above it."""
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        data = work().encode("utf-8", "replace")
        while data:
            data = data[os.write(writing, data) :]
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()  # into the supervisor's log
        sys.stderr.flush()
        os._exit(0)
