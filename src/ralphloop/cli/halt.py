"""How a person's pause or cancel is written: the request first, so that it holds even during a stop."""

from __future__ import annotations

from collections.abc import Callable

from ralphloop.cli.book import WAIT_S, show
from ralphloop.cli.errors import UserError
from ralphloop.cli.output import say
from ralphloop.domain.model import LoopState
from ralphloop.store.lock import BusyError
from ralphloop.store.loop import LoopFiles
from ralphloop.views.snapshot import state_of


def halt(
    loop: LoopFiles,
    request: str,
    *,
    settle: Callable[[LoopState], None],
    write: Callable[[LoopFiles, LoopState], None],
    session: str | None,
) -> bool:
    """Ask for it, then write it down; False if it can only hold at the next stop."""
    loop.ask_for(request)
    try:
        with loop.lock(wait_s=WAIT_S):
            state = state_of(loop)
            settle(state)
            show(loop, state)
            write(loop, state)
            loop.journal(request, outcome=state.outcome, detail=state.detail, session=session)
    except BusyError:
        say(f"A stop of {loop.record.name} is being decided; the {request} holds when it is answered.")
        return False
    except OSError as error:
        told = f"{error.filename or loop.folder}: {error.strerror or error}"
        raise UserError(f"the {request} is asked for and holds at the next stop, but {told}.") from None
    return True
