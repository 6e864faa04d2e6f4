"""The command `verify`: run a task's checks by hand; what it finds is recorded, and changes no task."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import say, show
from ralphloop.errors import UserError


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
    found = loops.verify(loops.here(), args.id, loop=args.loop, told=loops.quiet if args.json else say)
    return show(found, as_json=args.json)
