"""The limits that `start` sets and `resume` may change, as options of a command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from ralphloop.config import PERMISSION_MODES, keys
from ralphloop.loops.bounds import SETTABLE

T = TypeVar("T")


def _option(read: Callable[[str], T]) -> Callable[[str], T]:
    """The same for argparse, which shows only the text of its own errors."""

    def parse(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def _or_off(read: Callable[[str], float]) -> Callable[[str], float]:
    """A limit that can be taken off again: it is 0 then."""
    return _option(lambda text: 0 if text.strip().lower() == "off" else read(text))


count = _option(keys.count)
seconds = _option(keys.seconds)
batch = _option(keys.batch)
percent = _option(keys.percent)
working_mode = _option(keys.working_mode)
STRICT = "a doubt about a proof opens its task again (default: it is told)"
ANY_MODE = (*PERMISSION_MODES, keys.PLAN)  # where a person sits before the client


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits")
    for name, row in SETTABLE.items():
        read, told = keys.AMOUNTS[row.kind][0], f"{row.told} (default: {row.usual})"
        kind = _option(read) if row.default else _or_off(read)
        group.add_argument(row.option, dest=name, metavar=row.sample, type=kind, help=told)
    group.add_argument(
        "--i-know", action="store_true", help="needed for --max-iterations 0, no limit of turns"
    )


def given(args: argparse.Namespace) -> dict[str, float]:
    """The limits that were asked for, by their names."""
    found = {name: getattr(args, name) for name in SETTABLE}
    return {name: most for name, most in found.items() if most is not None}
