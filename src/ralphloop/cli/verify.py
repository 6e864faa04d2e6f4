"""The command `verify`: run a task's checks by hand; what it finds is recorded, and changes no task."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import Book, opened
from ralphloop.cli.errors import UserError
from ralphloop.cli.here import Here, here, pick
from ralphloop.cli.output import say, say_json
from ralphloop.domain.model import Task
from ralphloop.evidence import prove
from ralphloop.evidence.origin import Origin, client_in
from ralphloop.evidence.prove import Prover


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
    if waiting:
        raise UserError(
            f"the checks of {', '.join(waiting)} are not approved; `ralphloop approve` shows them."
        )
    prover.run()
    touched = [f"{entry.path} ({entry.what})" for entry in prover.touched]
    verdicts = prover.verdicts()
    if args.json:
        say_json({"loop": loop.record.id, "protected": touched,
                  "tasks": {task: verdict._asdict() for task, verdict in verdicts.items()}})  # fmt: skip
    else:
        _tell(verdicts, touched)
    return 0 if verdicts and all(verdict.state == prove.GREEN for verdict in verdicts.values()) else 1


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


def _tell(verdicts: dict[str, prove.Verdict], touched: list[str]) -> None:
    for task, verdict in verdicts.items():
        if verdict.state == prove.RED:
            end = verdict.tail.rstrip("\n").split("\n")[-20:]
            say(f"✗ {task}: {verdict.why}", *(f"    {line}" for line in end if line))
        else:
            say(f"✓ {task}: green")
    if touched:
        say("Protected files were put back: " + ", ".join(touched))
