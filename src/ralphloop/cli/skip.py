"""The command `skip`: the person leaves a task out of the loop."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import Book, opened, tally_line
from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.cli.person import require_person
from ralphloop.domain.model import CLOSED, SKIPPED
from ralphloop.errors import UserError
from ralphloop.store import tasks


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.epilog = """\
examples:
  ralphloop skip F2

Run it in a terminal of your own: inside the agent's client it is refused.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    require_person(place.env, "leaving out a task")
    with opened(pick(place, args.loop)) as book:
        if book.ledger.state(book.task(args.id)) in CLOSED:
            raise UserError(f"{args.id} is done already; there is nothing to skip.")
        again = "" if leave_out(book, args.id) else " already"
        say(f"{args.id} is skipped{again}. {tally_line(book.work())}")
    return 0


def leave_out(book: Book, task_id: str) -> bool:
    """Mark an open task as skipped; False if it is not open."""
    task = book.task(task_id)
    if book.ledger.state(task) in (*CLOSED, SKIPPED):
        return False
    if task.done:  # claimed, and not proven
        tasks.mark(book.loop.record, [book.place(task_id)], done=False)
        task.done = False
    book.ledger.note(task_id, state=SKIPPED)
    book.save("skip", task=task_id)
    return True
