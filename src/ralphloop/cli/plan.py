"""The command `plan`: an empty list for a goal, and a look at a list before it is started; starts nothing."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.new import HERE, utf8
from ralphloop.cli.output import show
from ralphloop.errors import UserError
from ralphloop.loops.spec.wording import whole

TYPED = {"": {"--name": 1, "--show": 0, "--here": 0, "--json": 0}}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("goal", metavar="GOAL", nargs="*", help="what is to be built, in your own words")
    parser.add_argument("--name", metavar="NAME", help="the list's name (default: of the goal's first words)")
    parser.add_argument("--show", action="store_true", help="show the list NAME and its commands instead")
    parser.add_argument("--here", action="store_true", help=HERE)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop plan 'A web shop with a cart that survives a reload'
  ralphloop plan --name shop 'A web shop'
  ralphloop plan --show shop

It makes an empty list for the goal; you or the agent write the tasks into it.
Nothing is started and no check is run: `ralphloop start NAME` does that, after
it has shown you the commands and asked.
"""


def run(args: argparse.Namespace) -> int:
    place, goal = loops.here(), whole(args.goal).strip()
    if args.show:
        return show(loops.show_plan(place, goal or None), as_json=args.json)
    first, _, name = goal.partition(" ")
    if first == "show" and name in {source.name for source in place.sources()}:
        wrong = f"`plan {goal}` would begin a list for the goal {goal!r}, and there is a list {name}"
        raise UserError(f"{wrong}: `ralphloop plan --show {name}` shows it.")
    return show(loops.plan(place, utf8(goal), name=args.name, here=args.here), as_json=args.json)
