"""The command `log`: a loop's journal in lines for people, as it stands or as it grows."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator

from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.errors import UserError
from ralphloop.store.loop import JOURNAL
from ralphloop.store.rotation import older
from ralphloop.views.journal import line
from ralphloop.views.live.follow import Tail

POLL_S = 0.2


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("-f", "--follow", action="store_true", help="go on as the loop does, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="print the lines as they are stored")
    parser.epilog = """\
examples:
  ralphloop log
  ralphloop log shop -f
  ralphloop log shop --json
"""


def run(args: argparse.Namespace) -> int:
    loop = pick(here(writes=False), args.name)
    path, before = loop.shown(JOURNAL), loop.shown(older(JOURNAL))
    if not args.follow and not os.path.exists(path) and not os.path.exists(before):
        told = f"has no journal ({loop.path(JOURNAL)}); it begins again at the next stop"
        raise UserError(f"{loop.record.name} {told}.")
    for raw in _lines(path, before, follow=args.follow):
        say(raw if args.json else line(raw))
        if args.follow:
            sys.stdout.flush()
    return 0


def _lines(path: str, before: str, *, follow: bool) -> Iterator[str]:
    """Whole lines only: the last one may still be in the middle of a write."""
    tail = Tail(path, first_max=sys.maxsize, older=before)
    while True:
        whole = tail.lines()
        for raw in filter(None, whole):
            yield raw.decode("utf-8", "replace")
        if not whole and not follow:
            return
        if not whole:
            time.sleep(POLL_S)
