"""The command `ask`: the agent asks the person about one task and goes on with the others."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import opened, tally_line
from ralphloop.cli.here import here, must_not_be_anothers, pick
from ralphloop.cli.output import say, say_json
from ralphloop.domain.model import CLOSED, SKIPPED
from ralphloop.engine.announce import announce_question
from ralphloop.errors import UserError
from ralphloop.evidence.mask import mask, secrets


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id")
    parser.add_argument("text", metavar="TEXT", help="the question")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop ask F2 'Which payment service shall it use?'
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    if not args.text.strip():
        raise UserError("the question is empty; say what you need to know.")
    question = mask(args.text, secrets(place.env))  # it is kept, shown and sent
    loop = pick(place, args.loop)
    must_not_be_anothers(place, loop)
    with opened(loop) as book:
        state = book.ledger.state(book.task(args.id))
        if state in (*CLOSED, SKIPPED):
            raise UserError(f"{args.id} is {state} already; ask about an open task.")
        book.ledger.note(args.id, question=question)
        book.ledger.drop(args.id, "answer")
        book.ledger.drop(args.id, "state")
        book.save("ask", task=args.id, question=question, session=place.session)
        work = book.work()
    if work.next:  # else the next stop says so
        announce_question(loop, args.id, place.env)
    if args.json:
        following = work.next[0].id if work.next else None
        say_json({"task": args.id, "loop": book.loop.record.id, "state": "asked", "next": following})
    else:
        say(f"{args.id} waits for the person's answer. {tally_line(work)}")
    return 0
