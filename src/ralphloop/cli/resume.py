"""The command `resume`: go on with a paused or ended loop, for its owner or for another session."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import add_limits, limits_given, show
from ralphloop.cli.start import session_id


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--adopt", action="store_true", help="take the loop over for another session")
    parser.add_argument(
        "--session", metavar="ID", type=session_id, help="that session (default: this one, or the next)"
    )
    add_limits(parser)
    parser.epilog = """\
examples:
  ralphloop resume
  ralphloop resume shop --max-iterations 60
  ralphloop resume shop --max-time 2h --max-cost 10
  ralphloop resume shop --adopt

A higher limit is yours to give: inside the agent's client it is refused, and
what was used up of the attempts and the time stays used up there.
"""


def run(args: argparse.Namespace) -> int:
    limits = limits_given(args)
    resumed = loops.resume(
        loops.here(), args.name, limits=limits, endless=args.i_know, adopt=args.adopt, session=args.session
    )
    return show(resumed)
