"""The command `skip`: the person leaves a task out of the loop."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.epilog = """\
examples:
  ralphloop skip F2

Run it in a terminal of your own: inside the agent's client it is refused.
"""


def run(args: argparse.Namespace) -> int:
    return show(loops.skip(loops.here(), args.id, loop=args.loop))
