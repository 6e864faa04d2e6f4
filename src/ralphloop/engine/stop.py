"""One stop of a loop: find the loop, decide under its lock, write that down, then do what follows from it."""

from __future__ import annotations

import time

from ralphloop import errors
from ralphloop.domain.decide import decide
from ralphloop.domain.limits import client_cap
from ralphloop.domain.model import (
    ARMED,
    CAP_VARIABLE,
    COMPLETE,
    ENDED,
    EXECUTION,
    RUNNING,
    SET_BACK,
    STALLED,
    status_word,
)
from ralphloop.domain.situation import Decision, Situation
from ralphloop.engine import find
from ralphloop.engine.words import command, words_for
from ralphloop.store import tasks
from ralphloop.store.loop import CANCEL, iso, obey
from ralphloop.tasklists.registry import own_file, traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Protocol, Union

    from ralphloop.domain.limits import Spent
    from ralphloop.domain.model import LoopState, StopEvent, Turn
    from ralphloop.domain.situation import Need
    from ralphloop.domain.worklist import Worklist
    from ralphloop.proof.prove import Prover
    from ralphloop.store.loop import LoopFiles

    class Recorder(Protocol):
        """Who wants to know of a stop while it is decided: everything is as it was, a round of checks is
        over, the decision is made."""

        def take(self) -> None: ...
        def checked(self, checks: Prover) -> None: ...
        def decided(self, decision: Decision, loop: LoopFiles) -> None: ...


DISK = (5, 13, 27, 28, 30, 122)  # errors of the disk itself: EIO, EACCES, EFBIG, ENOSPC, EROFS, EDQUOT
POINTER = "pointer"  # that it moved was told
LAG_S = 0.6  # the client may write the end of a turn up to this long after it calls the hook


def decision_on(event: StopEvent, call: find.Call) -> Optional[tuple[Decision, LoopFiles]]:
    """Decide, write it down, and do what follows from it; None if this stop is nobody's."""
    return decision_for(event, call, mine=find.held(event, call))


def decision_for(
    event: StopEvent, call: find.Call, *, mine: Optional[LoopFiles], recorder: Optional[Recorder] = None
) -> Optional[tuple[Decision, LoopFiles]]:
    """The same where it is known already which loop the session owns."""
    loop = _loop(mine, event, call)
    if loop is None:
        return None
    now = Stop(event, loop, call=call)
    while True:
        try:
            with loop.lock():
                if recorder is not None:
                    recorder.take()
                decision = now.decide()
                if isinstance(decision, Decision) and decision.writes:
                    _write(now, decision)
        except errors.BusyError:
            loop.journal("busy", session=event.session, by=call.registration)
            return None
        if decision is None:
            return None
        if isinstance(decision, Decision):
            break
        assert now.checks is not None, "a stop that writes plans its checks"
        now.checks.run()
        if recorder is not None:
            recorder.checked(now.checks)
    if recorder is not None:
        recorder.decided(decision, loop)
    _follow_up(now, decision)
    return decision, loop


def loop_of(event: StopEvent, call: find.Call) -> Optional[LoopFiles]:
    """The loop that this stop is about; for a session that owns none, perhaps one that becomes its own."""
    return _loop(find.held(event, call), event, call)


def _loop(mine: Optional[LoopFiles], event: StopEvent, call: find.Call) -> Optional[LoopFiles]:
    if mine is not None:
        return mine if call.serves(mine) else None
    from ralphloop.engine import claim

    return claim.for_stop(event, call)


class Stop:
    """One stop of a loop's owner, read from disk and decided."""

    def __init__(self, event: StopEvent, loop: LoopFiles, *, call: find.Call) -> None:
        self.event = event
        self.loop = loop
        self.call = call
        self.trace: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.claims: list[str] = []
        self.work: Optional[Worklist] = None
        self.checks: Optional[Prover] = None
        # what the loop had come to, and why, before this stop
        self.before: tuple[Optional[str], str] = (None, "")
        self._settled = True
        self._waited = False
        self._restored = False
        self._fault = ""
        self._is_pointed_at = True
        self._spent: Optional[Spent] = None
        self._tried: dict[str, int] = {}  # how often what was set aside

    def decide(self) -> Optional[Union[Decision, Need]]:
        """Ask the rules, do what they need first, ask again. A need that comes back is one for checks, which
        run without the lock: then this is asked once more. None if this stop is not ours to answer."""
        state = self.loop.load()
        if state is None or not self._is_owners(state) or not self._serves(state) or not self._is_enabled():
            return None
        self.before = state.outcome, state.detail
        if not state.stops and self.loop.writes and self.loop.has_baseline:
            from ralphloop.engine.checks import note_surroundings

            note_surroundings(self.loop, self.call.env)
        if state.state == ENDED:
            self.loop.rest(state)
        state.since = min(state.since, iso(time.time()))  # a clock that was put back
        if self.checks is not None and not self._settled:
            self._settled = True
            if state.state != ENDED and not self.loop.request():
                self.checks.settle(state)
            if self.checks.results.trouble:
                self.notes.append("The checks cannot run: %s." % self.checks.results.trouble)
        turn = self._turn(state)
        while True:
            self.trace.clear()
            answer = decide(self._situation(state, turn), self.trace)
            if _blames(answer) and self._lags(turn):
                turn = self._turn(state)
            elif isinstance(answer, Decision):
                return self._finish(answer, turn)
            elif answer.checks and not self.loop.request():
                self._plan(answer, state, turn)
                return answer
            elif self.loop.request() or not self._provide(answer, state):
                return self._finish(Decision(state, rule=answer.rule, writes=False), turn)

    def _plan(self, need: Need, state: LoopState, turn: Turn) -> None:
        """Say what is due, and that this registration is at it: the lock is about to be let go."""
        if not self.loop.writes:
            return
        if self.checks is None:
            from ralphloop.engine.checks import prover

            self.checks = prover(self.loop, self.event, self.call.env)
        self.checks.plan(need.checks, state, same_round=not turn.tools)
        self._settled = False
        self.loop.save(state)

    def _is_owners(self, state: LoopState) -> bool:
        """While checks ran without the lock, the loop may have become another session's."""
        session, is_bound = self.event.session, self.loop.writes  # one that is only explained: on paper
        if session is None or not is_bound or state.owner == session:
            return True
        known = self.loop.shelf.owned_by(session)
        if known is None or known.id != self.loop.record.id:
            return False
        # The record says so, and whoever wrote it was killed before the state did.
        state.owner = session
        if state.state == ARMED:
            state.state, state.seen_at = RUNNING, time.time()
        return True

    def _serves(self, state: LoopState) -> bool:
        """Of two registrations, the one that answers a prompt's first stop answers all of them."""
        key = self.event.prompt or self.event.session or ""
        if state.served[:1] == [key] and state.served[1:] != [self.call.registration]:
            self.trace.append(("served", "allow, silent: another registration answers this prompt"))
            return False
        state.served = [key, self.call.registration]
        return True

    def _is_enabled(self) -> bool:
        """Whether the loop's plugin is not switched off; from now on we know whether a pointer names it."""
        self._is_pointed_at, enabled = find.pointed_at(self.loop.record, self.call.env)
        if not enabled:
            self.trace.append(("enabled", "allow, silent: the plugin is disabled in its settings"))
        return enabled

    def _note_pointer(self, state: LoopState, work: Worklist) -> None:
        """A loop in execution goes on without its pointer, and says so once."""
        if self._is_pointed_at or work.phase != EXECUTION or not (state.live and work.total):
            return
        if POINTER not in state.told:
            state.told = [*state.told, POINTER]
            name, switch = self.loop.record.name, traits(self.loop.record.layout).typed("switch")
            told = "The pointer does not name %s any more; the loop goes on with it. The person leaves it "
            told += "by typing `%s NAME`, or with `%s pause`."
            self.notes.append(told % (name, switch, command(self.call.env)))

    def _turn(self, state: LoopState) -> Turn:
        return self.call.client.read_turn(
            self.event.transcript,
            start=state.transcript_end,
            since=state.since,
            want_reply=self.event.reply is None,
            after_denials=bool(state.denied),
        )

    def _lags(self, turn: Turn) -> bool:
        """Wait once for the rest of the turn, before the agent is blamed for doing nothing."""
        if not turn.readable or self._waited:
            return False
        self._waited = True
        time.sleep(LAG_S)
        return True

    def _situation(self, state: LoopState, turn: Turn) -> Situation:
        now = time.time()
        reading = tasks.read_work(self.loop, state, now=now)
        self.work = reading.work
        self.claims += reading.claimed
        self.notes += reading.notes
        self._fault = reading.fault
        if reading.work is not None and not reading.fault:
            self._note_pointer(state, reading.work)
        words = words_for(self.loop, self.event.cwd, self.call.env)
        unapproved, waits = self.loop.record.unapproved, words.traits.waits_for_approval
        return Situation(
            self.event,
            state.copy(),
            work=reading.work,
            turn=turn,
            limits=self.loop.record.limits,
            words=words,
            now=now,
            files=reading.content or reading.files,
            path=own_file(self.loop.record),
            fault=reading.fault,
            backup=not self._restored and tasks.has_copy(self.loop),
            claims=tuple(self.claims),
            unapproved=unapproved and waits,
            unchecked=unapproved and not waits,
            results=self.checks.results if self.checks is not None else None,
            spent=self._budget(state),
            notes=list(self.notes),
            cap=client_cap(self.call.env.get(CAP_VARIABLE, "")),
            supervision=self.loop.record.supervision,
            fullness=self._fullness(),
            pointed_at=self._is_pointed_at,
            written=reading.work is not None and tasks.is_written(self.loop.record, reading.work),
        )

    def _budget(self, state: LoopState) -> Optional[Spent]:
        """What was spent so far, where a limit on it was set; counted once per stop."""
        if self._spent is None and self.loop.record.limits.budgeted:
            from ralphloop.engine.account import count

            self._spent = count(self.loop, state, self.event.transcript, env=self.call.env)
        return self._spent

    def _fullness(self) -> Optional[float]:
        """How full the context is, where a supervisor wants to know."""
        terms = self.loop.record.supervision
        if terms is None or not terms.context:
            return None
        from ralphloop.engine.account import fullness

        self.call.client.await_reply(self.event.transcript, self.event.reply)  # its usage is what tells
        return fullness(self.event.transcript)

    def _provide(self, need: Need, state: LoopState) -> bool:
        """Do what a decision needs first; False if that cannot be done."""
        path = own_file(self.loop.record)
        if need.restore:
            what = self._fault if self._fault.startswith(SET_BACK) else "was damaged or gone"
            told = "%s %s; the last good copy is back." % (path, what)
            if need.once:
                ends = "`%s cancel` ends the loop, and so does removing the file again."
                told += " " + ends % command(self.call.env)
            self.notes.append(told)
            self._restored = True
            state.restored = state.restored or need.once
            if not self.loop.writes:
                return False
            from ralphloop.store import repair

            try:
                repair.restore(self.loop)
            except OSError as error:
                if error.errno in DISK:
                    raise  # no reason to end the loop: the next stop tries again
                self.notes[-1] = "%s cannot be restored: %s." % (path, error)
        if need.set_aside:
            self._set_aside(need, state)
        return True

    def _set_aside(self, need: Need, state: LoopState) -> None:
        """Whatever comes of it, the rules are not asked about this task again: it may be closed by now."""
        task, why = need.set_aside, need.why
        self._tried[task] = need.tried
        state.refused = [name for name in state.refused if name != task]
        for refusal in self.checks.results.refused if self.checks is not None else ():
            refusal.left_out = refusal.left_out or refusal.task == task
        from ralphloop.engine.amendment import set_aside

        if set_aside(self.loop, state, task, why=why):
            self.notes.append("Task %s is set aside: %s." % (task, why))

    def _finish(self, answer: Decision, turn: Turn) -> Decision:
        answer.loop.transcript_end = turn.end
        answer.loop.stops += 1
        if self._tried:
            answer.loop.attempts.update(self._tried)
            answer.loop.same_replies = answer.loop.empty_replies = 0  # the next task has its own
        answer.loop.handed_over = bool(answer.handover)
        answer.loop.wake, answer.loop.failures = "", 0  # the API answers
        answer.loop.note_transcript(self.event.transcript)
        answer.message = " ".join([*self.notes, answer.message]).strip()
        request, who = self.loop.requested()
        if request and answer.loop.state != ENDED and (answer.writes or request == CANCEL):
            return _on_request(answer, request, who)
        return answer


def _blames(answer: Union[Decision, Need]) -> bool:
    """Whether the agent has done nothing for too long, as far as the transcript tells."""
    return answer.loop.outcome == STALLED if isinstance(answer, Decision) else bool(answer.set_aside)


def _on_request(answer: Decision, request: str, who: str) -> Decision:
    """A cancel or pause that came while this stop was being decided wins over its answer."""
    obey(answer.loop, request, who)
    return Decision(answer.loop, rule="request", status=status_word(answer.loop.outcome))


def _write(now: Stop, decision: Decision) -> None:
    """Put the decision on disk before anybody hears of it."""
    loop, state, event = now.loop, decision.loop, now.event
    if decision.status and now.work is not None:
        _show(now, decision, now.work)
    if decision.blocks:
        loop.save(state)
    else:
        loop.rest(state)
    loop.journal(
        "stop",
        decision="continue" if decision.blocks else "allow",
        rule=decision.rule,
        state=state.state,
        outcome=state.outcome,
        detail=state.detail,
        iteration=state.iteration,
        task=decision.task,
        claimed=now.claims,
        refused=decision.refused,
        proven=now.checks.results.proven if now.checks is not None else [],
        session=event.session,
        prompt=event.prompt,
        active=event.active,
        by=now.call.registration,
    )
    if decision.handover:
        loop.journal("handover", session=event.session, why=decision.handover, task=decision.task)
    said = state.outcome or ("continue with " + decision.task if decision.blocks else state.state)
    who = "session=%s active=%s" % (event.session, event.active)
    loop.log("stop %s iteration=%d: %s" % (who, state.iteration, said))


def _show(now: Stop, decision: Decision, work: Worklist) -> None:
    """Bring the files that people and plugins read up to date."""
    record, state = now.loop.record, decision.loop
    tasks.show(record, state, work, status=decision.status)
    if traits(record.layout).delegates:
        from ralphloop.store import spec_folder

        spec_folder.tidy(record, now=time.time())
        if state.outcome == COMPLETE and work.epic:
            spec_folder.close_epic(record, work.epic)


def _follow_up(now: Stop, decision: Decision) -> None:
    """Tell the person, and commit; the lock is let go."""
    loop, call = now.loop, now.call
    if decision.writes and decision.loop.outcome:
        from ralphloop.engine.announce import announce

        announce(loop, decision.loop, call.env, before=now.before)
    if decision.writes and loop.writes and loop.record.supervision and loop.record.supervision.branch:
        from ralphloop.engine import checks

        checks.commit_closed(loop, now.event, decision=decision, env=call.env)
