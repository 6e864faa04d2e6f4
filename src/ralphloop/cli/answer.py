"""The command `answer`: the person answers what was asked about a task."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import opened
from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.cli.person import require_person
from ralphloop.cli.spec.parser import HELP
from ralphloop.domain.model import NEEDS_INPUT
from ralphloop.errors import UserError
from ralphloop.evidence.mask import mask, secrets

# Typed behind a slash command: the task's id, and the answer byte by byte.
TYPED = {"": {**HELP, "--loop": 1}}
NAMED = ("",)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id")
    parser.add_argument("text", metavar="TEXT", help="the answer; the agent gets it with the task")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.epilog = """\
examples:
  ralphloop answer F2 'The one we have an account with'

Run it in a terminal of your own, or type /ralphloop:answer ID TEXT in the client; the agent cannot.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    require_person(place.env, "an answer")
    if not args.text.strip():
        raise UserError("the answer is empty; say what the agent shall do.")
    with opened(pick(place, args.loop)) as book:
        task = book.task(args.id)
        known = book.ledger.tasks.get(args.id, {})
        if not known.get("question") and not task.needs_human:
            raise UserError(f"nothing was asked about {args.id}; `ralphloop status` shows the questions.")
        book.ledger.note(args.id, answer=args.text)
        # The agent gets the answer whole, from the ledger; the journal is for others to read, too.
        told = mask(args.text, secrets(place.env))
        book.save("answer", task=args.id, answer=told, session=place.session)
    waits = book.state.outcome == NEEDS_INPUT
    say(
        f"{args.id} is answered. "
        + ("Send the session any message." if waits else "The agent gets it with the task.")
    )
    return 0
