"""The command `done`: the agent, or the person, claims that a task is done; its checks are run at once."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import say, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id as `ralphloop status` shows it")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop done F2
  ralphloop done 1.3 --loop login

The task's checks are run at once. Exit code 1 if one fails: then the task
stays open.
"""


def run(args: argparse.Namespace) -> int:
    claimed = loops.done(loops.here(), args.id, loop=args.loop, told=loops.quiet if args.json else say)
    return show(claimed, as_json=args.json)
