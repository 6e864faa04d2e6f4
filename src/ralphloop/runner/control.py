"""What a supervisor waits for while it works: words from the command that started it, signals, and time."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable

from ralphloop.proof.keeper import clock
from ralphloop.runner.pipe import Lines, Pipe
from ralphloop.store.supervisor import BEAT_S, DETACH, GO, INTERRUPT, KILL, PAUSE, SKIP_TASK, SKIP_WAIT

GONE = "gone"  # the other end is closed, and nobody said that this may go on alone
WORDS = (PAUSE, GO, SKIP_TASK, SKIP_WAIT, DETACH, INTERRUPT, KILL)

STEP_S = 1.0  # how often a supervisor looks around when nothing happens


class Control:
    """A second interrupt is a kill, whoever sent them. `beat` is called now and then, as long as somebody
    waits here for the next word."""

    def __init__(
        self, handle: int, *, detached: bool = False, beat: Callable[[], None] = lambda: None
    ) -> None:
        self.detached = detached
        self.is_terminated = False  # by the system, as it goes down, or by somebody's `kill`
        self._beat, self._due = beat, Deadline(BEAT_S)
        self._words = Pipe(handle)
        self._lines = Lines()
        self._signals = Pipe(_signals())
        self._interrupts = 0

    def wait(self, others: Iterable[int] = (), *, seconds: float = STEP_S) -> None:
        """Until somebody says something, or the time is over."""
        if self._due.is_over():
            self._due.reset()
            self._beat()
        own = [pipe.handle for pipe in (self._words, self._signals) if pipe.is_open]
        select.select([*own, *others], [], [], max(0.0, seconds))

    def take(self) -> list[str]:
        """What came in since."""
        signals = self._signals.read()
        self.is_terminated = self.is_terminated or signal.SIGTERM in signals
        said = [INTERRUPT for number in signals if number in (signal.SIGINT, signal.SIGTERM)]
        was_open = self._words.is_open
        words = [line.decode("utf-8", "replace").strip() for line in self._lines.add(self._words.read())]
        said += [word for word in words if word in WORDS]
        self.detached = self.detached or DETACH in said
        if was_open and not self._words.is_open and not self.detached:
            said.append(GONE)
        return [self._counted(word) for word in said]

    def _counted(self, word: str) -> str:
        self._interrupts += word == INTERRUPT
        return KILL if word == INTERRUPT and self._interrupts > 1 else word


def _signals() -> int:
    """A descriptor with the number of each signal that arrives; a terminal that hangs up ends nothing."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return reading


class Deadline:
    """Over when the wall clock or the clock since boot says so, whichever comes first.

    The clock since boot counts on while the machine sleeps, and nobody can set it; where a system has none
    that does (a virtual machine that was halted), the wall clock still knows.
    """

    def __init__(
        self, seconds: float, *, wall: Callable[[], float] = time.time, boot: Callable[[], float] = clock
    ) -> None:
        self._seconds = seconds
        self._clocks = (wall, boot)
        self.reset()

    def reset(self) -> None:
        """Begin anew, with the whole time."""
        self._began = [now() for now in self._clocks]

    def left(self) -> float:
        """Seconds until it is over, never below zero, never more than it had at first."""
        passed = [now() - began for now, began in zip(self._clocks, self._began, strict=True)]
        return max(0.0, self._seconds - max(0.0, *passed))

    def is_over(self) -> bool:
        return self.left() <= 0.0
