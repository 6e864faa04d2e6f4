"""The command `cancel`: end a loop for good."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.epilog = """\
examples:
  ralphloop cancel
  ralphloop cancel shop

The task list stays as it is; `ralphloop start` begins a new loop over it.
"""


def run(args: argparse.Namespace) -> int:
    return show(loops.cancel(loops.here(), args.name))
