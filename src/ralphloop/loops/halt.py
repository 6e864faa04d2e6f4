"""A pause or a cancel: the request is written first, so that it holds even during a stop."""

from __future__ import annotations

from collections.abc import Callable

from ralphloop.agents.presence import agent_in
from ralphloop.domain.model import CANCELLED, COMPLETE, ENDED, INTERRUPTED, PAUSED, LoopState
from ralphloop.errors import BusyError, UserError
from ralphloop.loops.opened import WAIT_S, locked
from ralphloop.loops.place import Place, pick
from ralphloop.loops.result import Result
from ralphloop.store import arming, disk, supervisor, tasks
from ralphloop.store.loop import CANCEL, PAUSE, PERSON, LoopFiles, obey


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
        return _result(loop, f"{name} is paused already; `{again}` goes on.")
    if is_driven:
        ask_for(loop, PAUSE, place)  # it rests once the turn, its claims and its spending are counted
        return _result(loop, f"{name} pauses at the end of this turn; `{again}` goes on.")
    if not halt(loop, PAUSE, place=place, is_late=lambda state: state.state == ENDED):
        return _result(loop, held_later(loop, PAUSE))
    return _result(loop, f"{name} is paused. The agent stops at the end of its turn; `{again}` goes on.")


def cancel(place: Place, name: str | None = None) -> Result:
    """End the loop for good; its task list stays."""
    loop = pick(place, name)
    name, state = loop.record.name, loop.state()
    if state.state == ENDED and state.outcome in (CANCELLED, COMPLETE):
        _lay_to_rest(loop)
        return _result(loop, f"{name} is {state.outcome} already; nothing to cancel.")
    if not halt(loop, CANCEL, place=place):
        return _result(loop, held_later(loop, CANCEL))
    when = "" if supervisor.is_held(loop) else " at the end of its turn"
    return _result(loop, f"{name} is cancelled. The agent stops{when}; the task list stays.")


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


def _result(loop: LoopFiles, told: str) -> Result:
    state = loop.state()
    facts = {"id": loop.record.id, "name": loop.record.name, "state": state.state, "outcome": state.outcome}
    return Result({**facts, "requested": loop.request() or None}, (told,))
