"""Goes on with a loop that rests or has ended, for its owner or for another session."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from ralphloop.agents.presence import agent_in
from ralphloop.domain.limits import duration, overspent, task_overspent
from ralphloop.domain.model import BUDGET, LIMIT, Limits, LoopState
from ralphloop.domain.prompt import turns
from ralphloop.domain.supervision import Supervision
from ralphloop.engine import spending
from ralphloop.errors import TakenError, UserError
from ralphloop.loops import allowance
from ralphloop.loops.allowance import checked
from ralphloop.loops.opened import driven_already, locked, must_go_on
from ralphloop.loops.place import Place, is_session, pick, require_person
from ralphloop.loops.result import Result
from ralphloop.store import arming, pins, supervisor, tasks
from ralphloop.store.loop import LoopFiles, iso


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
    given = checked(limits or {}, endless=endless)
    owner = _owner(place, loop, adopt=adopt, wanted=session)
    told = go_on(place, loop, limits=given, owner=owner)
    if given:
        from ralphloop.loops import bounds  # a read model, for nobody else here

        told += bounds.lines(bounds.used_of(place, loop), given)
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
        raise _taken(other.record.id, other.record.name)
    if owner != record.session:
        _hand_over(loop, state, owner)
    anew = way.anew and not agent_in(place.env)
    try:
        arming.take_up(loop, state, limits=dict(way.limits), anew=anew, supervision=way.supervision)
    except TakenError as error:
        raise _taken(error.record.id, error.record.name) from None
    spending.settle(loop, state, env=place.env)
    tasks.show_now(loop, state)


def _check_limits(limits: Mapping[str, float], place: Place, loop: LoopFiles, *, again: str) -> None:
    state = loop.state()
    must_go_on(loop, state)
    higher = allowance.raised(loop.record.limits, dict(limits))
    if higher:
        require_person(place.env, f"a higher limit ({', '.join(higher)})")
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
    spent, most = spending.so_far(loop), Limits.from_json({**loop.record.limits.to_json(), **limits})
    is_over = overspent(spent, most)[0] or task_overspent(spent, state.current, most)[0]
    is_given = bool({"tokens", "cost_usd", "task_tokens", "task_cost_usd"} & set(limits))
    if is_over or not (spent.tokens or is_given):  # or nobody knows how much it was
        raise UserError(
            f"{loop.record.name} has used its budget ({state.detail}); `{again}` "
            "with a higher --max-tokens or --max-cost goes on."
        )


def _owner(place: Place, loop: LoopFiles, *, adopt: bool, wanted: str | None) -> str | None:
    """Who owns the loop from now on: nobody else without `adopt`."""
    if wanted is not None and not is_session(wanted):
        raise UserError(f"{wanted[:40]!r} cannot be a session id; leave it out, or name another.")
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


def _taken(loop_id: str, name: str) -> UserError:
    return UserError(f"another loop is in the way: {loop_id}; `ralphloop cancel {name}` ends it.")


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
