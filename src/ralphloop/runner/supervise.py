"""Drives a loop through fresh sessions until it rests or ends: begin a session, watch it, judge it, go on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from ralphloop.domain.model import CANCELLED, INTERRUPTED, LIMIT, RATE_LIMITED
from ralphloop.runner import control, judge
from ralphloop.runner.agent_process import AgentProcess, AgentStartError, Ending
from ralphloop.runner.control import Control
from ralphloop.runner.custody import Begun, Custody
from ralphloop.runner.drive import Drive, Watched
from ralphloop.runner.judge import Pace, Session, Trouble, Verdict
from ralphloop.store import supervisor
from ralphloop.store.supervisor import Holder


class Surroundings(NamedTuple):
    """What a supervisor needs from above it."""

    start: Callable[[Begun], AgentProcess]
    settle: Callable[[], str]  # ask the rules without a session; what they send on, or nothing
    skip: Callable[[str], None]  # leave a task out
    commit: Callable[[], None]  # what was closed and is not committed yet, where commits are wanted


class Supervisor:
    def __init__(self, custody: Custody, control_: Control, *, around: Surroundings) -> None:
        self._custody = custody
        self._control = control_
        self._around = around
        self._terms = custody.terms
        self._pace = Pace(margin_s=self._terms.margin_s, backoff_s=self._terms.backoff_s)
        self._trouble = Trouble()
        self._holder = Holder(pid=os.getpid(), since=time.time())

    def run(self) -> None:
        """Until the loop rests or ends; its state then says how."""
        self._say(phase=supervisor.STARTING)
        verdict = self._first()
        while verdict.kind != judge.END:
            if verdict.kind == judge.WAIT:
                verdict = self._wait(verdict)
            elif verdict.kind == judge.REST:
                verdict = self._rest(verdict)
            else:
                verdict = self._session()
        if verdict.outcome:
            self._custody.finish(verdict.outcome, verdict.why)

    def _first(self) -> Verdict:
        """A loop that waits for a reset goes on waiting."""
        state = self._custody.state()
        if state.outcome == RATE_LIMITED:
            return Verdict(judge.WAIT, state.detail, until=state.resume_at or 0.0)
        return Verdict(judge.NEXT)

    def _session(self) -> Verdict:
        begun = self._custody.begin(self._holder.number + 1)
        if begun is None:
            begun = self._settled()
        if begun is None:
            return self._judge(Session(Ending(None, None, ""), cut=judge.NO_WORK))
        self._holder.number += 1
        self._say(phase=supervisor.WORKING, session=begun.session, model=begun.model, task=begun.task)
        began = time.monotonic()
        session = self._watch(begun)
        self._around.commit()
        stops, handed_over = self._custody.decisions(begun)
        session = session._replace(stops=stops, handed_over=handed_over)
        verdict = self._judge(session)
        self._custody.ended(
            begun,
            session,
            number=self._holder.number,
            verdict=verdict,
            duration_s=time.monotonic() - began,
        )
        if verdict.tried and self._custody.out_of_turns():
            return Verdict(judge.END, f"no iteration is left; {verdict.why}", outcome=LIMIT)
        return verdict

    def _settled(self) -> Begun | None:
        """Nothing can be worked on: the rules say what that means, without a session to be told so."""
        if not self._custody.is_live:
            return None
        reason = self._around.settle()
        return self._custody.begin(self._holder.number + 1, reason=reason) if reason else None

    def _watch(self, begun: Begun) -> Session:
        try:
            process = self._around.start(begun)
        except AgentStartError as error:
            return Session(Ending(None, None, str(error)), cut=judge.NO_START)
        drive = Drive(process, self._control, idle_s=self._terms.idle_s, time_left_s=begun.time_left_s)
        return drive.run(
            Watched(
                is_cancelled=lambda: self._custody.state().outcome == CANCELLED,
                pause=self._custody.ask_to_pause,
                skip=lambda: self._around.skip(begun.task),
            )
        )

    def _judge(self, session: Session) -> Verdict:
        state = self._custody.state()
        verdict = judge.judge(session, state, trouble=self._trouble, pace=self._pace, now=time.time())
        self._trouble = verdict.trouble
        return verdict

    def _wait(self, verdict: Verdict) -> Verdict:
        """Until the time has come, the person skips the wait, or the loop is paused or ended meanwhile."""
        outage = not verdict.tried
        self._custody.wait(verdict, outage=outage)
        self._say(phase=supervisor.RESTING, until=verdict.until, why=verdict.why)
        while time.time() < verdict.until:
            self._control.wait(seconds=min(control.STEP_S, verdict.until - time.time()))
            said = self._control.take()
            ended = self._ended_by(said)
            if ended is not None:
                return ended._replace(outcome="") if outage else ended
            if control.PAUSE in said:
                self._custody.ask_to_pause()
            if control.SKIP_TASK in said:
                self._around.skip(self._holder.task)
            if control.SKIP_WAIT in said or self._custody.is_disturbed(outage=outage):
                break
        return self._after(self._custody.go_on())

    def _rest(self, verdict: Verdict) -> Verdict:
        """Paused: whoever is at the terminal may go on; without anybody there this run is over."""
        self._say(phase=supervisor.PAUSED, until=0.0, why=verdict.why)
        while self._terms.stays and not self._control.detached:
            self._control.wait()
            said = self._control.take()
            ended = self._ended_by(said)
            if ended is not None:
                return ended
            if control.GO in said or control.PAUSE in said:
                self._custody.take_up()
            state = self._custody.state()
            if state.live or state.outcome != INTERRUPTED:
                return self._after(state.live)
        return Verdict(judge.END, verdict.why)

    def _after(self, goes_on: bool) -> Verdict:
        if goes_on:
            return Verdict(judge.NEXT, trouble=self._trouble)
        state = self._custody.state()
        rests = state.outcome == INTERRUPTED
        return Verdict(judge.REST if rests else judge.END, state.detail)

    def _ended_by(self, said: list[str]) -> Verdict | None:
        if control.INTERRUPT in said or control.KILL in said:
            return Verdict(judge.END, "paused by the person", outcome=INTERRUPTED)
        return Verdict(judge.END, "the command that started it is gone") if control.GONE in said else None

    def _say(self, **news: object) -> None:
        for name, value in news.items():
            setattr(self._holder, name, value)
        supervisor.say(self._custody.loop, self._holder)
