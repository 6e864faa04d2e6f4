"""The command `done`: the agent, or the person, claims that a task is done."""

from __future__ import annotations

import argparse
import os

from ralphloop.cli.book import Book, opened, show, tally_line
from ralphloop.cli.errors import UserError
from ralphloop.cli.here import here, must_not_be_anothers, pick
from ralphloop.cli.output import say, say_json
from ralphloop.domain.model import CLOSED, FEATURES, UNVERIFIED
from ralphloop.store import tasks


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id as `ralphloop status` shows it")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop done F2
  ralphloop done 1.3 --loop login
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    loop = pick(place, args.loop)
    must_not_be_anothers(place, loop)
    with opened(loop) as book:
        task = book.task(args.id)
        before = book.ledger.state(task)
        if before not in CLOSED or not task.done:
            _mark(book, args.id)
            book.save("claim", task=args.id, by="command", session=place.session)
            show(book.loop, book.state, book.work())
        else:
            said = f"{args.id} is done already ({before}). "
            return _tell(args, book, said, changed=False)
        why = "its check has not been run" if task.verify else "it has no check that ralphloop runs"
        return _tell(args, book, f"{args.id} is marked done (unverified: {why}). ", changed=True)


def _mark(book: Book, task_id: str) -> None:
    place = book.place(task_id)
    record, listed = book.loop.record, book.tasks.tasks
    behind = [task.id for task in listed[:place] if not task.done]
    if behind and record.layout != FEATURES and not os.path.exists(record.paths["tasks"]):
        raise UserError(f"without a tasks.md these tasks are done in order; {behind[0]} is next.")
    tasks.mark(record, place, done=True)
    listed[place].done = True
    book.ledger.note(task_id, state=UNVERIFIED)


def _tell(args: argparse.Namespace, book: Book, said: str, *, changed: bool) -> int:
    work = book.work()
    if args.json:
        say_json(
            {
                "task": args.id,
                "loop": book.loop.record.id,
                "changed": changed,
                "state": book.ledger.state(book.task(args.id)),
                "done": work.closed,
                "total": work.total,
                "next": work.next[0].id if work.next else None,
            }
        )
    else:
        say(said + tally_line(work))
    return 0
