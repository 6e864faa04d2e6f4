"""The limits that `start` sets and `resume` may change, as options of a command line."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

from ralphloop.cli.errors import UserError
from ralphloop.domain.limits import duration
from ralphloop.domain.model import UNLIMITED, Limits

_TIME = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?")
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}


def count(text: str) -> int:
    """A whole number above zero, for argparse."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:10]) < UNLIMITED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def turns(text: str) -> int:
    """A number of turns; 0 is no limit, which needs --i-know."""
    return UNLIMITED if text == "0" else count(text)


def seconds(text: str) -> float:
    found = _TIME.fullmatch(text.strip().lower()) if text.strip() else None
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time like 90m, 4h or 1h30m")
    hours, minutes, rest = (float(part or 0) for part in found.groups())
    total = hours * 3600 + minutes * 60 + rest
    if not 1 <= total < 1e8:
        raise argparse.ArgumentTypeError(f"{text!r} is no time that a loop can run")
    return total


def tokens(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmM]?)", text)
    value = float(found[1]) * _THOUSANDS[found[2].lower()] if found else 0.0
    if not 1 <= value < 1e15:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of tokens like 500k or 2M")
    return int(value)


def dollars(text: str) -> float:
    try:
        value = float(text.lstrip("$"))
    except ValueError:
        value = 0.0
    if not math.isfinite(value) or not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of dollars like 5 or 2.50")
    return value


# option, the limit it sets, how it is read, what --help says
OPTIONS: tuple[tuple[str, str, str, Callable[[str], float], str], ...] = (
    ("--max-iterations", "iterations", "N", turns, "turns at most (default: 3 per task, at least 15)"),
    ("--max-attempts", "attempts", "N", count, "attempts at one task (default: 5)"),
    ("--max-time", "time_s", "4h", seconds, "running time (default: 8h)"),
    ("--max-no-progress", "no_progress", "N", count, "continuations without progress (default: 3)"),
    ("--max-tokens", "tokens", "2M", tokens, "tokens of the whole loop (default: off)"),
    ("--max-cost", "cost_usd", "USD", dollars, "dollars of the whole loop (default: off)"),
    ("--max-task-tokens", "task_tokens", "500k", tokens, "tokens of one task (default: off)"),
    ("--max-task-cost", "task_cost_usd", "USD", dollars, "dollars of one task (default: off)"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits")
    for option, name, shown, read, told in OPTIONS:
        group.add_argument(option, dest=name, metavar=shown, type=read, help=told)
    group.add_argument(
        "--i-know", action="store_true", help="needed for --max-iterations 0, no limit of turns"
    )


def given(args: argparse.Namespace) -> dict[str, float]:
    """The limits that were asked for, by their names in `Limits`."""
    if args.iterations == UNLIMITED and not args.i_know:
        raise UserError("--max-iterations 0 is a loop without an end of turns; add --i-know if you mean it.")
    return {name: getattr(args, name) for _, name, *_ in OPTIONS if getattr(args, name) is not None}


def raised(old: Limits, new: dict[str, float]) -> list[str]:
    """The limits that would be higher than they are; one that is off cannot be lower."""
    return [
        f"{name} {shown(name, value)} instead of {shown(name, getattr(old, name))}"
        for name, value in new.items()
        if getattr(old, name) and value > getattr(old, name)
    ]


def shown(name: str, value: float) -> str:
    if name == "time_s":
        return duration(value)
    if name.endswith("usd"):
        return f"${value:.2f}"
    return "no limit" if name == "iterations" and value >= UNLIMITED else f"{value:.0f}"


def told(limits: Limits) -> str:
    """`at most 15 iterations, 8 h 00 min, $5.00`."""
    parts = [f"{shown('iterations', limits.iterations)} iterations", shown("time_s", limits.time_s)]
    parts += [f"{limits.tokens:.0f} tokens"] if limits.tokens else []
    parts += [shown("cost_usd", limits.cost_usd)] if limits.cost_usd else []
    return "at most " + ", ".join(parts)
