"""How a client is asked to end: politely first, then with more force."""

from __future__ import annotations

from collections.abc import Callable

INTERRUPT, TERMINATE, KILL = "interrupt", "terminate", "kill"


class Ladder:
    """Ends a client that does not want to: interrupt, terminate, kill, with time to obey between them."""

    def __init__(self, send: Callable[[str], None], *, graces_s: tuple[float, float] = (5.0, 5.0)) -> None:
        self._send = send
        self._steps = [(INTERRUPT, graces_s[0]), (TERMINATE, graces_s[1]), (KILL, 0.0)]
        self._due: float | None = None

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left to say."""
        return not self._steps

    def jump(self) -> None:
        """Straight to the last word."""
        self._steps = []
        self._send(KILL)

    def step(self, now: float) -> float | None:
        """Say the next word if its time has come; the seconds until the one after it, None after the last."""
        while self._steps and (self._due is None or now >= self._due):
            word, grace_s = self._steps.pop(0)
            self._send(word)
            self._due = now + grace_s
        return self._due - now if self._steps and self._due is not None else None
