"""The command `status`: the loops here, what is next, and the task lists that nobody owns."""

from __future__ import annotations

import argparse
import shutil
import time

from ralphloop import loops
from ralphloop.cli.output import say, say_json, tell
from ralphloop.views import terminal

ENDED_SHOWN = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop status
  ralphloop status shop
  ralphloop status --json
"""


def run(args: argparse.Namespace) -> int:
    found = loops.overview(loops.here(writes=False), args.name)
    if args.json:
        say_json(found.data)
    else:
        _print(found, named=args.name is not None)
    return 0


def _print(found: loops.Overview, *, named: bool) -> None:
    shown = found.without_older(ENDED_SHOWN)
    width, rows = shutil.get_terminal_size((terminal.WIDTH, terminal.ROWS))
    table = named or len(shown) == 1
    tell(*terminal.blocks(shown, now=time.time(), width=width, rows=rows - 3, table=table))
    if len(shown) < len(found.views):
        say("", f"… and {len(found.views) - len(shown)} older (`ralphloop status --json` has them all)")
    for source in found.unowned:
        say(f"unowned: {source.name} ({source.layout}) … `ralphloop start {source.name}`")
    if not found.views and not found.unowned:
        say("No loop and no task list here. `ralphloop new NAME` creates one.")
