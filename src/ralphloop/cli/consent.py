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
                _show(error, seen=given)
            seen = () if args.json else error.doubts
            if args.yes and given is None:
                given = Approval(error.commands, YES, seen)
            elif error.askable and not args.json and can_ask() and ask("Approve them and start? [y/N] "):
                given = Approval(error.commands, TERMINAL, seen)
            elif args.unapproved:
                return begin(Approval((), YES, seen), True)
            else:
                raise


def _show(error: UnapprovedError, *, seen: Approval | None) -> None:
    tell(*(["The list has changed meanwhile."] if seen is not None else []))
    tell(*(f"! {doubt}" for doubt in error.doubts if seen is None or doubt not in seen.doubts))
    tell(*listing(error.commands, already=error.already))
    sys.stdout.flush()  # before the error that speaks of it, wherever both streams lead


def can_ask() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def ask(question: str, *, left: str = "Nothing is approved and nothing started.") -> bool:
    """Whether the person says yes; `left` is what Ctrl-C leaves."""
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
    except KeyboardInterrupt:
        print("\n" + left)
        raise
