"""The command `report`: one loop's whole life, for people, for scripts or as a page to keep."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import show
from ralphloop.loops.result import exit_code_table
from ralphloop.loops.standing import SHAPES


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--format", choices=SHAPES, default="md", help="how it is written (default: md)")
    parser.add_argument("--output", metavar="FILE", help="write it into this file")
    parser.epilog = f"""\
examples:
  ralphloop report
  ralphloop report shop --format html --output report.html
  ralphloop report shop --format json

{exit_code_table()}"""


def run(args: argparse.Namespace) -> int:
    place = loops.here(writes=False)
    made = loops.report(place, args.name, shape=args.format, output=args.output)
    return show(made, as_is=args.output is None)
