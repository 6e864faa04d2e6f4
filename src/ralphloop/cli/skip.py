"""The command `skip`: the person leaves a task out of the loop."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import opened, tally_line
from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.cli.person import require_person
from ralphloop.domain.model import CLOSED
from ralphloop.engine.amendment import leave_out
from ralphloop.errors import UserError


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
        is_open = leave_out(
            book.loop, book.place(args.id), state=book.state, ledger=book.ledger, listed=book.tasks
        )
        again = "" if is_open else " already"
        say(f"{args.id} is skipped{again}. {tally_line(book.work())}")
    return 0
