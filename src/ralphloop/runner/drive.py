"""One session from its start to its end: its output, its deadlines, and what the person says meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ralphloop.agents.event import Event, Limit, Result, Retry
from ralphloop.runner import control, judge
from ralphloop.runner.agent_process import AgentProcess
from ralphloop.runner.control import Control
from ralphloop.runner.deadline import Deadline
from ralphloop.runner.judge import Session
from ralphloop.runner.ladder import Ladder
from ralphloop.store import supervisor

# between interrupt, terminate and kill; nobody is left to wait where the command that started us is gone
GRACES_S, HASTE_S = (5.0, 5.0), (1.0, 1.0)
DEAF_S = 5.0
# Answers 401 to one request, in a row. The client renews an expired token after the first, and sends the
# request again up to ten times, for three minutes (2.1.325); the third comes after about two seconds.
REFUSALS = 3


Parse = Callable[[bytes], "Event | None"]


class Watched(NamedTuple):
    """What a session is asked about while it runs."""

    parse: Parse  # what a line of the client means
    is_cancelled: Callable[[], bool]  # by somebody at another terminal
    pause: Callable[[], None]
    skip: Callable[[], bool]  # leave the task at hand out; False if that cannot be done now
    more_time_s: Callable[[], float]  # what the person has added to it since it began


class Drive:
    def __init__(
        self, process: AgentProcess, control_: Control, *, idle_s: float, time_left_s: float
    ) -> None:
        self._process = process
        self._control = control_
        self._idle = Deadline(idle_s)
        self._time = Deadline(time_left_s)
        self._added_s = 0.0
        self._glance = Deadline(control.STEP_S)  # at the loop's state, however much the client says
        self._ladder: Ladder | None = None
        self._last = Deadline(DEAF_S)  # since the last word that can be said
        self._result: Result | None = None
        self._resets_at: float | None = None
        self._refusals, self._refused = 0, ""
        self._cut = ""

    def run(self, watched: Watched) -> Session:
        """How it ended, what it reported last, and why we ended it, if we did."""
        try:
            while self._process.ended is None and not self._is_deaf():
                self._control.wait(self._process.handles())
                self._listen(watched.parse)
                for word in self._control.take():
                    self._obey(word, watched)
                self._look_around(watched)
        finally:
            self._process.close()
        assert self._process.ended is not None, "closing waits for the end"
        told = self._refused if self._cut == judge.LOGIN else ""
        return Session(self._process.ended, self._result, self._cut, told, resets_at=self._resets_at)

    def _is_deaf(self) -> bool:
        """Whether not even a kill was obeyed: then closing ends the guardian, too."""
        return self._ladder is not None and self._ladder.is_spent and self._last.is_over()

    def _listen(self, parse: Parse) -> None:
        # Garbage is no sign of life, and not worth a look.
        lines = [line for line in self._process.take() if line.startswith(b"{")]
        if lines:
            self._idle.reset()
        for line in lines:
            event = parse(line)
            if isinstance(event, Result):
                self._result = event
            elif isinstance(event, Limit) and event.status == "rejected":
                self._resets_at = event.resets_at
            elif isinstance(event, Retry):
                self._note(event)

    def _note(self, retry: Retry) -> None:
        """A login does not come back by itself, and nobody hears of it while the client tries again."""
        before = self._refusals if retry.attempt > 1 else 0
        self._refusals = before + 1 if retry.refuses_login else 0
        self._refused = f"{retry.status or ''} {retry.error}".strip()
        if self._refusals >= REFUSALS:
            self._end(judge.LOGIN)

    def _obey(self, word: str, watched: Watched) -> None:
        if word == supervisor.PAUSE:
            watched.pause()
        elif word == supervisor.SKIP_TASK:
            if watched.skip():
                self._end(judge.SKIP)
        elif word in (supervisor.INTERRUPT, supervisor.KILL):
            self._end(judge.INTERRUPT)
        elif word == control.GONE:
            self._end(judge.GONE)
        if word == supervisor.KILL and self._ladder is not None:
            self._last.reset()
            self._ladder.jump()

    def _look_around(self, watched: Watched) -> None:
        if self._ladder is not None:
            if not self._ladder.is_spent:
                self._last.reset()
            self._ladder.step(time.monotonic())
        elif self._idle.is_over():
            self._end(judge.IDLE)
        elif self._time.is_over():
            self._take_time(watched.more_time_s())
            if self._time.is_over():
                self._end(judge.TIME)
        elif self._glance.is_over():
            self._glance.reset()
            self._take_time(watched.more_time_s())
            if watched.is_cancelled():
                self._end(judge.HALT)

    def _take_time(self, more_s: float) -> None:
        """What the person has added since the session began, or taken away."""
        if more_s != self._added_s:
            left_s = self._time.left() + more_s - self._added_s
            self._time, self._added_s = Deadline(max(0.0, left_s)), more_s

    def _end(self, why: str) -> None:
        """Politely first; the first reason is the one that counts."""
        self._cut = self._cut or why
        if self._ladder is None:
            self._ladder = Ladder(self._process.send, graces_s=HASTE_S if why == judge.GONE else GRACES_S)
            self._ladder.step(time.monotonic())
