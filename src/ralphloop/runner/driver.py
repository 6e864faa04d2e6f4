"""Drives a loop through fresh sessions until it rests or ends: begin a session, watch it, judge it, go on."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from ralphloop.agents.registry import client
from ralphloop.domain.model import BUDGET, COMPLETE, INTERRUPTED, LIMIT, RATE_LIMITED
from ralphloop.errors import AgentStartError, GuardianLostError
from ralphloop.proof import commit
from ralphloop.proof.mask import mask, secrets, spellings
from ralphloop.runner import agent_session, boot, control, judge
from ralphloop.runner.agent_process import Ending, end_strays
from ralphloop.runner.agent_session import Drive
from ralphloop.runner.control import Control, Deadline
from ralphloop.runner.judge import Pace, Session, Trouble, Verdict
from ralphloop.runner.loop_access import Begun, LoopAccess
from ralphloop.runner.pipe import Pipe, write_all
from ralphloop.runner.session_terms import Terms
from ralphloop.store import supervisor
from ralphloop.store.loop import LoopFiles
from ralphloop.store.supervisor import Holder


def supervise(loop: LoopFiles, terms: Terms, control_: Control, *, cwd: str, env: Mapping[str, str]) -> None:
    """Under the supervisor's lock: drive the loop until it rests or ends."""
    supervisor.beat(loop)  # what stands there is another's last word, perhaps of yesterday
    commit.forget_left(loop)
    end_strays(loop.kept)  # of a supervisor before this one; two agents must not work at once
    access = LoopAccess(loop, terms, cwd=cwd, env=agent_session.environment(env))
    Supervisor(access, control_).run()
    if terms.branch:
        if loop.state().outcome == COMPLETE:  # no stop follows, and no other run as a rule
            access.commit(patiently=True)
        commit.keep_list(loop, branch=terms.branch, cwd=cwd, env=access.env)
        commit.note_left(loop, cwd=cwd, env=env)


class Supervisor:
    def __init__(self, access: LoopAccess, control_: Control) -> None:
        self._access = access
        self._control = control_
        self._terms = access.terms
        self._client = client(access.terms.agent)
        self._pace = Pace(margin_s=self._terms.margin_s, backoff_s=self._terms.backoff_s)
        self._trouble = Trouble()
        self._holder = Holder(
            pid=os.getpid(),
            since=time.time(),
            number=supervisor.last(access.loop).number,  # sessions are counted through all runs of a loop
            boot=boot.identity(),
            cwd=access.cwd,
            owes=True,
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
        is_wanted = not self._access.loop.request() and self._holder.phase != supervisor.PAUSED
        if verdict.outcome:
            self._access.finish(verdict.outcome, verdict.why)
        self._leave(is_wanted)

    def _leave(self, is_wanted: bool) -> None:
        """Only of a supervisor that was killed, or told to end while the loop was to go on, it stays written
        that it was driving."""
        self._control.take()  # where the command that started us was told first
        self._holder.told_to_end = self._control.is_terminated and is_wanted
        self._holder.boot = self._holder.boot if self._holder.told_to_end else ""
        supervisor.say(self._access.loop, self._holder)

    def _first(self) -> Verdict:
        """A loop that waits for a reset goes on waiting."""
        state = self._access.state()
        if state.outcome == RATE_LIMITED:
            return Verdict(judge.WAIT, state.detail, until=state.resume_at or 0.0)
        return Verdict(judge.NEXT)

    def _session(self) -> Verdict:
        begun = self._access.begin(self._holder.number + 1)
        if begun is None:
            settled = self._settle()
            if isinstance(settled, Verdict):
                return settled
            begun = self._access.begin(self._holder.number + 1, reason=settled) if settled else None
        if begun is None:
            return self._judge(Session(Ending(None, None, ""), cut=judge.NO_WORK))
        self._holder.number += 1
        self._say(supervisor.WORKING, session=begun.session, model=begun.model, task=begun.task)
        began = time.monotonic()
        session = judge.masked(self._watch(begun), self._hide, now=time.time())
        self._access.commit()
        state = self._access.state()
        session = session._replace(stops=state.stops, handed_over=state.handed_over, task=begun.task)
        verdict = self._judge(session)
        self._access.ended(
            begun, session, number=self._holder.number, verdict=verdict, duration_s=time.monotonic() - began
        )
        overspent = self._access.account(begun)
        if verdict.outcome == BUDGET and not overspent and self._access.has_more_dollars(begun):
            verdict = Verdict(judge.NEXT, "the person raised the limit of dollars")
        return self._within_limits(verdict, overspent)

    def _within_limits(self, verdict: Verdict, overspent: str) -> Verdict:
        """What the hook would have noticed at a stop that never came."""
        if verdict.kind not in (judge.NEXT, judge.WAIT):
            return verdict
        if overspent:
            return Verdict(judge.END, overspent, outcome=BUDGET)
        if verdict.tried and self._access.out_of_turns():
            return Verdict(judge.END, f"no iteration is left; {verdict.why}", outcome=LIMIT)
        return verdict

    def _settle(self) -> str | Verdict:
        """Nothing can be worked on: the rules say what that means, without a session to be told so. They may
        run checks, which the person can end."""
        if not self._access.is_live:
            return ""
        self._say(supervisor.CHECKING)
        aside = Aside(self._access.settle)
        try:
            while (told := aside.take()) is None:
                _, ended = self._heard(aside.handles())
                if ended is not None:
                    return ended
            return told
        finally:
            aside.end()

    def _watch(self, begun: Begun) -> Session:
        try:
            process = agent_session.start(begun, self._access, self._client)
        except AgentStartError as error:
            cut = "" if isinstance(error, GuardianLostError) else judge.NO_START
            return Session(Ending(None, None, str(error)), cut=cut)
        parse = self._client.program.parse
        return Drive(process, self._control, access=self._access, begun=begun, parse=parse).run()

    def _judge(self, session: Session) -> Verdict:
        state = self._access.state()
        verdict = judge.judge(session, state, trouble=self._trouble, pace=self._pace, now=time.time())
        if verdict.hopeless and self._access.set_aside(verdict.hopeless, verdict.why):
            verdict = Verdict(judge.NEXT, verdict.why, tried=True, trouble=verdict.trouble)
        self._trouble = verdict.trouble
        return verdict

    def _wait(self, verdict: Verdict) -> Verdict:
        """Until the time has come, the person skips the wait, or the loop is paused or ended meanwhile."""
        outage = not verdict.tried
        self._access.wait(verdict, outage=outage)
        self._say(supervisor.RESTING, until=verdict.until, why=verdict.why)
        deadline = Deadline(max(0.0, verdict.until - time.time()))
        while not deadline.is_over():
            said, ended = self._heard(seconds=min(control.STEP_S, deadline.left()))
            if ended is not None:
                return ended._replace(outcome="") if outage else ended
            if supervisor.PAUSE in said:
                self._access.ask_to_pause()
            if supervisor.SKIP_TASK in said:
                self._access.skip()
            if supervisor.SKIP_WAIT in said or self._access.is_disturbed(outage=outage):
                break
        return self._after(self._access.go_on())

    def _rest(self, verdict: Verdict) -> Verdict:
        """Paused: whoever is at the terminal may go on; without anybody there this run is over."""
        self._say(supervisor.PAUSED, why=verdict.why)
        while self._terms.stays and not self._control.detached:
            said, ended = self._heard()
            if ended is not None:
                return ended
            resume_at = self._access.state().resume_at or 0.0
            if supervisor.GO in said or supervisor.PAUSE in said:
                self._access.take_up()
            state = self._access.state()
            if state.live and resume_at > time.time():
                return Verdict(judge.WAIT, "the rate limit is not over", until=resume_at)
            if state.live or state.outcome != INTERRUPTED:
                return self._after(state.live)
        return Verdict(judge.END, verdict.why)

    def _after(self, goes_on: bool) -> Verdict:
        if goes_on:
            return Verdict(judge.NEXT)
        state = self._access.state()
        rests = state.outcome == INTERRUPTED
        return Verdict(judge.REST if rests else judge.END, state.detail)

    def _heard(
        self, others: Iterable[int] = (), *, seconds: float = control.STEP_S
    ) -> tuple[list[str], Verdict | None]:
        """What was said while this waited, and the end that it means."""
        self._control.wait(others, seconds=seconds)
        said = self._control.take()
        if supervisor.INTERRUPT in said or supervisor.KILL in said:
            return said, judge.INTERRUPTED_BY_PERSON
        return said, judge.LEFT_ALONE if control.GONE in said else None

    def _say(self, phase: str, *, until: float = 0.0, why: str = "", **news: str) -> None:
        """What this process is at; of the last session what is not new stays."""
        holder = self._holder
        holder.phase, holder.until, holder.why = phase, until, why
        for name, value in news.items():
            setattr(holder, name, value)
        supervisor.say(self._access.loop, holder)


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
        write_all(writing, work().encode("utf-8", "replace"))
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()  # into the supervisor's log
        sys.stderr.flush()
        os._exit(0)
