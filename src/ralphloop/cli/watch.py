"""The command `watch`: a loop on the screen while it works, whoever drives it; it never writes."""

from __future__ import annotations

import argparse
import os
import sys

from ralphloop import loops
from ralphloop.cli.output import complain, screen, tell
from ralphloop.views import terminal
from ralphloop.views.figure import clock
from ralphloop.views.live.show import NO_RICH, OVER, once, show, why_plain
from ralphloop.views.snapshot import view_of


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--plain", action="store_true", help="plain lines, also in a terminal")
    parser.add_argument("--once", action="store_true", help="show it as it is now, and leave")
    parser.epilog = """\
examples:
  ralphloop watch
  ralphloop watch shop --plain
  ralphloop watch shop --once

`q` leaves; the loop goes on. Without a terminal, with TERM=dumb or without the
package rich: plain lines.
"""


def run(args: argparse.Namespace) -> int:
    loop = loops.pick(loops.here(writes=False), args.name)
    now = clock(os.environ)
    was_live = view_of(loop, now=now()).live
    if not args.plain and (args.once or was_live) and why_plain(sys.stdout, os.environ) == NO_RICH:
        complain(NO_RICH)
    if args.once:
        once(loop, env=os.environ, lines=args.plain)
        return 0
    if show(loop, env=os.environ, lines=args.plain) == OVER:
        width, rows = screen()
        at = now()
        shown = [view_of(loop, now=at)]
        tell(*terminal.blocks(shown, now=at, width=width, rows=rows - 3, table=not was_live))
    return 0
