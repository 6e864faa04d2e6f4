"""The command `log`: a loop's journal in lines for people, as it stands or as it grows."""

from __future__ import annotations

import argparse
import sys

from ralphloop import loops
from ralphloop.cli.output import say, tell
from ralphloop.loops.standing import findings
from ralphloop.views.journal import line

HANG = len("2026-01-31 10:00:05  ")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("-f", "--follow", action="store_true", help="go on as the loop does, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="print the lines as they are stored")
    parser.epilog = """\
examples:
  ralphloop log
  ralphloop log shop -f
  ralphloop log shop --json
"""


def run(args: argparse.Namespace) -> int:
    place = loops.here(writes=False)
    for raw in loops.journal(place, args.name, follow=args.follow):
        if args.json:
            say(raw)
        else:
            tell(line(raw), hang=HANG)
        if args.follow:
            sys.stdout.flush()
    if not args.json:  # what no entry says
        tell(*findings(place, args.name))
    return 0
