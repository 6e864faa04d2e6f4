"""How a person's pause or cancel is written: the request first, so that it holds even during a stop."""

from __future__ import annotations

from collections.abc import Callable

from ralphloop.agents.presence import agent_in
from ralphloop.cli.book import WAIT_S
from ralphloop.cli.here import Here
from ralphloop.cli.output import say
from ralphloop.domain.model import LoopState
from ralphloop.errors import BusyError, UserError
from ralphloop.store import tasks
from ralphloop.store.loop import PERSON, LoopFiles, obey


def ask(loop: LoopFiles, request: str, place: Here) -> str:
    """Leave the request for whoever decides next; who it is from."""
    client = agent_in(place.env)
    who = f"a command in {client}" if client else PERSON
    loop.ask_for(request, by=who)
    return who


def halt(
    loop: LoopFiles, request: str, *, place: Here, is_late: Callable[[LoopState], bool] = lambda _: False
) -> bool:
    """Ask for it, then write it down if it is not too late; False if it can only hold at the next stop."""
    who = ask(loop, request, place)
    try:
        with loop.lock(wait_s=WAIT_S):
            state = loop.state()
            if not is_late(state):
                obey(state, request, who)
            tasks.show_now(loop, state)
            loop.rest(state)
            loop.journal(request, outcome=state.outcome, detail=state.detail, session=place.session)
    except BusyError:
        say(f"A stop of {loop.record.name} is being decided; the {request} holds when it is answered.")
        return False
    except OSError as error:
        told = f"{error.filename or loop.folder}: {error.strerror or error}"
        raise UserError(f"the {request} is asked for and holds at the next stop, but {told}.") from None
    return True
