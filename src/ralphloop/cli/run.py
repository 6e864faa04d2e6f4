"""The command `run`: drive a loop through fresh sessions, and show it."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from typing import TextIO

from ralphloop import config, loops
from ralphloop.cli.output import (
    STRICT,
    add_limits,
    complain,
    consented,
    limits_given,
    show,
    show_progress,
    tell,
    value,
)
from ralphloop.config.keys import batch, percent, seconds, working_mode
from ralphloop.loops import drive
from ralphloop.loops.result import exit_code_table
from ralphloop.views.live.show import LEFT, NO_RICH, why_plain
from ralphloop.views.live.show import show as show_live


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="which task list, if there are several")
    parser.add_argument(
        "--batch", metavar="N", type=value(batch), help="tasks for one session (default: no limit)"
    )
    parser.add_argument("--model", metavar="M", help="the model, where neither task nor list names one")
    parser.add_argument("--fallback-model", metavar="M", help="the model while that one is overloaded")
    parser.add_argument(
        "--permission-mode",
        metavar="MODE",
        type=value(working_mode),
        choices=config.PERMISSION_MODES,
        help="what the agent may do unasked (default: acceptEdits)",
    )
    parser.add_argument("--agent", choices=config.AGENTS, help=f"which client (default: {config.AGENTS[0]})")
    parser.add_argument(
        "--idle-timeout", metavar="20m", type=value(seconds), help="end a session that is silent so long"
    )
    parser.add_argument(
        "--context-limit", metavar="70", type=value(percent), help="hand over at this share of the context"
    )
    parser.add_argument(
        "--commit", action=argparse.BooleanOptionalAction, help="one commit per closed task (default: no)"
    )
    parser.add_argument("--branch", metavar="B", help="commit on this branch, made if need be")
    parser.add_argument("--detach", action="store_true", help="run in the background")
    parser.add_argument("--adopt", action="store_true", help="take the loop over from its session")
    parser.add_argument("--plain", action="store_true", help="lines instead of the full screen")
    parser.add_argument("--json", action="store_true", help="print JSON at the end, lines on stderr")
    parser.add_argument("--yes", action="store_true", help="approve the list's checks without being asked")
    parser.add_argument("--unapproved", action="store_true", help="run although checks are not approved")
    parser.add_argument("--strict", action="store_true", help=STRICT)
    add_limits(parser)
    parser.epilog = f"""\
examples:
  ralphloop run shop
  ralphloop run shop --batch 1 --max-cost 5 --max-time 4h
  ralphloop run shop --model sonnet --commit --branch overnight
  ralphloop run shop --detach

A loop that rests, or whose supervisor was killed, goes on where it was. Ctrl-C
pauses it, twice kills the session; q leaves the view and lets it run.

{exit_code_table()}"""


def run(args: argparse.Namespace) -> int:
    place = loops.here()
    over = drive.concluded(place, args.name)
    if over is not None:
        return show(over, as_json=args.json)
    stays = partial(_has_view, args)
    prepared = drive.prepare(place, args.name, wish=_wish(args), stays=stays, told=complain)
    told = loops.quiet if args.json else tell
    driven = consented(args, partial(drive.begin, prepared, told=told, tried=show_progress))
    try:
        return _drive(args, driven)
    except KeyboardInterrupt:  # before the view is there to obey it
        drive.interrupted(driven.loop)
        return _closed(args, driven)


def _wish(args: argparse.Namespace) -> loops.RunWish:
    return loops.RunWish(
        limits=limits_given(args),
        endless=args.i_know,
        adopt=args.adopt,
        commit=args.commit,
        branch=args.branch,
        agent=args.agent,
        batch=args.batch,
        context_limit=args.context_limit,
        fallback_model=args.fallback_model,
        idle_timeout=args.idle_timeout,
        model=args.model,
        permission_mode=args.permission_mode,
        detached=args.detach,
        strict=args.strict,
    )


def _has_view(args: argparse.Namespace) -> bool:
    """Whether the person has keys to go on with after a pause."""
    if args.plain or args.json or args.detach or not _is_terminal(sys.stdin):
        return False
    why = why_plain(sys.stdout, os.environ)
    if why == NO_RICH:
        complain(why)
    return not why


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _drive(args: argparse.Namespace, driven: drive.Driven) -> int:
    loop, driver = driven.loop, drive.Supervised(driven)
    if args.detach:
        left = drive.left(driver, "runs in the background", doubts=driven.doubts)
        return show(left, as_json=args.json)
    looked_at, out = driven.read_only, sys.stderr if args.json else sys.stdout
    lines = not driven.terms.stays
    if show_live(looked_at, env=driven.place.env, driver=driver, out=out, lines=lines) == LEFT:
        if not drive.waits_for_nobody(looked_at):
            left = drive.left(driver, "goes on without you", doubts=driven.doubts)
            return show(left, as_json=args.json)
        driver.wait()  # nobody is left to go on with it
    elif driver.wait():
        again = f"`ralphloop run {loop.record.name}` goes on"
        complain(f"the supervisor broke off; {loop.path(drive.LOG)} says why. {again}.")
    return _closed(args, driven)


def _closed(args: argparse.Namespace, driven: drive.Driven) -> int:
    closing = drive.closing(driven.read_only, env=driven.place.env, doubts=driven.doubts)
    return show(closing, as_json=args.json)
