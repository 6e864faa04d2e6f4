"""The limits that a loop is started with and may be given more of."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.config import Config
from ralphloop.domain.limits import duration
from ralphloop.domain.model import UNLIMITED, Limits
from ralphloop.domain.table import COUNT, DOLLARS, LIMITS, LOOP, TIME, TURNS
from ralphloop.errors import UserError

SETTABLE = {name: row for name, row in LIMITS.items() if row.setting}


def checked(limits: Mapping[str, float], *, endless: bool) -> dict[str, float]:
    """The limits that were asked for, if they can hold; `endless` permits a loop without an end of turns."""
    for name, most in limits.items():
        if name not in SETTABLE:
            raise UserError(f"there is no limit {name}; known are: {', '.join(SETTABLE)}.")
        is_whole, can_be_off = SETTABLE[name].kind in (TURNS, COUNT), not SETTABLE[name].default
        if not _is_amount(most, whole=is_whole) and not (can_be_off and is_off(most)):
            kind = "a whole number" if is_whole else "a finite number"
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
    found = {name: settings.get(row.setting) for name, row in SETTABLE.items()}
    return {name: most for name, most in found.items() if most is not None}


def raised(old: Limits, new: dict[str, float]) -> list[str]:
    """The limits that would be higher than they are, or off; one that is off cannot be higher."""
    return [
        f"{name} {shown(name, most)} instead of {shown(name, getattr(old, name))}"
        for name, most in new.items()
        if getattr(old, name) and (is_off(most) or most > getattr(old, name))
    ]


def shown(name: str, most: float) -> str:
    row = LIMITS[name]
    if not row.default and is_off(most):
        return "off"
    if row.kind == TIME:
        return duration(most)
    if row.kind == DOLLARS:
        return f"${most:.2f}"
    return "no limit" if row.kind == TURNS and most >= UNLIMITED else f"{most:.0f}"


def told(limits: Limits) -> str:
    """`at most 15 iterations, 8 h 00 min, $5.00`."""
    held = [(row, getattr(limits, name)) for name, row in LIMITS.items() if row.ends == LOOP]
    units = {TIME: "", DOLLARS: ""}
    return "at most " + ", ".join(
        shown(row.name, most) + units.get(row.kind, f" {row.label}") for row, most in held if most
    )
