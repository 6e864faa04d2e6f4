"""The command `status`: the loops here, what is next, and the task lists that nobody owns."""

from __future__ import annotations

import argparse
import time

from ralphloop import loops
from ralphloop.cli.output import say_json, screen, tell
from ralphloop.loops.place import nothing_here
from ralphloop.views import terminal

ENDED_SHOWN = 5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--ended", action="store_true", help="all loops that ended, not the last 5 only")
    parser.add_argument("--json", action="store_true", help="print JSON, of all loops")
    parser.epilog = """\
examples:
  ralphloop status
  ralphloop status shop
  ralphloop status --ended
  ralphloop status --json

Loops that are at work come first, then those that wait for you or rest, then
those that ended, the last one first.
"""


def run(args: argparse.Namespace) -> int:
    most = None if args.json or args.ended else ENDED_SHOWN
    place = loops.here(writes=False)
    found = loops.overview(place, args.name, ended=most)
    if args.json:
        say_json(found.data)
    elif found.views or found.unowned:
        _print(found, named=args.name is not None)
    else:
        tell(_nothing(place))
    return 0


def _print(found: loops.Overview, *, named: bool) -> None:
    shown = found.views
    width, rows = screen()
    table = named or len(shown) == 1
    tell(*terminal.blocks(shown, now=time.time(), width=width, rows=rows - 3, table=table))
    if found.older:
        tell("", f"… and {found.older} more that ended: `ralphloop status --ended`")
    for source in found.unowned:
        tell(f"unowned: {source.name} ({source.layout}) … `ralphloop start {source.name}`")


def _nothing(place: loops.Place) -> str:
    finished = [source.name for source in place.sources()]
    if finished:
        look = f"`ralphloop plan --show {finished[0]}` shows it"
        return f"No loop here. Every task of {', '.join(finished)} is done; {look}."
    return f"No loop and no task list here; {nothing_here(place)}."
