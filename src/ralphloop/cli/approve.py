"""The command `approve`: the person looks at what changed in a list and at what would run, and allows it."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import ask, can_ask, say, show, show_progress, tell
from ralphloop.loops.consent import TERMINAL, YES, Change
from ralphloop.loops.place import require_person


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--yes", action="store_true", help="approve without being asked")
    parser.add_argument("--show", action="store_true", help="only show what waits, change nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop approve
  ralphloop approve shop --show
  ralphloop approve shop --yes

It allows the checks that are new, and adopts your own changes of the list:
what it says now holds from now on. Run it in a terminal of your own; inside
the agent's client, type /ralphloop:approve DIGEST.
"""


def _show(change: Change) -> None:
    """A diff stays as it is: its lines are those of the file."""
    for line in change.told:
        (say if line in change.diff else tell)(line)


def run(args: argparse.Namespace) -> int:
    place = loops.here()
    if not args.show:
        require_person(place.env, "an approval")
    change = loops.waiting_change(place, args.name)
    if not args.json:
        _show(change)
    if change.is_any and args.show and not args.json:
        tell(change.next)
    if not change.is_any or args.show:
        return show(change.result(approved=False), as_json=args.json)
    if args.yes or (not args.json and can_ask() and ask("Approve? [y/N] ")):
        by = YES if args.yes else TERMINAL
        return show(loops.approve(place, change, by=by, told=show_progress), as_json=args.json)
    if not args.json:
        tell("Nothing is approved. `--yes` approves without asking.")
    return show(change.result(approved=False, code=1), as_json=args.json)
