"""The command `verify`: run a task's checks by hand; what it finds is recorded, and changes no task."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import Book, opened
from ralphloop.cli.here import Here, here, pick
from ralphloop.cli.output import say, say_json
from ralphloop.domain.model import Task
from ralphloop.errors import UserError
from ralphloop.evidence.checker import GREEN, Verdict
from ralphloop.evidence.origin import Origin, client_in
from ralphloop.evidence.prove import Prover

TAIL_LINES = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="the task's id")
    parser.add_argument("--all", action="store_true", help="the checks of every task, each command once")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop verify F2
  ralphloop verify --all --json

Exit code 0 if every check is green, else 1.
"""


def run(args: argparse.Namespace) -> int:
    if (args.id is None) != args.all:
        raise UserError("name one task, or --all of them: `ralphloop verify F2`, `ralphloop verify --all`.")
    place = here()
    loop = pick(place, args.loop)
    with opened(loop, final=True) as book:
        chosen = _chosen(args, book)
        prover = _prover(book, place, quiet=args.json)
        waiting = prover.plan_tasks(chosen, book.state)
    if waiting and not args.all:
        raise UserError(
            f"the checks of {', '.join(waiting)} are not approved; `ralphloop approve` shows them."
        )
    prover.run()
    touched = [f"{entry.path} ({entry.what})" for entry in prover.touched]
    if args.json:
        tasks = {task: verdict._asdict() for task, verdict in prover.verdicts.items()}
        say_json({"loop": loop.record.id, "protected": touched, "unapproved": waiting, "tasks": tasks})
    else:
        _tell(prover.verdicts, waiting=waiting)
    green = all(verdict.state == GREEN for verdict in prover.verdicts.values())
    return 0 if prover.verdicts and green and not waiting else 1


def _chosen(args: argparse.Namespace, book: Book) -> list[Task]:
    found = [task for task in book.tasks.tasks if task.verify] if args.all else [book.task(args.id)]
    if not found or not found[0].verify:
        what = f"{args.id} has" if args.id else "the tasks have"
        raise UserError(f"{what} no check; add a `verify` command to the list, then `ralphloop approve`.")
    return found


def _prover(book: Book, place: Here, *, quiet: bool) -> Prover:
    return Prover(
        book.loop,
        cwd=place.cwd,
        env=place.env,
        origin=Origin("manual", client=client_in(place.env), session=place.session),
        budget_s=24 * 3600.0,
        say=(lambda text: None) if quiet else (lambda text: say(f"$ {text}")),
    )


def _tell(verdicts: dict[str, Verdict], *, waiting: list[str]) -> None:
    for task, verdict in verdicts.items():
        if verdict.state == GREEN:
            say(f"✓ {task}: green")
            continue
        end = verdict.tail.rstrip("\n").split("\n")[-TAIL_LINES:]
        say(f"✗ {task}: {verdict.why or 'not run'}", *(f"    {line}" for line in end if line))
    for task in waiting:
        say(f"- {task}: not approved, not run; `ralphloop approve` shows its checks")
