"""The command `answer`: the person answers what was asked about a task."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli.output import show

# Typed behind a slash command: the task's id, and the answer byte by byte.
TYPED = {"": {"--loop": 1}}
NAMED = ("",)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id")
    parser.add_argument("text", metavar="TEXT", help="the answer; the agent gets it with the task")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.epilog = """\
examples:
  ralphloop answer F2 'The one we have an account with'

Run it in a terminal of your own, or type /ralphloop:answer ID TEXT in the
client; the agent cannot.
"""


def run(args: argparse.Namespace) -> int:
    return show(loops.answer(loops.here(), args.id, args.text, loop=args.loop))
