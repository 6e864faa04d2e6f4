"""Drives a loop through fresh sessions until it rests or ends: begin a session, watch it, judge it, go on."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial

from ralphloop.agents.registry import client
from ralphloop.domain.model import BUDGET, CANCELLED, COMPLETE, INTERRUPTED, LIMIT, RATE_LIMITED
from ralphloop.errors import AgentStartError, GuardianLostError
from ralphloop.evidence.mask import mask, secrets, spellings
from ralphloop.runner import boot, control, judge, leftover, session_start
from ralphloop.runner.agent_process import Ending, end_strays
from ralphloop.runner.aside import Aside
from ralphloop.runner.control import Control
from ralphloop.runner.custody import Begun, Custody
from ralphloop.runner.deadline import Deadline
from ralphloop.runner.drive import Drive, Watched
from ralphloop.runner.judge import Pace, Session, Trouble, Verdict
from ralphloop.runner.terms import Terms
from ralphloop.store import supervisor
from ralphloop.store.loop import LoopFiles
from ralphloop.store.supervisor import Holder


def supervise(loop: LoopFiles, terms: Terms, control_: Control, *, cwd: str, env: Mapping[str, str]) -> None:
    """Under the supervisor's lock: drive the loop until it rests or ends."""
    supervisor.beat(loop)  # what stands there is another's last word, perhaps of yesterday
    leftover.forget(loop)
    end_strays(loop.kept)  # of a supervisor before this one; two agents must not work at once
    custody = Custody(loop, terms, cwd=cwd, env=session_start.environment(env))
    Supervisor(custody, control_).run()
    if terms.branch:
        if loop.state().outcome == COMPLETE:  # no stop follows, and no other run as a rule
            custody.commit(patiently=True)
        custody.keep_list()
        leftover.note(loop, cwd=cwd, env=env)


class Supervisor:
    def __init__(self, custody: Custody, control_: Control) -> None:
        self._custody = custody
        self._control = control_
        self._terms = custody.terms
        self._client = client(custody.terms.agent)
        self._pace = Pace(margin_s=self._terms.margin_s, backoff_s=self._terms.backoff_s)
        self._trouble = Trouble()
        self._holder = Holder(
            pid=os.getpid(), since=time.time(), boot=boot.identity(), cwd=custody.cwd, owes=True
        )
        self._hide = partial(mask, secrets=spellings(secrets(os.environ)))

    def run(self) -> None:
        """Until the loop rests or ends; its state then says how."""
        self._say(supervisor.STARTING)
        verdict = self._first()
        while verdict.kind != judge.END:
            if verdict.kind == judge.WAIT:
                verdict = self._wait(verdict)
            elif verdict.kind == judge.REST:
                verdict = self._rest(verdict)
            else:
                verdict = self._session()
        is_wanted = not self._custody.loop.request() and self._holder.phase != supervisor.PAUSED
        if verdict.outcome:
            self._custody.finish(verdict.outcome, verdict.why)
        self._leave(is_wanted)

    def _leave(self, is_wanted: bool) -> None:
        """Only of a supervisor that was killed, or told to end while the loop was to go on, it stays written
        that it was driving."""
        self._control.take()  # where the command that started us was told first
        self._holder.told_to_end = self._control.is_terminated and is_wanted
        self._holder.boot = self._holder.boot if self._holder.told_to_end else ""
        supervisor.say(self._custody.loop, self._holder)

    def _first(self) -> Verdict:
        """A loop that waits for a reset goes on waiting."""
        state = self._custody.state()
        if state.outcome == RATE_LIMITED:
            return Verdict(judge.WAIT, state.detail, until=state.resume_at or 0.0)
        return Verdict(judge.NEXT)

    def _session(self) -> Verdict:
        begun = self._custody.begin(self._holder.number + 1)
        if begun is None:
            settled = self._settle()
            if isinstance(settled, Verdict):
                return settled
            begun = self._custody.begin(self._holder.number + 1, reason=settled) if settled else None
        if begun is None:
            return self._judge(Session(Ending(None, None, ""), cut=judge.NO_WORK))
        self._holder.number += 1
        self._say(supervisor.WORKING, session=begun.session, model=begun.model, task=begun.task)
        began = time.monotonic()
        session = judge.masked(self._watch(begun), self._hide, now=time.time())
        self._custody.commit()
        state = self._custody.state()
        session = session._replace(stops=state.stops, handed_over=state.handed_over, task=begun.task)
        verdict = self._judge(session)
        self._custody.ended(
            begun,
            session,
            number=self._holder.number,
            verdict=verdict,
            duration_s=time.monotonic() - began,
        )
        overspent = self._custody.account(begun)
        if verdict.outcome == BUDGET and not overspent and self._custody.has_more_dollars(begun):
            verdict = Verdict(judge.NEXT, "the person raised the limit of dollars")
        return self._within_limits(verdict, overspent)

    def _within_limits(self, verdict: Verdict, overspent: str) -> Verdict:
        """What the hook would have noticed at a stop that never came."""
        if verdict.kind not in (judge.NEXT, judge.WAIT):
            return verdict
        if overspent:
            return Verdict(judge.END, overspent, outcome=BUDGET)
        if verdict.tried and self._custody.out_of_turns():
            return Verdict(judge.END, f"no iteration is left; {verdict.why}", outcome=LIMIT)
        return verdict

    def _settle(self) -> str | Verdict:
        """Nothing can be worked on: the rules say what that means, without a session to be told so. They may
        run checks, which the person can end."""
        if not self._custody.is_live:
            return ""
        self._say(supervisor.CHECKING)
        aside = Aside(self._custody.settle)
        try:
            while (told := aside.take()) is None:
                self._control.wait(aside.handles())
                ended = self._ended_by(self._control.take())
                if ended is not None:
                    return ended
            return told
        finally:
            aside.end()

    def _watch(self, begun: Begun) -> Session:
        try:
            process = session_start.start(begun, self._custody, self._client)
        except AgentStartError as error:
            cut = "" if isinstance(error, GuardianLostError) else judge.NO_START
            return Session(Ending(None, None, str(error)), cut=cut)
        drive = Drive(process, self._control, idle_s=self._terms.idle_s, time_left_s=begun.time_left_s)
        return drive.run(
            Watched(
                parse=self._client.program.parse,
                is_cancelled=lambda: self._custody.state().outcome == CANCELLED,
                pause=self._custody.ask_to_pause,
                skip=lambda: self._custody.skip(self._custody.state().current),
                more_time_s=partial(self._custody.more_time_s, begun),
            )
        )

    def _judge(self, session: Session) -> Verdict:
        state = self._custody.state()
        verdict = judge.judge(session, state, trouble=self._trouble, pace=self._pace, now=time.time())
        if verdict.hopeless and self._custody.set_aside(verdict.hopeless, verdict.why):
            verdict = Verdict(judge.NEXT, verdict.why, tried=True, trouble=verdict.trouble)
        self._trouble = verdict.trouble
        return verdict

    def _wait(self, verdict: Verdict) -> Verdict:
        """Until the time has come, the person skips the wait, or the loop is paused or ended meanwhile."""
        outage = not verdict.tried
        self._custody.wait(verdict, outage=outage)
        self._say(supervisor.RESTING, until=verdict.until, why=verdict.why)
        deadline = Deadline(max(0.0, verdict.until - time.time()))
        while not deadline.is_over():
            self._control.wait(seconds=min(control.STEP_S, deadline.left()))
            said = self._control.take()
            ended = self._ended_by(said)
            if ended is not None:
                return ended._replace(outcome="") if outage else ended
            if supervisor.PAUSE in said:
                self._custody.ask_to_pause()
            if supervisor.SKIP_TASK in said:
                self._custody.skip(self._custody.state().current)
            if supervisor.SKIP_WAIT in said or self._custody.is_disturbed(outage=outage):
                break
        return self._after(self._custody.go_on())

    def _rest(self, verdict: Verdict) -> Verdict:
        """Paused: whoever is at the terminal may go on; without anybody there this run is over."""
        self._say(supervisor.PAUSED, why=verdict.why)
        while self._terms.stays and not self._control.detached:
            self._control.wait()
            said = self._control.take()
            ended = self._ended_by(said)
            if ended is not None:
                return ended
            resume_at = self._custody.state().resume_at or 0.0
            if supervisor.GO in said or supervisor.PAUSE in said:
                self._custody.take_up()
            state = self._custody.state()
            if state.live and resume_at > time.time():
                return Verdict(judge.WAIT, "the rate limit is not over", until=resume_at)
            if state.live or state.outcome != INTERRUPTED:
                return self._after(state.live)
        return Verdict(judge.END, verdict.why)

    def _after(self, goes_on: bool) -> Verdict:
        if goes_on:
            return Verdict(judge.NEXT)
        state = self._custody.state()
        rests = state.outcome == INTERRUPTED
        return Verdict(judge.REST if rests else judge.END, state.detail)

    def _ended_by(self, said: list[str]) -> Verdict | None:
        if supervisor.INTERRUPT in said or supervisor.KILL in said:
            return judge.INTERRUPTED_BY_PERSON
        return judge.LEFT_ALONE if control.GONE in said else None

    def _say(self, phase: str, *, until: float = 0.0, why: str = "", **news: str) -> None:
        """What this process is at; of the last session what is not new stays."""
        holder = self._holder
        holder.phase, holder.until, holder.why = phase, until, why
        for name, value in news.items():
            setattr(holder, name, value)
        supervisor.say(self._custody.loop, holder)
