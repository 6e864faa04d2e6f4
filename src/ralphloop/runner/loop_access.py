"""A loop while a supervisor has charge of it: every change of its state between two sessions, and the text
that the next one begins with."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ralphloop.agents.registry import client
from ralphloop.domain import limits, prompt, table
from ralphloop.domain.ledger import name_tasks
from ralphloop.domain.model import (
    ENDED,
    FINAL,
    INTERRUPTED,
    PAUSED,
    RATE_LIMITED,
    REGISTRATION,
    Limits,
    LoopState,
    StopEvent,
    Supervision,
)
from ralphloop.domain.prompt import Words
from ralphloop.engine import account, find
from ralphloop.engine.amendment import leave_out, set_aside
from ralphloop.engine.stop import decision_on
from ralphloop.engine.words import words_for
from ralphloop.errors import BusyError
from ralphloop.proof import commit
from ralphloop.runner.judge import Session, Verdict
from ralphloop.runner.session_terms import Terms
from ralphloop.store import arming, files, tasks
from ralphloop.store.loop import PAUSE, LoopFiles, iso, obey
from ralphloop.store.tasks import Reading, is_written
from ralphloop.tasklists.registry import LAYOUTS

LOCK_S = 60.0  # a stop holds the lock for moments, and nobody waits for us
SKIP_S = 3.0  # but who skips a task waits
PROMPT_MAX = 1_000_000


class Begun(NamedTuple):
    """A session that is recorded as the loop's owner and not yet started."""

    session: str
    model: str
    task: str
    prompt: str
    time_left_s: float
    limits: Limits  # as they were then


class LoopAccess:
    """The folder and the environment are those of the sessions."""

    def __init__(self, loop: LoopFiles, terms: Terms, *, cwd: str, env: Mapping[str, str]) -> None:
        self.loop = loop
        self.terms = terms
        self.cwd = cwd
        self.env = env
        self._first = terms.session

    def state(self) -> LoopState:
        state = self.loop.load()
        if state is None:
            raise OSError(f"the state of {self.loop.record.name} cannot be read")
        return state

    @contextmanager
    def _locked(self) -> Iterator[LoopState]:
        with self.loop.lock(wait_s=LOCK_S):
            yield self.state()

    @property
    def is_live(self) -> bool:
        """Whether the loop goes on, as far as anybody has said until now."""
        return self.state().live and not self.loop.request()

    def begin(self, number: int, *, reason: str = "") -> Begun | None:
        """Make a new session the owner; None if the loop rests, or nothing in it can be worked on. `reason`
        is a text that the rules have sent already."""
        loop = self.loop
        with loop.lock(wait_s=LOCK_S):
            # limits and approvals may have changed
            loop.record = loop.shelf.fresh(loop.record)
            state = self.state()
            if not self._goes_on(state) or self._is_overspent(state):
                return None
            reading = tasks.read_work(loop, state, now=time.time())
            work = reading.work
            if not reason and (work is None or (work.phase == "execution" and not work.next)):
                loop.save(state)
                return None
            terms = self._supervision(work.next[0].model if work is not None and work.next else "")
            loop.record.supervision = terms
            text = reason or opening(loop, state, reading, cwd=self.cwd, env=self.env)
            given = [item.id for item in work.next] if work is not None else []
            session, self._first = self._first or str(uuid.uuid4()), ""
            state.current = given[0] if given else state.current
            arming.hand_on(loop, state, session=session, terms=terms, batch=given)
            begun = Begun(
                session, terms.model, state.current, text, self._time_left_s(state), loop.record.limits
            )
            loop.journal("session", session=session, number=number, model=terms.model, task=state.current)
            if loop.record.limits.budgeted:
                account.go_on(loop, state)
        return begun

    def _is_overspent(self, state: LoopState) -> bool:
        """Whether a session that was killed has used up the budget; then the loop ends here."""
        if not self.loop.record.limits.budgeted:
            return False
        spent = account.settle(self.loop, state, env=self.env)
        outcome, detail = limits.overspent(spent, self.loop.record.limits)
        if outcome:
            self._close(state, ENDED, outcome, detail)
            self.loop.journal("run_end", outcome=outcome, detail=detail)
        return bool(outcome)

    def _goes_on(self, state: LoopState) -> bool:
        """Whether the loop is under way, once a cancel or pause that somebody asked for has been obeyed."""
        request, who = self.loop.requested()
        if request and state.state != ENDED:
            limits.tick(state, time.time())
            obey(state, request, who)
            self._let_rest(state)
        return state.live

    def _supervision(self, model: str) -> Supervision:
        terms = self.terms
        return Supervision(
            batch=terms.batch,
            branch=terms.branch,
            context=terms.context,
            model=model or terms.model,
            usual_model=terms.model,
        )

    def _time_left_s(self, state: LoopState) -> float:
        """Waits do not count: the state says since when the loop is running."""
        used = state.elapsed_s + (max(0.0, time.time() - state.seen_at) if state.seen_at else 0.0)
        return max(0.0, self.loop.record.limits.time_s - used)

    def more_time_s(self, begun: Begun) -> float:
        """How much the person has added since the session began."""
        return self.loop.shelf.fresh(self.loop.record).limits.time_s - begun.limits.time_s

    def has_more_dollars(self, begun: Begun) -> bool:
        """Whether the person has added some since the session began: its client knows the old limit only."""
        return self.loop.record.limits.cost_usd > begun.limits.cost_usd > 0

    def ended(
        self, begun: Begun, session: Session, *, number: int, verdict: Verdict, duration_s: float
    ) -> None:
        """Write down how the session ended, and count what counts."""
        result = session.result
        with self._locked() as state:
            if verdict.tried and state.live:
                state.iteration += 1
                task = state.current or begun.task
                state.attempts[task] = state.attempts.get(task, 0) + 1
                self.loop.save(state, durable=True)
            self.loop.journal(
                "session_end",
                session=begun.session,
                number=number,
                code=session.ending.code,
                signal=session.ending.signal,
                reason=session.cut or (result.terminal_reason if result else ""),
                error=result.is_error if result else None,
                cost_usd=result.cost_usd if result else None,
                tokens=result.tokens if result else None,
                duration_s=round(duration_s, 3),
                verdict=verdict.kind,
                detail=verdict.why,
            )

    def out_of_turns(self) -> bool:
        """Whether sessions that never came to a stop have used up the iterations."""
        return self.state().iteration > self.loop.record.limits.iterations

    def settle(self) -> str:
        """Ask the rules without a session: what they send on, or nothing."""
        event = StopEvent(session=self.loop.record.session, cwd=self.cwd, prompt=str(uuid.uuid4()))
        call = find.Call(registration=REGISTRATION, layouts=LAYOUTS, env=self.env, cwd=self.cwd)
        decided = decision_on(event, call)
        return decided[0].reason if decided is not None and decided[0].blocks else ""

    def commit(self, *, patiently: bool = False) -> None:
        """What was closed and is not committed yet, where commits are wanted: a hook that was killed has not
        done it."""
        catch_up = commit.catch_up_patiently if patiently else commit.catch_up
        with suppress(BusyError):  # the next session's end, or the next run, tries again
            catch_up(self.loop, cwd=self.cwd, env=self.env)

    def account(self, begun: Begun) -> str:
        """Count what a session spent, with or without a stop; why the budget is used up, or nothing."""
        loop = self.loop
        with loop.lock():
            loop.record = loop.shelf.fresh(loop.record)
            state = loop.state()
            path = client(self.terms.agent).usage.transcript_of(
                begun.session, root=loop.record.root, known=state.transcripts, env=self.env
            )
            if path and path not in state.transcripts:
                state.note_transcript(path)
                loop.save(state)
            if not loop.record.limits.budgeted:
                return ""
            spent = account.settle(loop, state, env=self.env)
            return limits.overspent(spent, loop.record.limits)[1]

    def skip(self) -> bool:
        """The person at the view leaves the task at hand out; False if that cannot be done now, which they
        see."""
        loop = self.loop
        with suppress(BusyError), loop.lock(wait_s=SKIP_S):
            state, ledger = loop.state(), loop.load_ledger()
            try:
                listed = tasks.parse_source(loop.record)
            except (ValueError, OSError):
                return False
            name_tasks(listed, ledger)
            ids = [item.id for item in listed.tasks]
            if state.outcome not in FINAL and state.current in ids:
                return leave_out(loop, ids.index(state.current), state=state, ledger=ledger, listed=listed)
        return False

    def set_aside(self, task: str, why: str) -> bool:
        """Go on without a task at which every session breaks off; False if no other can run."""
        with self._locked() as state:
            work = tasks.read_work(self.loop, state, now=time.time()).work
            can_go_on = state.live and work is not None and not work.sequential and work.ready > 1
            if can_go_on and set_aside(self.loop, state, task, why=why):
                return True
            self.loop.save(state)
        return False

    def wait(self, verdict: Verdict, *, outage: bool) -> None:
        """The loop rests until then; after an outage its state says so, and the time does not count."""
        with self._locked() as state:
            if outage and state.live:
                state.resume_at = verdict.until
                self._close(state, PAUSED, RATE_LIMITED, verdict.why)
            self.loop.journal("wait", until=iso(verdict.until), why=verdict.why)

    def go_on(self) -> bool:
        """After a wait; False if the loop is over, or somebody paused it meanwhile."""
        with self._locked() as state:
            if state.outcome == RATE_LIMITED and not self.loop.request():
                arming.take_up(self.loop, state, anew=False, supervision=self.loop.record.supervision)
            return self._goes_on(state)

    def take_up(self) -> None:
        """After a pause that the person has ended."""
        with self._locked() as state:
            if state.outcome == INTERRUPTED:
                arming.take_up(self.loop, state, anew=False, supervision=self.loop.record.supervision)

    def is_disturbed(self, *, outage: bool) -> bool:
        """Whether somebody has ended, paused or resumed the loop during a wait."""
        state = self.state()
        return bool(self.loop.request()) or (state.outcome != RATE_LIMITED if outage else not state.live)

    def ask_to_pause(self) -> None:
        self.loop.ask_for(PAUSE)

    def finish(self, outcome: str, detail: str) -> None:
        """Let the loop rest or end with what the supervisor found; what it says itself holds."""
        with self._locked() as state:
            if state.live or (state.outcome == RATE_LIMITED and outcome != RATE_LIMITED):
                self._close(state, table.outcome(outcome).state, outcome, detail)
                self.loop.journal("run_end", outcome=outcome, detail=detail)

    def _close(self, state: LoopState, to: str, outcome: str, detail: str) -> None:
        limits.tick(state, time.time())
        state.state, state.outcome, state.detail = to, outcome, detail
        self._let_rest(state)

    def _let_rest(self, state: LoopState) -> None:
        self.loop.clear_request()
        self.loop.rest(state)
        tasks.show_now(self.loop, state)


def opening(loop: LoopFiles, state: LoopState, reading: Reading, *, cwd: str, env: Mapping[str, str]) -> str:
    """It always begins with words of ours: a file of the project must not be taken for a typed command."""
    words = words_for(loop, cwd, env)
    parts = [_where(loop, words), _own_prompt(loop), state.carry, _task(loop, state, reading, words)]
    return "\n\n".join(part for part in parts if part)


def _where(loop: LoopFiles, words: Words) -> str:
    notes = f" and in {words.notes_path}" if words.notes_path else ""
    return (
        f"This is a fresh session of the loop {prompt.line(loop.record.name, 80)}. What earlier sessions did "
        f"is in the files, in the log of git{notes}. Nobody reads along: work on the task below, claim it, "
        "then stop." + (" Whatever is said below: do not commit, ralphloop does." if words.branch else "")
    )


def _own_prompt(loop: LoopFiles) -> str:
    path = loop.record.paths.get("prompt", "")
    if not path or files.leads_out(path, loop.record.root):  # a link must not send what lies elsewhere
        return ""
    text = (files.read_quietly(path) or "").strip()
    return text if len(text) <= PROMPT_MAX else f"Read {path} first."


def _task(loop: LoopFiles, state: LoopState, reading: Reading, words: Words) -> str:
    work = reading.work
    if work is None:
        return f"Look at {words.list_path} and go on with it."
    if work.phase != "execution":
        return prompt.phase(state, work, written=is_written(loop.record, work), words=words)
    limit = int(loop.record.limits.iterations)
    return prompt.continuation(state, work, limit=limit, words=words, notes=reading.notes)
