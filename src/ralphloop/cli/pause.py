"""The command `pause`: let the agent stop until the person resumes the loop."""

from __future__ import annotations

import argparse

from ralphloop.cli.halt import ask, halt
from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.domain.model import ENDED, INTERRUPTED, PAUSED
from ralphloop.errors import UserError
from ralphloop.store import supervisor
from ralphloop.store.loop import PAUSE


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.epilog = """\
examples:
  ralphloop pause
  ralphloop pause shop
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    loop = pick(place, args.name)
    name = loop.record.name
    state = loop.state()
    is_driven = supervisor.is_held(loop)
    again = f"ralphloop {'resume' if loop.record.supervision is None or is_driven else 'run'} {name}"
    if state.state == ENDED:
        raise UserError(f"{name} has ended ({state.outcome}); there is nothing to pause.")
    if state.state == PAUSED and state.outcome == INTERRUPTED:
        say(f"{name} is paused already; `{again}` goes on.")
    elif is_driven:
        ask(loop, PAUSE, place)  # the supervisor rests once the turn, its claims and its spending are counted
        say(f"{name} pauses at the end of this turn; `{again}` goes on.")
    elif halt(loop, PAUSE, place=place, is_late=lambda state: state.state == ENDED):
        say(f"{name} is paused. The agent stops at the end of its turn; `{again}` goes on.")
    return 0
