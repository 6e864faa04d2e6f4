"""The person's word on a task: that it counts as done, or that the loop leaves it out."""

from __future__ import annotations

from ralphloop.domain.model import CLOSED, PROVEN, VOUCHED
from ralphloop.engine.amendment import leave_out
from ralphloop.errors import UserError
from ralphloop.loops.book import Book, opened, tally_line
from ralphloop.loops.person import require_person
from ralphloop.loops.place import Place, pick
from ralphloop.loops.result import Result
from ralphloop.store import tasks


def accept(place: Place, task: str, *, loop: str | None = None) -> Result:
    """Vouch for a task, whatever its check says."""
    require_person(place.env, "vouching for a task")
    with opened(pick(place, loop)) as book:
        found = book.task(task)
        state = book.ledger.state(found)
        if state in (PROVEN, VOUCHED):
            return _result(book, task, f"{task} is {state} already.")
        book.ledger.note(task, state=VOUCHED)
        if not found.done:
            tasks.mark(book.loop.record, [book.place(task)], done=True)
            found.done = True
        book.save("accept", task=task)
        tasks.show_now(book.loop, book.state, book.work())
        return _result(book, task, f"{task} counts as done on your word.")


def skip(place: Place, task: str, *, loop: str | None = None) -> Result:
    """Leave a task out of the loop."""
    require_person(place.env, "leaving out a task")
    with opened(pick(place, loop)) as book:
        if book.ledger.state(book.task(task)) in CLOSED:
            shows = f"`ralphloop status {book.loop.record.name}` shows the open ones"
            raise UserError(f"{task} is done already; there is nothing to skip. {shows}.")
        listed, place_ = book.tasks, book.place(task)
        is_open = leave_out(book.loop, place_, state=book.state, ledger=book.ledger, listed=listed)
        again = "" if is_open else " already"
        return _result(book, task, f"{task} is skipped{again}.")


def _result(book: Book, task: str, told: str) -> Result:
    facts = {"task": task, "loop": book.loop.record.id, "state": book.ledger.state(book.task(task))}
    return Result(facts, (f"{told} {tally_line(book.work())}",))
