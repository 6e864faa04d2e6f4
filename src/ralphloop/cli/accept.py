"""The command `accept`: the person vouches for a task, whatever its check says."""

from __future__ import annotations

import argparse

from ralphloop.cli.output import say
from ralphloop.domain.model import PROVEN, VOUCHED
from ralphloop.loops.book import opened, tally_line
from ralphloop.loops.person import require_person
from ralphloop.loops.place import here, pick
from ralphloop.store import tasks


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.epilog = """\
examples:
  ralphloop accept F2

The task then counts as done on your word, and reports say so. Run it in a terminal of your own: inside
the agent's client it is refused.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    require_person(place.env, "vouching for a task")
    with opened(pick(place, args.loop)) as book:
        task = book.task(args.id)
        state = book.ledger.state(task)
        if state in (PROVEN, VOUCHED):
            say(f"{args.id} is {state} already. {tally_line(book.work())}")
            return 0
        book.ledger.note(args.id, state=VOUCHED)
        if not task.done:
            tasks.mark(book.loop.record, [book.place(args.id)], done=True)
            task.done = True
        book.save("accept", task=args.id)
        tasks.show_now(book.loop, book.state, book.work())
        say(f"{args.id} counts as done on your word. {tally_line(book.work())}")
    return 0
