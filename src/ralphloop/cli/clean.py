"""The command `clean`: take away what loops that are over have left, once the person has seen it."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import ask, can_ask, say_json, show, tell
from ralphloop.errors import UserError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="only of loops with this name, or of one id")
    parser.add_argument("--all", action="store_true", help="records and state too: nothing of them is left")
    parser.add_argument("--yes", action="store_true", help="remove it without asking")
    parser.add_argument("--json", action="store_true", help="print JSON; without --yes nothing is removed")
    parser.epilog = """\
examples:
  ralphloop clean
  ralphloop clean shop --all
  ralphloop clean --all --yes

Without --all only what can be made again goes, and copies that a loop which is
over for good no longer needs. --all takes journals, evidence, recorded stops
and state of the loops that are over, and, where none is under way and no NAME
is given, what you approved here. Lists, your files and git stay. Loops under
way stay.
"""


def run(args: argparse.Namespace) -> int:
    place = loops.here()
    found = loops.to_remove(place, args.name, everything=args.all)
    if args.json and not args.yes:
        say_json(found.data)
        return 0
    if not args.json:
        tell(*found.lines)
    if not found.parts:
        return show(loops.Result(found.data), as_json=args.json)
    if not args.yes:
        _must_want(found)
    return show(loops.clean(place, found), as_json=args.json)


def _must_want(found: loops.Removal) -> None:
    if not can_ask():
        raise UserError("nothing was removed, because nobody can be asked here; --yes removes it.")
    if not ask(f"Remove {'it' if len(found.parts) == 1 else 'them'}? [y/N] ", left="Nothing was removed."):
        raise UserError("nothing was removed.")
