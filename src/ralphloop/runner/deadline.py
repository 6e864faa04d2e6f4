"""A time limit that a sleeping machine does not stretch, nor a clock that is set back."""

from __future__ import annotations

import time
from collections.abc import Callable

from ralphloop.proof.keeper import clock


class Deadline:
    """Over when the wall clock or the clock since boot says so, whichever comes first.

    The clock since boot counts on while the machine sleeps, and nobody can set it; where a system has none
    that does (a virtual machine that was halted), the wall clock still knows.
    """

    def __init__(
        self,
        seconds: float,
        *,
        wall: Callable[[], float] = time.time,
        boot: Callable[[], float] = clock,
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
