"""The limits that `start` sets and `resume` may change, as options of a command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from ralphloop.config import PERMISSION_MODES, value

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


count = _option(value.count)
turns = _option(value.turns)  # 0 is no limit, which needs --i-know
seconds = _option(value.seconds)
batch = _option(value.batch)
percent = _option(value.percent)
working_mode = _option(value.working_mode)
ANY_MODE = (*PERMISSION_MODES, value.PLAN)  # where a person sits before the client

# option, the limit it sets, how it is read, what --help says
OPTIONS: tuple[tuple[str, str, str, Callable[[str], float], str], ...] = (
    ("--max-iterations", "iterations", "N", turns, "turns at most (default: 3 per task, at least 15)"),
    ("--max-attempts", "attempts", "N", count, "attempts at one task (default: 5)"),
    ("--max-time", "time_s", "4h", seconds, "running time, anew at each go-on (default: 8h)"),
    ("--max-no-progress", "no_progress", "N", count, "continuations without progress (default: 3)"),
    ("--max-tokens", "tokens", "2M", _or_off(value.tokens), "tokens of the whole loop (default: off)"),
    ("--max-cost", "cost_usd", "USD", _or_off(value.dollars), "dollars of the whole loop (default: off)"),
    ("--max-task-tokens", "task_tokens", "500k", _or_off(value.tokens), "tokens of one task (default: off)"),
    ("--max-task-cost", "task_cost_usd", "USD", _or_off(value.dollars), "dollars of one task (default: off)"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits")
    for option, name, shown, read, told in OPTIONS:
        group.add_argument(option, dest=name, metavar=shown, type=read, help=told)
    group.add_argument(
        "--i-know", action="store_true", help="needed for --max-iterations 0, no limit of turns"
    )


def given(args: argparse.Namespace) -> dict[str, float]:
    """The limits that were asked for, by their names."""
    found = {name: getattr(args, name) for _, name, *_ in OPTIONS}
    return {name: most for name, most in found.items() if most is not None}
