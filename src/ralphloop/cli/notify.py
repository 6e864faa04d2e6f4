"""The command `notify`: tell the person where a loop stands, in the ways that the settings name."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import complain, show
from ralphloop.loops.notice import KINDS


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--test", action="store_true", help="send a test message, whatever the loops do")
    # how the hook starts it, with nobody to read what it prints
    parser.add_argument("--loop", metavar="ID", help=argparse.SUPPRESS)
    parser.add_argument("--about", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--task", metavar="ID", default="", help=argparse.SUPPRESS)
    parser.add_argument("--terminal", metavar="PID", type=int, default=0, help=argparse.SUPPRESS)
    parser.epilog = """\
examples:
  ralphloop notify --test
  ralphloop notify shop

The settings `notify`, `notify_on` and `webhook_…` say how and when;
`ralphloop config` shows them. The exit code is 1 if a way of telling failed.
"""


def run(args: argparse.Namespace) -> int:
    place = loops.here()
    if args.loop and args.about:
        loops.notify_of(place, args.loop, args.about, task=args.task, pid=args.terminal)
        return 0
    if args.test:
        return show(loops.try_notify(place, told=complain))
    return show(loops.notify(place, args.name, told=complain))
