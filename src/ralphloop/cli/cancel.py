"""The command `cancel`: end a loop for good."""

from __future__ import annotations

import argparse

from ralphloop.cli.book import locked
from ralphloop.cli.halt import halt
from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.domain.model import CANCELLED, COMPLETE, ENDED
from ralphloop.store import arming, supervisor
from ralphloop.store.loop import CANCEL, LoopFiles


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.epilog = """\
examples:
  ralphloop cancel
  ralphloop cancel shop

The task list stays as it is; `ralphloop start` begins a new loop over it.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    loop = pick(place, args.name)
    name = loop.record.name
    state = loop.state()
    if state.state == ENDED and state.outcome in (CANCELLED, COMPLETE):
        _lay_to_rest(loop)
        say(f"{name} is {state.outcome} already; nothing to cancel.")
    elif halt(loop, CANCEL, place=place):
        when = "" if supervisor.is_held(loop) else " at the end of its turn"
        say(f"{name} is cancelled. The agent stops{when}; the task list stays.")
    return 0


def _lay_to_rest(loop: LoopFiles) -> None:
    """A loop whose end was killed half-way, or found the project busy, still has its record."""
    if any(record.id == loop.record.id for record in arming.under_way(loop.shelf)):
        with locked(loop):
            loop.rest(loop.state())
