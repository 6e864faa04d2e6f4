"""The command `notify`: tell the person where a loop stands, in the ways that the settings name."""

from __future__ import annotations

import argparse
import os

from ralphloop import config
from ralphloop.cli.config import loaded
from ralphloop.cli.here import Here, here, pick
from ralphloop.cli.output import complain, say
from ralphloop.errors import UserError
from ralphloop.notify import message, send
from ralphloop.notify.send import Sent


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--test", action="store_true", help="send a test message, whatever the loops do")
    # how the hook starts it, with nobody to read what it prints
    parser.add_argument("--loop", metavar="ID", help=argparse.SUPPRESS)
    parser.add_argument("--about", choices=tuple(message.TOLD), help=argparse.SUPPRESS)
    parser.add_argument("--task", metavar="ID", default="", help=argparse.SUPPRESS)
    parser.add_argument("--terminal", metavar="PID", type=int, default=0, help=argparse.SUPPRESS)
    parser.epilog = """\
examples:
  ralphloop notify --test
  ralphloop notify shop

The settings `notify`, `notify_on` and `webhook_…` say how and when; `ralphloop config` shows them. The exit
code is 1 if a way of telling failed.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    if args.loop and args.about:
        send.tell(pick(place, args.loop), args.about, env=place.env, task=args.task, pid=args.terminal)
        return 0
    if args.test:
        return _print(_try_out(place))
    return _print(_tell_now(place, args.name))


def _try_out(place: Here) -> list[Sent]:
    told = message.trial(os.path.basename(place.project))
    return send.send(told, _switched_on(place, place.project), root=place.project, env=place.env)


def _tell_now(place: Here, name: str | None) -> list[Sent]:
    loop = pick(place, name)
    settings = _switched_on(place, loop.record.root)
    state = loop.state()
    told = send.about_loop(loop, state.outcome) if state.outcome else None
    if told is None:
        how = f"{loop.record.name} is {state.outcome or state.state}, which nobody is told of"
        raise UserError(f"{how}; `ralphloop notify --test` sends a test.")
    return send.send(told, settings, root=loop.record.root, env=place.env)


def _switched_on(place: Here, root: str) -> config.Config:
    settings = loaded(root, place.env)
    for warning in settings.warnings:
        complain(warning)
    if not settings.get("notify"):
        where = config.user_file(place.env)
        raise UserError(f'nothing is switched on; put a line like `notify = ["desktop"]` into {where}.')
    return settings


def _print(sent: list[Sent]) -> int:
    for done in sent:
        say(f"{'✓' if done.ok else '✗'} {done.channel}: {done.detail}")
    return 0 if all(done.ok for done in sent) else 1
