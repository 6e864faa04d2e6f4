"""The command `limit`: show a loop's limits and what is used of them, or change some."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import add_limits, limits_given, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--json", action="store_true", help="the same for scripts")
    add_limits(parser)
    parser.epilog = """\
examples:
  ralphloop limit
  ralphloop limit shop --max-cost 9
  ralphloop limit shop --max-time 12h --max-iterations 60
  ralphloop limit shop --max-cost off
  ralphloop limit shop --json

Nothing else changes: what was spent stays spent, a loop that rests goes on
resting until `resume` or `run`. A running loop obeys at its next stop. Limits
are yours to change: inside the agent's client that is refused.
"""


def run(args: argparse.Namespace) -> int:
    limits = limits_given(args)
    found = loops.limit(loops.here(), args.name, limits=limits, endless=args.i_know)
    return show(found, as_json=args.json)
