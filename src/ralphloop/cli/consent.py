"""How the person is shown what would run, and asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TypeVar

from ralphloop.cli.output import tell
from ralphloop.errors import UnapprovedError
from ralphloop.loops.consent import TERMINAL, YES, Approval, listing

T = TypeVar("T")


def consented(args: argparse.Namespace, begin: Callable[[Approval | None, bool], T]) -> T:
    """Begin; where commands are not approved, show them and ask, then begin with the answer. With
    --unapproved it begins all the same."""
    given = None
    while True:
        try:
            return begin(given, False)
        except UnapprovedError as error:
            if not args.json:
                tell(*(["The list has changed meanwhile."] if given is not None else []))
                tell(*listing(error.commands, already=error.already))
            if args.yes and given is None:
                given = Approval(error.commands, YES)
            elif error.askable and not args.json and can_ask() and ask("Approve them and start? [y/N] "):
                given = Approval(error.commands, TERMINAL)
            elif args.unapproved:
                break
            else:
                raise
    return begin(None, True)


def can_ask() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def ask(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
    except KeyboardInterrupt:
        print("\nNothing is approved and nothing started.")
        raise
