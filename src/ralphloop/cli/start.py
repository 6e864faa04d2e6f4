"""The command `start`: arm a loop over a task list, or say why that cannot work."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ralphloop import loops
from ralphloop.cli.output import STRICT, add_limits, consented, limits_given, say, show, show_progress
from ralphloop.config import CONTINUATIONS, PERMISSION_MODES, keys
from ralphloop.errors import UserError
from ralphloop.loops import setup
from ralphloop.loops.consent import Approval
from ralphloop.loops.outset import Wish, look_over
from ralphloop.loops.place import is_session

EPILOG = """\
examples:
  ralphloop start
  ralphloop start shop --max-iterations 40 --max-time 4h
  ralphloop start shop --max-cost 5 --yes
  ralphloop start shop --launch --permission-mode acceptEdits

The commands under `verify` in the list are shown and run only if you approve
them.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="which task list, if there are several")
    parser.add_argument("--session", metavar="ID", type=session_id, help="the session that owns the loop")
    parser.add_argument("--yes", action="store_true", help="approve the list's checks without being asked")
    parser.add_argument(
        "--unapproved", action="store_true", help="start although checks are not approved; they do not run"
    )
    parser.add_argument(
        "--continue-with",
        choices=CONTINUATIONS,
        help="how the next task reaches the agent (default: block)",
    )
    parser.add_argument("--strict", action="store_true", help=STRICT)
    parser.add_argument("--launch", action="store_true", help="start the client on it, in this terminal")
    parser.add_argument(
        "--permission-mode",
        metavar="MODE",
        choices=(*PERMISSION_MODES, keys.PLAN),  # a person sits before the client
        help="what the launched client may do unasked (acceptEdits, …)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_limits(parser)
    parser.epilog = EPILOG


def session_id(text: str) -> str:
    """A session id that can be the name of a record, for argparse."""
    if not is_session(text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} cannot be a session id")
    return text


def run(args: argparse.Namespace) -> int:
    if args.launch and args.json:
        raise UserError("--launch hands the terminal to the client; leave out --json.")
    if args.permission_mode and not args.launch:
        raise UserError("--permission-mode is for the client that --launch starts; add --launch.")
    place, limits = loops.here(), limits_given(args)

    looked = look_over(place, args.name)

    def begin(approval: Approval | None, unapproved: bool, seen: Sequence[str]) -> loops.Result:
        wish = Wish(
            session=args.session,
            limits=limits,
            endless=args.i_know,
            continue_with=args.continue_with,
            approval=approval,
            unapproved=unapproved,
            launching=args.launch,
            looked=looked,
            seen=seen,
            strict=args.strict,
            told=show_progress,
        )
        return loops.start(place, args.name, wish=wish)

    begun = consented(args, begin)
    code = show(begun, as_json=args.json)
    if not args.json:
        say(*setup.opening(place, begun.data["id"]))
    if args.launch:
        _become_client(place, begun, permission_mode=args.permission_mode or "")
    return code


def _become_client(place: loops.Place, begun: loops.Result, *, permission_mode: str) -> NoReturn:
    words = setup.command_line(place, begun.data["id"], permission_mode=permission_mode)
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, dict(place.env))
    except OSError as error:
        raise setup.did_not_start(place, begun.data["id"], error) from None
