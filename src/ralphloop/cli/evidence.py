"""The command `evidence`: what was run to prove a task, and whether the records are as they were written."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="a task's id, or the id of one piece of evidence")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if there are several")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop evidence
  ralphloop evidence F2
  ralphloop evidence 0003-F2
  ralphloop evidence --json
"""


def run(args: argparse.Namespace) -> int:
    found = loops.evidence(loops.here(writes=False), args.id, loop=args.loop)
    return show(found, as_json=args.json)
