"""Changes of a loop's ledger between its stops, written down together with its state."""

from __future__ import annotations

from ralphloop.domain.model import CLOSED, SET_ASIDE, SKIPPED
from ralphloop.store import tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ralphloop.domain.ledger import Ledger
    from ralphloop.domain.model import LoopState, TaskList
    from ralphloop.store.loop import LoopFiles


def leave_out(loop: LoopFiles, place: int, *, state: LoopState, ledger: Ledger, listed: TaskList) -> bool:
    """Mark the task at this place of the list as skipped; False if it is not open. Under the loop's lock."""
    task = listed.tasks[place]
    if ledger.state(task) in (*CLOSED, SKIPPED):
        return False
    if task.done:  # claimed, and not proven
        tasks.mark(loop.record, [place], done=False)
        task.done = False
    ledger.note(task.id, state=SKIPPED)
    save(loop, state, ledger, "skip", task=task.id)
    return True


def set_aside(loop: LoopFiles, state: LoopState, task: str, *, why: str) -> bool:
    """Go on without a task; False if it is not open. Under the loop's lock."""
    ledger = loop.load_ledger()
    if ledger.tasks.get(task, {}).get("state"):
        return False
    ledger.note(task, state=SET_ASIDE, why=why)
    save(loop, state, ledger, "set_aside", task=task, why=why)
    return True


def save(loop: LoopFiles, state: LoopState, ledger: Ledger, event: str, **facts: Any) -> None:
    """State first: it says that the ledger changed, and a cached reading of the list is void."""
    state.ledger += 1
    loop.save(state)
    loop.save_ledger(ledger)
    loop.journal(event, **facts)
