"""Pauses, cancels and resumes a loop; what is asked for is written first, so that it holds in a stop, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ralphloop.agents.registry import agent_in
from ralphloop.domain.limits import duration, overspent, task_overspent, tick
from ralphloop.domain.model import (
    BUDGET,
    CANCELLED,
    COMPLETE,
    ENDED,
    INTERRUPTED,
    LIMIT,
    NEEDS_APPROVAL,
    PAUSED,
    RATE_LIMITED,
    Limits,
    LoopState,
    Supervision,
)
from ralphloop.domain.prompt import turns
from ralphloop.domain.table import BUDGETS
from ralphloop.engine import account
from ralphloop.errors import BusyError, TakenError, UserError
from ralphloop.loops import bounds, setup
from ralphloop.loops.opened import WAIT_S, driven_already, locked, must_go_on
from ralphloop.loops.place import Place, must_be_session, pick
from ralphloop.loops.result import Result, Tell
from ralphloop.loops.run_terms import RunWish
from ralphloop.proof.approval import waiting
from ralphloop.store import arming, disk, pins, supervisor, tasks
from ralphloop.store.loop import CANCEL, PAUSE, PERSON, LoopFiles, iso, obey
from ralphloop.store.shelf import Record


def pause(place: Place, name: str | None = None) -> Result:
    """Let the agent stop at the end of its turn, until somebody resumes the loop."""
    loop = pick(place, name, live=True)
    name, state = loop.record.name, loop.state()
    is_driven = supervisor.is_held(loop)
    again = f"ralphloop {'resume' if loop.record.supervision is None or is_driven else 'run'} {name}"
    if state.state == ENDED:
        raise UserError(f"{name} has ended ({state.outcome}); there is nothing to pause.")
    supervisor.forget(loop)
    if state.state == PAUSED and state.outcome == INTERRUPTED:
        return _halted(loop, f"{name} is paused already; `{again}` goes on.")
    if is_driven:
        ask_for(loop, PAUSE, place)  # it rests once the turn, its claims and its spending are counted
        return _halted(loop, f"{name} pauses at the end of this turn; `{again}` goes on.")
    if not halt(loop, PAUSE, place=place, is_late=lambda state: state.state == ENDED):
        return _halted(loop, held_later(loop, PAUSE))
    return _halted(loop, f"{name} is paused. The agent stops at the end of its turn; `{again}` goes on.")


def cancel(place: Place, name: str | None = None) -> Result:
    """End the loop for good; its task list stays."""
    loop = pick(place, name)
    name, state = loop.record.name, loop.state()
    if state.state == ENDED and state.outcome in (CANCELLED, COMPLETE):
        _lay_to_rest(loop)
        return _halted(loop, f"{name} is {state.outcome} already; nothing to cancel.")
    if not halt(loop, CANCEL, place=place):
        return _halted(loop, held_later(loop, CANCEL))
    when = "" if supervisor.is_held(loop) else " at the end of its turn"
    return _halted(loop, f"{name} is cancelled. The agent stops{when}; the task list stays.")


def ask_for(loop: LoopFiles, request: str, place: Place) -> str:
    """Leave the request for whoever decides next; who it is from."""
    client = agent_in(place.env)
    who = f"a command in {client}" if client else PERSON
    loop.ask_for(request, by=who)
    return who


def halt(
    loop: LoopFiles, request: str, *, place: Place, is_late: Callable[[LoopState], bool] = lambda _: False
) -> bool:
    """Ask for it, then write it down if it is not too late; False if it can only hold at the next stop."""
    loop.load()  # an error where a newer version wrote it: that is nobody's to change here
    who = ask_for(loop, request, place)
    try:
        with loop.lock(wait_s=WAIT_S):
            state = loop.state()
            if not is_late(state):
                obey(state, request, who)
            tasks.show_now(loop, state)
            loop.rest(state)
            loop.journal(request, outcome=state.outcome, detail=state.detail, session=place.session)
    except BusyError:
        return False
    except OSError as error:
        told = f"the {request} is asked for and holds at the next stop, but {disk.sentence(error)}"
        raise UserError(f"{told}.") from None
    return True


def held_later(loop: LoopFiles, request: str) -> str:
    return f"A stop of {loop.record.name} is being decided; the {request} holds when it is answered."


def _lay_to_rest(loop: LoopFiles) -> None:
    """A loop whose end was killed half-way, or found the project busy, still has its record."""
    if any(record.id == loop.record.id for record in arming.under_way(loop.shelf)):
        with locked(loop):
            loop.rest(loop.state())


def _halted(loop: LoopFiles, told: str) -> Result:
    state = loop.state()
    facts = {"id": loop.record.id, "name": loop.record.name, "state": state.state, "outcome": state.outcome}
    return Result({**facts, "requested": loop.request() or None}, (told,))


def resume(
    place: Place,
    name: str | None = None,
    *,
    limits: Mapping[str, float] | None = None,
    endless: bool = False,
    adopt: bool = False,
    session: str | None = None,
) -> Result:
    """Go on; `limits` replace those of the same name (`endless` where no limit of turns is meant), `adopt`
    takes the loop over for another session."""
    loop = pick(place, name)
    if (adopt or session) and supervisor.is_held(loop):
        raise driven_already(loop)
    given = bounds.checked(limits or {}, endless=endless)
    owner = _owner(place, loop, adopt=adopt, wanted=session)
    told = go_on(place, loop, limits=given, owner=owner)
    setup.record_again(place)
    if given:
        told += bounds.used_lines(bounds.used_of(place, loop), given)
    state = loop.state()
    facts = {"id": loop.record.id, "name": loop.record.name, "state": state.state, "owner": state.owner}
    return Result(facts, tuple(told))


def go_on(place: Place, loop: LoopFiles, *, limits: Mapping[str, float], owner: str | None) -> list[str]:
    """Take up a loop that rests, for this session; limits that are not given stay. What there is to say."""
    state, record = loop.state(), loop.record
    if state.live and owner == record.session and not limits and not loop.request():
        return [_already(loop, state)]
    # What a supervisor drove stays its own, unless another session takes it over.
    terms = record.supervision if owner == record.session else None
    with locked(loop):
        take_up(place, loop, Way(limits, owner, f"ralphloop resume {record.name}", terms))
    told = [_told(place, loop)]
    if pins.has_edits(loop):
        how = f"run `ralphloop approve {record.name}` to keep your changes, or the next stop puts them back"
        told.append(f"! The list has other criteria than it began with: {how}.")
    return told


class Way(NamedTuple):
    """How a loop is taken up again."""

    limits: Mapping[str, float]
    owner: str | None
    again: str  # the command, for an error that says what to add to it
    supervision: Supervision | None = None
    anew: bool = True  # in a new window of time, with new attempts


def take_up(place: Place, loop: LoopFiles, way: Way) -> None:
    """Without a word, and under the loop's lock; an error says why it cannot go on."""
    _check_limits(way.limits, place, loop, again=way.again)
    state, record, owner = loop.state(), loop.record, way.owner
    other = place.owned_by(owner) if owner else None
    if other is not None and other.record.id != record.id and not other.is_over:
        raise _taken(other.record)
    if owner != record.session:
        _hand_over(loop, state, owner)
    anew = way.anew and not agent_in(place.env)
    try:
        arming.take_up(loop, state, limits=dict(way.limits), anew=anew, supervision=way.supervision)
    except TakenError as error:
        raise _taken(error.record) from None
    account.settle(loop, state, env=place.env)
    tasks.show_now(loop, state)


def drive_on(place: Place, loop: LoopFiles, wish: RunWish, *, told: Tell) -> None:
    """Take up for a supervisor a loop that rests or that nobody drives; one that waits for a reset goes on
    waiting."""
    with locked(loop):
        loop.record = loop.shelf.fresh(loop.record)
        if supervisor.is_held(loop):
            raise driven_already(loop)
        _count_until_killed(loop)
        state, record = loop.state(), loop.record
        limits = bounds.checked(wish.limits, endless=wish.endless)
        _must_be_ours(loop, state, adopt=wish.adopt)
        if state.outcome == RATE_LIMITED and not limits:
            return
        driven = record.supervision or Supervision()
        again = f"ralphloop run {record.name}"
        anew = wish.anew and not state.live
        take_up(place, loop, Way(limits, record.session, again, driven, anew=anew))
    told(goes_on(loop, anew=anew and not agent_in(place.env)) + ".")


def _count_until_killed(loop: LoopFiles) -> None:
    """The running time of a supervisor that was killed, up to its last sign of life."""
    state, beat = loop.state(), supervisor.last_beat(loop, supervisor.last(loop))
    if state.live and beat is not None and beat > state.seen_at:
        tick(state, beat)
        loop.save(state)


def _must_be_ours(loop: LoopFiles, state: LoopState, *, adopt: bool) -> None:
    record = loop.record
    if state.live and record.session and record.supervision is None and not adopt:
        raise UserError(
            f"{record.name} belongs to session {record.session}; `ralphloop run {record.name} --adopt` "
            "takes it over, and that session may stop then."
        )
    if state.outcome == NEEDS_APPROVAL and waiting(loop):
        raise UserError(f"{record.name} waits for your approval: `ralphloop approve {record.name}` first.")


def _check_limits(limits: Mapping[str, float], place: Place, loop: LoopFiles, *, again: str) -> None:
    state = loop.state()
    must_go_on(loop, state)
    bounds.must_be_persons(place, loop.record.limits, limits)
    _check_budget(limits, loop, state, again=again)
    new = limits.get("iterations")
    most = int(loop.record.limits.iterations if new is None else new)
    if state.iteration < most or (new is None and state.outcome != LIMIT):
        return
    least = state.iteration + 1
    raise UserError(
        f"{loop.record.name} has used {state.iteration} of {most} iterations; "
        f"`{again} --max-iterations N` goes on, N at least {least}."
    )


def _check_budget(limits: Mapping[str, float], loop: LoopFiles, state: LoopState, *, again: str) -> None:
    """A budget that is used up ends the loop again at its next stop; the person may have raised it."""
    if state.outcome != BUDGET:
        return
    spent, most = account.so_far(loop), Limits.from_json({**loop.record.limits.to_json(), **limits})
    is_over = overspent(spent, most)[0] or task_overspent(spent, state.current, most)[0]
    is_given = any(name in limits for name in BUDGETS)
    if is_over or not (spent.tokens or is_given):  # or nobody knows how much it was
        raise UserError(
            f"{loop.record.name} has used its budget ({state.detail}); `{again}` "
            "with a higher --max-tokens or --max-cost goes on."
        )


def _owner(place: Place, loop: LoopFiles, *, adopt: bool, wanted: str | None) -> str | None:
    """Who owns the loop from now on: nobody else without `adopt`."""
    must_be_session(wanted)
    known: str | None = loop.record.session
    if adopt:
        return wanted or place.session
    if wanted and known and wanted != known:
        raise UserError(f"{loop.record.name} belongs to session {known}; add --adopt to take it over.")
    return wanted or known


def _hand_over(loop: LoopFiles, state: LoopState, owner: str | None) -> None:
    loop.journal("adopt", before=loop.record.session, session=owner)
    loop.record.session = state.owner = owner
    if owner is None:
        loop.record.armed_at = iso(time.time())  # sessions that began before do not count as the next one
    # the new owner's transcript is another file
    state.transcript_end, state.served, state.reply = 0, [], ""


def _already(loop: LoopFiles, state: LoopState) -> str:
    name = loop.record.name
    if loop.record.supervision is not None and not supervisor.is_held(loop):
        return f"{name} is {state.state}, but nobody drives it: `ralphloop run {name}` goes on."
    gone = f"if its session is gone, `ralphloop resume {name} --adopt` takes it over."
    return f"{name} is {state.state} already; {gone}"


def _taken(record: Record) -> UserError:
    return UserError(f"another loop is in the way: {record.id}; `ralphloop cancel {record.name}` ends it.")


def goes_on(loop: LoopFiles, *, anew: bool) -> str:
    """`shop goes on (iteration 3 of 15) with a new window of 8 h 00 min`."""
    limits = loop.record.limits
    turn = "iteration " + turns(loop.state().iteration, limits.iterations, " of ")
    window = f" with a new window of {duration(limits.time_s)}" if anew else ""
    return f"{loop.record.name} goes on ({turn}){window}"


def _told(place: Place, loop: LoopFiles) -> str:
    name, owner = loop.record.name, loop.record.session
    told = goes_on(loop, anew=not agent_in(place.env))
    if not owner:
        return f"{told} in the next session started here, or that gets its prompt."
    if loop.record.supervision is not None:
        drives = "its supervisor begins the next session." if supervisor.is_held(loop) else ""
        return f"{told}: " + (drives or f"`ralphloop run {name}` drives it.")
    if place.session == owner:
        return f"{told}: its next task comes when this turn ends."
    told += f": send session {owner} any message."
    if place.session:
        told += f" `ralphloop resume {name} --adopt` takes it over for this session instead."
    return told
