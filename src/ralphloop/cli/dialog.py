"""How the person is shown what would run, and asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from ralphloop.cli.output import tell
from ralphloop.errors import UnapprovedError
from ralphloop.loops.consent import TERMINAL, YES, Approval, listing

T = TypeVar("T")


def consented(args: argparse.Namespace, begin: Callable[[Approval | None, bool, Sequence[str]], T]) -> T:
    """Begin; where commands are not approved, show them and ask, then begin with the answer, and with the
    doubts that the person has seen. With --unapproved it begins all the same."""
    given: Approval | None = None
    seen: tuple[str, ...] = ()
    while True:
        try:
            return begin(given, False, seen)
        except UnapprovedError as error:
            if not args.json:
                _show(error, again=given is not None, seen=seen)
                seen = error.doubts
            if args.yes and given is None:
                given = Approval(error.commands, YES)
            elif error.askable and not args.json and can_ask() and ask("Approve them and start? [y/N] "):
                given = Approval(error.commands, TERMINAL)
            elif args.unapproved:
                return begin(None, True, seen)
            else:
                raise


def _show(error: UnapprovedError, *, again: bool, seen: Sequence[str]) -> None:
    tell(*(["The list has changed meanwhile."] if again else []))
    tell(*(f"! {doubt}" for doubt in error.doubts if doubt not in seen))
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
