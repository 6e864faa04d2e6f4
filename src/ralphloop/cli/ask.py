"""The command `ask`: the agent asks the person about one task and goes on with the others."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id")
    parser.add_argument("text", metavar="TEXT", help="the question")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop ask F2 'Which payment service shall it use?'
"""


def run(args: argparse.Namespace) -> int:
    asked = loops.ask(loops.here(), args.id, args.text, loop=args.loop)
    return show(asked, as_json=args.json)
