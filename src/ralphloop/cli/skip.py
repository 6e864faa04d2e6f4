"""The command `skip`: the person leaves a task out of the loop."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import opened, tally_line
from ralphloop.cli.errors import UserError
from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.cli.person import require_person
from ralphloop.domain.model import CLOSED, SKIPPED
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
        state = book.ledger.state(book.task(args.id))
        if state in CLOSED:
            raise UserError(f"{args.id} is done already; there is nothing to skip.")
        if state == SKIPPED:
            say(f"{args.id} is skipped already. {tally_line(book.work())}")
            return 0
        if book.task(args.id).done:  # claimed, and not proven
            tasks.mark(book.loop.record, [book.place(args.id)], done=False)
            book.task(args.id).done = False
        book.ledger.note(args.id, state=SKIPPED)
        book.save("skip", task=args.id, session=place.session)
        say(f"{args.id} is skipped. {tally_line(book.work())}")
    return 0
