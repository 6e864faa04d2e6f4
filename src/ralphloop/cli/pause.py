"""The command `pause`: let the agent stop until the person resumes the loop."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.epilog = """\
examples:
  ralphloop pause
  ralphloop pause shop
"""


def run(args: argparse.Namespace) -> int:
    return show(loops.pause(loops.here(), args.name))
