"""Single keys and signals of the terminal that the view runs in; everything is put back at the end."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

try:
    import termios
    import tty

    HAS_MODES = True
except ImportError:  # Windows: signals only
    HAS_MODES = False

INTERRUPT, HANG_UP, STOP = "interrupt", "hang up", "stop"
_SIGNALS = {"SIGINT": INTERRUPT, "SIGTERM": INTERRUPT, "SIGHUP": HANG_UP, "SIGTSTP": STOP, "SIGWINCH": ""}


class Keys:
    """A context manager. `with_keys=False` minds signals only and leaves the terminal as it is."""

    def __init__(self, *, with_keys: bool = True) -> None:
        self._stdin = _terminal() if with_keys else None
        self._modes: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._pending: list[str] = []
        self._wakeup = self._alarm = -1

    @property
    def has_keys(self) -> bool:
        return self._stdin is not None

    def __enter__(self) -> Keys:
        try:
            self._listen()
            for name in _SIGNALS if self.has_keys else [name for name in _SIGNALS if name != "SIGTSTP"]:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
                    self._handlers[number] = signal.signal(number, self._note)
            self.take_over()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _listen(self) -> None:
        """Let a signal end a wait; Windows cannot wait for a pipe."""
        if HAS_MODES:
            self._wakeup, self._alarm = os.pipe()
            for handle in (self._wakeup, self._alarm):
                os.set_blocking(handle, False)
            signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)

    def _leave(self) -> None:
        self.give_back()
        if self._alarm >= 0:
            signal.set_wakeup_fd(-1)
            os.close(self._wakeup)
            os.close(self._alarm)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers, self._wakeup, self._alarm = {}, -1, -1

    def take_over(self) -> None:
        """Keys come one by one and unseen; Ctrl-C stays a signal."""
        if self._stdin is not None:
            self._modes = termios.tcgetattr(self._stdin)
            tty.setcbreak(self._stdin, termios.TCSADRAIN)

    def give_back(self) -> None:
        if self._modes is not None and self._stdin is not None:
            with suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(self._stdin, termios.TCSADRAIN, self._modes)
            self._modes = None

    def _note(self, number: int, _frame: FrameType | None) -> None:
        what = _SIGNALS.get(signal.Signals(number).name, "")
        if what:
            self._pending.append(what)

    def wait(self, seconds: float) -> list[str]:
        """The keys and signals that came, at once if some are there."""
        handles = [handle for handle in (self._wakeup, self._stdin) if handle is not None and handle >= 0]
        if not handles:
            time.sleep(0.0 if self._pending else seconds)
        ready = select.select(handles, [], [], 0.0 if self._pending else seconds)[0] if handles else []
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
        typed = self._typed() if self._stdin is not None and self._stdin in ready else []
        found, self._pending = [*self._pending, *typed], []
        return found

    def _typed(self) -> list[str]:
        assert self._stdin is not None
        try:
            data = os.read(self._stdin, 1024)
        except OSError:
            data = b""
        if not data:  # the other end is closed
            self._stdin = None
            return [HANG_UP]
        text = data.decode("utf-8", "replace")
        return [] if text.startswith("\033") else list(text)  # arrows and the like are no keys of ours

    def suspend(self) -> None:
        """Stop as Ctrl-Z would have it; comes back when the shell lets us go on."""
        self.give_back()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)
        self.take_over()


def _terminal() -> int | None:
    try:
        handle = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return handle if HAS_MODES and os.isatty(handle) else None
