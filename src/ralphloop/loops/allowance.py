"""The limits that a loop is started with and may be given more of."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.config import Config
from ralphloop.domain.limits import duration
from ralphloop.domain.model import UNLIMITED, Limits
from ralphloop.errors import UserError

# name of a limit -> the setting that gives it
SETTINGS = {
    "iterations": "max_iterations",
    "attempts": "max_attempts",
    "time_s": "max_time",
    "no_progress": "max_no_progress",
    "tokens": "max_tokens",
    "cost_usd": "max_cost",
    "task_tokens": "max_task_tokens",
    "task_cost_usd": "max_task_cost",
}


COUNTS = ("iterations", "attempts", "no_progress")
BUDGETS = ("tokens", "cost_usd", "task_tokens", "task_cost_usd")  # which are off at 0


def checked(limits: Mapping[str, float], *, endless: bool) -> dict[str, float]:
    """The limits that were asked for, if they can hold; `endless` permits a loop without an end of turns."""
    for name, most in limits.items():
        if name not in SETTINGS:
            raise UserError(f"there is no limit {name}; known are: {', '.join(SETTINGS)}.")
        if not _is_amount(most, whole=name in COUNTS) and not (name in BUDGETS and is_off(most)):
            kind = "a whole number" if name in COUNTS else "a finite number"
            raise UserError(f"the limit {name} must be {kind} above 0, not {most!r:.40}.")
    if limits.get("iterations", 0) >= UNLIMITED and not endless:
        raise UserError(
            "--max-iterations 0 is a loop without an end of turns, which may cost without end: "
            "give a number such as 30, or add --i-know if you mean it."
        )
    return dict(limits)


def is_off(value: object) -> bool:
    return value == 0 and not isinstance(value, bool)


def _is_amount(value: object, *, whole: bool) -> bool:
    """Whether a limit can be this; True is 1 to Python, and no number to whoever reads the record."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 < value < float("inf") and (not whole or value == int(value))


def configured(settings: Config) -> dict[str, float]:
    """The limits that the settings have, by the same names."""
    found = {name: settings.get(key) for name, key in SETTINGS.items()}
    return {name: most for name, most in found.items() if most is not None}


def raised(old: Limits, new: dict[str, float]) -> list[str]:
    """The limits that would be higher than they are, or off; one that is off cannot be higher."""
    return [
        f"{name} {shown(name, most)} instead of {shown(name, getattr(old, name))}"
        for name, most in new.items()
        if getattr(old, name) and (is_off(most) or most > getattr(old, name))
    ]


def shown(name: str, most: float) -> str:
    if name in BUDGETS and is_off(most):
        return "off"
    if name == "time_s":
        return duration(most)
    if name.endswith("usd"):
        return f"${most:.2f}"
    return "no limit" if name == "iterations" and most >= UNLIMITED else f"{most:.0f}"


def told(limits: Limits) -> str:
    """`at most 15 iterations, 8 h 00 min, $5.00`."""
    parts = [f"{shown('iterations', limits.iterations)} iterations", shown("time_s", limits.time_s)]
    parts += [f"{limits.tokens:.0f} tokens"] if limits.tokens else []
    parts += [shown("cost_usd", limits.cost_usd)] if limits.cost_usd else []
    return "at most " + ", ".join(parts)
