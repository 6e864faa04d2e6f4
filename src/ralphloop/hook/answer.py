"""From a stop's payload to the client's answer: find the loop, decide under its lock, write, then answer."""

from __future__ import annotations

import sys
import time

from ralphloop import errors
from ralphloop.domain.answer import Decision
from ralphloop.domain.model import COMPLETE, FEATURES
from ralphloop.engine import find
from ralphloop.engine.stop import Stop
from ralphloop.hook import wire
from ralphloop.store import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.domain.model import StopEvent
    from ralphloop.domain.worklist import Worklist
    from ralphloop.hook.recording import Tape
    from ralphloop.store.loop import LoopFiles


def stop(payload: Mapping[str, Any], call: find.Call) -> str:
    """The text for the client; empty lets it stop in silence."""
    if wire.is_subagent(payload) or wire.is_foreign(payload, call.env) or wire.is_check(call.env):
        return ""
    event = wire.stop_event(payload, cwd=call.cwd)
    mine = find.held(event, call)
    tape = find.tape(payload, event, call=call, mine=mine)
    said, aside = None, ""
    try:
        said, aside = _respond(event, call, mine=mine, tape=tape)
    finally:
        if tape is not None:
            tape.keep(said, aside)
    if aside and sys.stderr is not None:
        sys.stderr.write(aside + "\n")
    return said


def _respond(
    event: StopEvent, call: find.Call, *, mine: Optional[LoopFiles], tape: Optional[Tape]
) -> tuple[str, str]:
    """What goes to stdout, and what to stderr."""
    try:
        decided = _decided(event, call, mine=mine, tape=tape)
    except OSError as error:
        return wire.notice("ralphloop: cannot write (%s), so the stop is allowed." % error), ""
    except errors.BusyError:
        return wire.notice("ralphloop: others were at work here for too long, so the stop is allowed."), ""
    if decided is None:
        return "", ""
    decision, loop = decided
    return wire.answer(decision, as_context=loop.record.continue_with == "context"), decision.stderr


def loop_of(event: StopEvent, call: find.Call) -> Optional[LoopFiles]:
    """The loop that this stop is about; for a session that owns none, perhaps one that becomes its own."""
    return _loop(find.held(event, call), event, call)


def _loop(mine: Optional[LoopFiles], event: StopEvent, call: find.Call) -> Optional[LoopFiles]:
    if mine is not None:
        return mine if call.serves(mine) else None
    from ralphloop.engine import claim

    return claim.for_stop(event, call)


def decision_on(event: StopEvent, call: find.Call) -> Optional[tuple[Decision, LoopFiles]]:
    """Decide, write it down, and do what follows from it; None if this stop is nobody's."""
    return _decided(event, call, mine=find.held(event, call))


def _decided(
    event: StopEvent, call: find.Call, *, mine: Optional[LoopFiles], tape: Optional[Tape] = None
) -> Optional[tuple[Decision, LoopFiles]]:
    loop = _loop(mine, event, call)
    if loop is None:
        return None
    now = Stop(event, loop, call=call)
    while True:
        try:
            with loop.lock():
                if tape is not None:
                    tape.take()
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
        if tape is not None:
            tape.checked(now.checks)
    if tape is not None:
        tape.decided(decision, loop)
    _follow_up(now, decision)
    return decision, loop


def _follow_up(now: Stop, decision: Decision) -> None:
    """Tell the person, and commit; the lock is let go."""
    loop, call = now.loop, now.call
    if decision.writes and decision.loop.outcome:
        from ralphloop.engine.announce import announce

        announce(loop, decision.loop, call.env, before=now.before)
    if decision.writes and loop.writes and loop.record.supervision and loop.record.supervision.branch:
        from ralphloop.engine import commits

        commits.make(loop, now.event, decision=decision, env=call.env)


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
    if record.layout != FEATURES:
        from ralphloop.engine import spec_folder

        spec_folder.tidy(record, now=time.time())
        if state.outcome == COMPLETE and work.epic:
            spec_folder.close_epic(record, work.epic)
