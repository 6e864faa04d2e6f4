"""The command `answer`: the person answers what was asked about a task."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import opened
from ralphloop.cli.errors import UserError
from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.cli.person import require_person
from ralphloop.cli.spec import wording
from ralphloop.cli.spec.parser import HELP
from ralphloop.domain.model import NEEDS_INPUT

TYPED: dict[str, dict[str, int]] = {"": {**HELP, "--loop": 1}}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="ID TEXT",
        nargs="+",
        help="the task's id, and the answer; the agent gets it with the task",
    )
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.epilog = """\
examples:
  ralphloop answer F2 'The one we have an account with'

Run it in a terminal of your own, or type /ralphloop:answer ID TEXT in the client; the agent cannot.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    require_person(place.env, "an answer")
    task_id, text = wording.name_and_goal(args.words)
    if not text.strip():
        raise UserError("the answer is empty; say what the agent shall do.")
    with opened(pick(place, args.loop)) as book:
        task = book.task(task_id)
        known = book.ledger.tasks.get(task_id, {})
        if not known.get("question") and not task.needs_human:
            raise UserError(f"nothing was asked about {task_id}; `ralphloop status` shows the questions.")
        book.ledger.note(task_id, answer=text)
        book.save("answer", task=task_id, answer=text, session=place.session)
    waits = book.state.outcome == NEEDS_INPUT
    say(
        f"{task_id} is answered. "
        + ("Send the session any message." if waits else "The agent gets it with the task.")
    )
    return 0
