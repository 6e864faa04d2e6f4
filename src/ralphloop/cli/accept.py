"""The command `accept`: the person vouches for a task, whatever its check says."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.epilog = """\
examples:
  ralphloop accept F2

The task then counts as done on your word, and reports say so. Run it in a
terminal of your own: inside the agent's client it is refused.
"""


def run(args: argparse.Namespace) -> int:
    return show(loops.accept(loops.here(), args.id, loop=args.loop))
