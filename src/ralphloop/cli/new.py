"""The command `new`: a folder with a task list, its notes and the prompt that starts the agent."""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from ralphloop import loops
from ralphloop.cli.output import show
from ralphloop.errors import UserError
from ralphloop.loops.task_list import must_be_list, must_be_name, must_be_new, read

STDIN = "-"
HERE = "make it in this folder, not in the project around it"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="letters, digits, dot, dash, underscore")
    parser.add_argument(
        "--goal", metavar="TEXT", help="what it is all for, put at the head of the prompt (- reads stdin)"
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="a feature_list.json or a Markdown list to begin with (- reads stdin)",
    )
    parser.add_argument("--here", action="store_true", help=HERE)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop new shop
  ralphloop new shop --goal 'A web shop with a cart' --from ideas.md
  printf '%s\\n' '- Log in' '- Log out' | ralphloop new shop --from -
"""


def run(args: argparse.Namespace) -> int:
    if args.source is None and os.path.isfile(args.name):
        made = f"`ralphloop new NAME --from {shlex.quote(args.name)}`"
        raise UserError(f"{args.name} is a file, and `new` wants the name of a list first: {made} reads it.")
    must_be_name(args.name)
    if args.goal == STDIN and args.source == STDIN:
        raise UserError("stdin can be the goal or the list, not both; put one of them into a file.")
    place = loops.here()
    must_be_new(place, args.name, here=args.here)
    source = _read(args.source) if args.source else None
    if source is not None:
        must_be_list(source)  # before anybody types a goal
    goal = _stdin().decode("utf-8", "surrogateescape") if args.goal == STDIN else utf8(args.goal or "")
    return show(loops.new(place, args.name, goal=goal, source=source, here=args.here), as_json=args.json)


def utf8(word: str) -> str:
    """A word of the command line as UTF-8, whatever the locale took it for."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")


def _read(path: str) -> tuple[str, bytes]:
    """The name and content of what the list is made from."""
    if path == STDIN:
        return "stdin", _stdin()
    return read(path)


def _stdin() -> bytes:
    if sys.stdin is None:  # the caller closed it
        raise UserError("stdin is closed; pass a file, or pipe the text into this command.")
    return sys.stdin.buffer.read()
