"""What a key or a signal means: for somebody who watches, and for who drives the supervisor."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from ralphloop.store import supervisor
from ralphloop.store.loop import PAUSE
from ralphloop.views.live.feed import Frame
from ralphloop.views.live.keys import HANG_UP, INTERRUPT

TWICE_S = 3.0  # within which a key counts as pressed again


class Driver(Protocol):
    """The way to the supervisor."""

    def send(self, word: str) -> None:
        """One of pause, go, skip-task, skip-wait, detach, interrupt, kill."""

    @property
    def ended(self) -> bool:
        """Whether the supervisor is gone."""


class Controls:
    def __init__(self, driver: Driver | None, *, has_keys: bool = True) -> None:
        self._driver = driver
        self._has_keys = has_keys
        self._skip_at: float | None = None
        self._notice, self._until = "", 0.0
        self._interrupts = 0

    def press(self, key: str, frame: Frame, *, now: float) -> bool:
        """Obey a key or a signal; True if the view is to be left. `now` never stands still."""
        if self._driver is None:
            return key in ("q", "Q", INTERRUPT, HANG_UP)
        if key == INTERRUPT:
            self._interrupt(now)
            return False
        if key in ("q", "Q", HANG_UP):
            self._send(supervisor.DETACH)
            return True
        self._steer(key.lower(), frame, now)
        return False

    def _steer(self, key: str, frame: Frame, now: float) -> None:
        if key == "p":
            paused = _is_paused(frame)
            self._send(supervisor.GO if paused else supervisor.PAUSE)
            self._say("goes on …" if paused else "pauses at the end of this turn …", now)
        elif key == "w" and _is_waiting(frame):
            self._send(supervisor.SKIP_WAIT)
            self._say("the wait is over …", now)
        elif key == "s" and frame.task:
            self._skip(frame.task, now)

    def _skip(self, task: str, now: float) -> None:
        if self._skip_at is None or now - self._skip_at > TWICE_S:
            self._skip_at = now
            self._say(f"press s again to skip task {task}", now)
            return
        self._skip_at = None
        self._send(supervisor.SKIP_TASK)
        self._say(f"skips task {task} …", now)

    def _interrupt(self, now: float) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._send(supervisor.KILL)
            self._say("killing the session …", now, for_s=3600.0)
            return
        self._send(supervisor.INTERRUPT)
        self._say("pausing …, once more kills it", now, for_s=3600.0)

    def _send(self, word: str) -> None:
        if self._driver is not None:
            with suppress(OSError):  # a supervisor that is gone shows as ended
                self._driver.send(word)

    def _say(self, notice: str, now: float, *, for_s: float = TWICE_S) -> None:
        self._notice, self._until = notice, now + for_s

    def notice(self, now: float) -> str:
        return self._notice if now < self._until else ""

    def keys(self, frame: Frame) -> str:
        """Only those that do something now."""
        if self._driver is None:
            return "q quit" if self._has_keys else "Ctrl-C quits"
        if not self._has_keys:
            return "Ctrl-C pauses, twice kills"
        keys = ["p go on" if _is_paused(frame) else "p pause"]
        keys += ["ss skip task"] if frame.task else []
        keys += ["w skip wait"] if _is_waiting(frame) else []
        return "  ".join([*keys, "q quit, keep running", "Ctrl-C pause and end"])

    @property
    def is_over(self) -> bool:
        return self._driver is not None and self._driver.ended


def _is_paused(frame: Frame) -> bool:
    is_held = frame.holder is not None and frame.holder.phase == supervisor.PAUSED
    return is_held or frame.view.requested == PAUSE


def _is_waiting(frame: Frame) -> bool:
    return frame.holder is not None and frame.holder.phase == supervisor.RESTING
