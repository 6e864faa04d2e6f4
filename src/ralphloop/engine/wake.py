"""A terminal session that an API error has ended: the hook stays, and wakes it when work can go on.

The client lets a StopFailure hook that was registered with `asyncRewake` run on while the prompt is free,
and takes its exit code 2 for news to the session. It does not matter to the client which session that is by
then, so everything that ends the wait takes this waker's token out of the loop's state.
"""

from __future__ import annotations

import sys
import time

from ralphloop import errors
from ralphloop import system as os
from ralphloop.domain import outage, prompt
from ralphloop.domain.limits import tick
from ralphloop.domain.model import EXECUTION, FAILED, PID_VARIABLE, RATE_LIMITED
from ralphloop.domain.situation import run
from ralphloop.engine import api_error
from ralphloop.engine.words import words_for
from ralphloop.store import supervisor, tasks
from ralphloop.store.loop import LoopFiles, iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Optional

    from ralphloop.domain.model import LoopState, StopEvent
    from ralphloop.domain.worklist import Worklist
    from ralphloop.engine.find import Call

LOOK_S = 1.0
PATIENCE_S = 23.5 * 3600  # the client ends the hook after a day; a later reset is waited for in several turns
# In a row, without any work in between. A run is given more (`runner/judge.py`): here a person is at the
# terminal, who wants to hear that the service is down.
OUTAGES_MAX = 8

# kinds of error that time cures; the others last until somebody does something
_LIMIT, _OUTAGES, _UNCLEAR = "rate_limit", ("server_error", "overloaded"), "unknown"
_REFUSED = tuple(map(str, outage.HOPELESS))
_DOWN = ("500", "502", "503", "504", "520", "521", "522", "523", "524", "529", "overloaded", "timeout",
         "connection", "network", "econnreset", "econnrefused", "etimedout", "enotfound")  # fmt: skip
_GOES_ON = "An API error ended your last turn; the API may answer again. Go on where you were."


class Failure:
    """What the client said when it gave up."""

    __slots__ = ("kind", "said")

    def __init__(self, kind: str, said: str) -> None:
        self.kind = kind
        self.said = said

    @property
    def detail(self) -> str:
        said = api_error.masked("%s: %s" % (self.kind, self.said))
        return prompt.line(outage.reason(said) if self.outcome == FAILED else said)

    @property
    def outcome(self) -> str:
        """What the loop comes to where nobody waits."""
        if self.kind in (_LIMIT, "overloaded"):
            return RATE_LIMITED
        return api_error.outcome(self.said, marked=True)

    @property
    def is_outage(self) -> bool:
        """Whether it is the service that is broken."""
        words = "".join([ch if ch.isalnum() else " " for ch in self.said.lower()[:2000]]).split()
        if any(word in words for word in _REFUSED):
            return False
        down = ("timed" in words and "out" in words) or any(word in words for word in _DOWN)
        return self.kind in _OUTAGES or (self.kind == _UNCLEAR and down)

    @property
    def is_cured_by_time(self) -> bool:
        limited = self.kind == _UNCLEAR and self.outcome == RATE_LIMITED
        return self.kind == _LIMIT or limited or self.is_outage


class Terms:
    """The settings that a wait obeys."""

    __slots__ = ("backoff_s", "margin_s", "on")

    def __init__(self, *, on: bool = True, margin_s: float = 60.0, backoff_s: float = 30.0) -> None:
        self.on = on
        self.margin_s = margin_s
        self.backoff_s = backoff_s


def begin(loop: LoopFiles, state: LoopState, failure: Failure, *, event: StopEvent, call: Call) -> bool:
    """Note in the loop's state that this process is going to wake its session, if that can be done."""
    if not _is_possible(loop, call) or not failure.is_cured_by_time:
        return False
    terms = _terms(loop.record.root, call.env)
    if not terms.on:
        return False
    state.failures = 1 if _has_worked(state, event, call) else state.failures + 1
    if failure.is_outage and state.failures > OUTAGES_MAX:
        return False
    state.resume_at = due(failure.said, state.failures, terms=terms, now=time.time())
    state.wake = supervisor.new_token()
    return True


def outcome(failure: Failure, state: LoopState) -> str:
    """What the loop comes to if nobody waits, or has waited long enough."""
    too_often = failure.is_outage and state.failures > OUTAGES_MAX
    return FAILED if too_often else failure.outcome


def _is_possible(loop: LoopFiles, call: Call) -> bool:
    """Whether the client listens to what this hook says later, and nobody else goes on with the loop."""
    listens = call.rewakes and call.is_attended  # nothing can wake a print run
    return listens and loop.record.supervision is None and not loop.request()


def _terms(root: str, env: Mapping[str, str]) -> Terms:
    """A file of settings that cannot be used is `ralphloop config`'s to report; here the usual terms hold."""
    try:
        from ralphloop import config

        found = config.load(root, env)
        on, margin_s, backoff_s = found.get("wake"), found.get("reset_margin"), found.get("backoff")
    except (ImportError, SyntaxError, TypeError, ValueError, OSError):
        return Terms()
    return Terms(on=bool(on), margin_s=float(margin_s), backoff_s=max(1.0, float(backoff_s)))


def _has_worked(state: LoopState, event: StopEvent, call: Call) -> bool:
    """Whether anything was done since the last wake."""
    if not state.failures:
        return False
    turn = call.client.read_turn(event.transcript, start=state.transcript_end, since=state.since)
    return turn.tools > 0


def due(said: str, failures: int, *, terms: Terms, now: float) -> float:
    """When to try again: at the announced reset, else after a wait that doubles with each failure."""
    announced = api_error.instant(said, margin_s=terms.margin_s)
    return outage.due(announced, before=failures - 1, first_s=terms.backoff_s, now=now)


def wait(loop: LoopFiles, state: LoopState, *, event: StopEvent, call: Call) -> str:
    """Stay until it is time; the text that wakes the session, or nothing if nobody wants that any more."""
    pending = PendingWait(loop, state.wake, env=call.env)
    # Everything is loaded now: the package may be updated while this waits.
    _wording(LoopFiles(loop.record, loop.shelf, writes=False), state.copy(), event=event, call=call)
    busy = errors.BusyError
    os.chdir(os.sep)  # nor is the project's folder held
    with supervisor.waker_lock(loop):
        over_s = min(state.resume_at or 0.0, time.time() + PATIENCE_S)
        planned_s = time.monotonic() + over_s - time.time()
        while pending.is_wanted():
            # By both clocks: one stands still while a laptop sleeps, the other can be put back.
            if time.time() >= over_s or time.monotonic() >= planned_s:
                try:
                    return _rouse(loop, pending, event=event, call=call)
                except busy:
                    continue
            time.sleep(max(0.05, min(LOOK_S, over_s - time.time())))
    return ""


class PendingWait:
    """Whether the wait still has a purpose."""

    __slots__ = ("client", "loop", "parent", "token")

    def __init__(self, loop: LoopFiles, token: str, *, env: Mapping[str, str]) -> None:
        self.loop = loop
        self.token = token
        # the client starts the hook itself, so another parent means that it is gone, whoever has its id now
        self.parent = os.getppid()
        said = env.get(PID_VARIABLE, "")
        is_known = said.isascii() and said.isdigit() and sys.platform != "win32"
        self.client = int(said) if is_known else 0

    def is_wanted(self) -> bool:
        return self._has_client() and os.path.isdir(self.loop.record.root) and self.state() is not None

    def _has_client(self) -> bool:
        if os.getppid() != self.parent:
            return False
        try:
            if self.client > 1:
                os.kill(self.client, 0)
        except (OSError, OverflowError):
            return False
        return True

    def state(self) -> Optional[LoopState]:
        """The loop's state, if it still waits for this process."""
        state = self.loop.load()
        if state is None or self.loop.request() or not supervisor.is_awaited(state):
            return None
        return state if state.wake == self.token else None


def _rouse(loop: LoopFiles, pending: PendingWait, *, event: StopEvent, call: Call) -> str:
    """Set the loop running again, in the iteration that the error broke off."""
    with loop.lock():
        state = pending.state()
        if state is None:
            return ""
        now = time.time()
        late_s = now - (state.resume_at or now)
        tick(state, now)
        run(state)
        # what the transcript shows of the error is over
        state.wake, state.pending, state.since = "", "", iso(now)
        told = _wording(loop, state, event=event, call=call)
        loop.save(state, durable=True)
        loop.journal("wake", session=event.session, task=state.current, failures=state.failures,
                     late_s=round(late_s, 3))  # fmt: skip
    return told


def _wording(loop: LoopFiles, state: LoopState, *, event: StopEvent, call: Call) -> str:
    reading = tasks.read_work(loop, state, now=time.time())
    work: Optional[Worklist] = reading.work
    if work is None:
        return _GOES_ON
    words = words_for(loop, event.cwd, call.env)
    if work.phase != EXECUTION:
        push = prompt.phase(state, work, written=tasks.is_written(loop.record, work), words=words)
        return "%s\n\n%s" % (_GOES_ON, push) if work.quick else _GOES_ON
    limit = int(loop.record.limits.iterations)
    return prompt.continuation(state, work, limit=limit, words=words, notes=[_GOES_ON, *reading.notes])
