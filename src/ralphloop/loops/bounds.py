"""The limits of a loop: which there are, what is used of them, and a change of them that resumes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ralphloop.domain.limits import duration
from ralphloop.domain.model import ENDED, FINAL, UNLIMITED, Limits
from ralphloop.domain.table import COUNT, DOLLARS, LIMITS, LOOP, TASK, TIME, TURNS
from ralphloop.engine import account
from ralphloop.errors import BusyError, UserError
from ralphloop.loops.opened import locked, must_go_on
from ralphloop.loops.place import Place, pick, require_person
from ralphloop.loops.result import Result
from ralphloop.store.loop import LoopFiles
from ralphloop.views import figure
from ralphloop.views.figure import Used

if TYPE_CHECKING:
    from ralphloop.config import Config
    from ralphloop.views.snapshot import LoopView

SETTABLE = {name: row for name, row in LIMITS.items() if row.setting}


def checked(limits: Mapping[str, float], *, endless: bool) -> dict[str, float]:
    """The limits that were asked for, if they can hold; `endless` permits a loop without an end of turns."""
    for name, most in limits.items():
        if name not in SETTABLE:
            raise UserError(f"there is no limit {name}; known are: {', '.join(SETTABLE)}.")
        is_whole, can_be_off = SETTABLE[name].kind in (TURNS, COUNT), not SETTABLE[name].default
        if not _is_amount(most, whole=is_whole) and not (can_be_off and _is_off(most)):
            kind = "a whole number" if is_whole else "a finite number"
            raise UserError(f"the limit {name} must be {kind} above 0, not {most!r:.40}.")
    if limits.get("iterations", 0) >= UNLIMITED and not endless:
        raise UserError(
            "--max-iterations 0 is a loop without an end of turns, which may cost without end: "
            "give a number such as 30, or add --i-know if you mean it."
        )
    return dict(limits)


def _is_off(value: object) -> bool:
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


def raised(old: Limits, new: Mapping[str, float]) -> list[str]:
    """The limits that would be higher than they are, or off; one that is off cannot be higher."""
    return [
        f"{name} {shown(name, most)} instead of {shown(name, getattr(old, name))}"
        for name, most in new.items()
        if getattr(old, name) and (_is_off(most) or most > getattr(old, name))
    ]


def must_be_persons(place: Place, old: Limits, new: Mapping[str, float]) -> None:
    """Nobody else gives a loop more than it has."""
    higher = raised(old, new)
    if higher:
        require_person(place.env, f"a higher limit ({', '.join(higher)})")


def shown(name: str, most: float) -> str:
    row = LIMITS[name]
    if not row.default and _is_off(most):
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


def limit(
    place: Place,
    name: str | None = None,
    *,
    limits: Mapping[str, float] | None = None,
    endless: bool = False,
) -> Result:
    """The limits of a loop and what is used of them; `limits` replace those of the same name, and the loop
    stays as it is: running, paused or ended."""
    from ralphloop.views import terminal  # a read model, which no other command about limits needs

    loop = pick(place, name)
    given = checked(limits or {}, endless=endless)
    before = _change(place, loop, given) if given else {}
    view = _looked_at(place, loop)
    if given:
        lines = used_lines(view.limits, given, before, working_s=view.working_s)
    else:
        lines = [f"{view.name} · {terminal.state_told(view)}"]
        lines += [_line(row, working_s=view.working_s) for row in view.limits]
    if given or (not view.live and view.outcome not in FINAL):
        lines.append(_next(view))
    facts = {"id": view.id, "name": view.name, "state": view.state, "outcome": view.outcome}
    used = {row.name: {"used": row.used, "most": row.most} for row in view.limits}
    return Result({**facts, "limits": used, "before": before}, tuple(lines))


def used_of(place: Place, loop: LoopFiles) -> tuple[Used, ...]:
    """Every limit that holds, with what is used of it until now."""
    return _looked_at(place, loop).limits


def _looked_at(place: Place, loop: LoopFiles) -> LoopView:
    from ralphloop.views.snapshot import view_of, with_spending

    now = time.time()
    return with_spending(view_of(loop, now=now), loop, env=place.env, now=now)


def used_lines(
    used: Iterable[Used],
    given: Mapping[str, float],
    before: Mapping[str, float] | None = None,
    *,
    working_s: float | None = None,
) -> list[str]:
    """Of each limit that was given: what is used of it, or that it is off; and what it was `before`."""
    was = before or {}
    lines = [_line(row, was.get(row.name), working_s=working_s) for row in used if row.name in given]
    off = [name for name, most in given.items() if _is_off(most)]
    return lines + [f"  {LIMITS[name].label:<20}off{_was(name, was.get(name))}" for name in off]


def _line(row: Used, before: float | None = None, *, working_s: float | None = None) -> str:
    """`  dollars             $1.20 of $9.00 (before: $5.00)`."""
    amount = figure.time_told(row, working_s) if row.name == "time_s" else figure.told(row)
    return f"  {LIMITS[row.name].label:<20}{amount}{_was(row.name, before)}"


def _was(name: str, before: float | None) -> str:
    return "" if before is None else f" (before: {shown(name, before)})"


def _change(place: Place, loop: LoopFiles, given: Mapping[str, float]) -> dict[str, float]:
    """Set them, and nothing else; what they were."""
    require_person(place.env, "another limit")
    with locked(loop):
        loop.record = loop.shelf.fresh(loop.record)
        state, limits = loop.state(), loop.record.limits
        must_go_on(loop, state)
        before = {name: getattr(limits, name) for name in given}
        for name, most in given.items():
            setattr(limits, name, most)
        try:
            with loop.shelf.lock():
                loop.shelf.rewrite(loop.record)
        except BusyError:
            raise UserError(f"the project of {loop.record.name} is busy; try again in a moment.") from None
        warned = [row.label for row in LIMITS.values() if row.ends == LOOP]
        state.told = [word for word in state.told if word not in warned]  # 80 per cent is another figure now
        loop.save(state)
        account.settle(loop, state, env=place.env)  # a first budget is one for all that was spent
        changed = [
            f"{LIMITS[name].label} {shown(name, most)}{_was(name, before[name])}"
            for name, most in given.items()
        ]
        loop.journal("limit", session=place.session, detail=", ".join(changed), limits=limits.to_json())
    return before


def _next(view: LoopView) -> str:
    """What follows from it."""
    name, has_window = view.name, not view.live  # time begins anew when a loop that rests goes on
    names = ", ".join(LIMITS[row.name].label for row in view.limits if _ends(row, has_window=has_window))
    if view.live and not view.undriven:
        return f"{name} is {view.state}; " + (
            f"it stops at the end of the agent's present turn: {names} used up."
            if names
            else "the limits hold from the end of the agent's present turn on."
        )
    verb = "run" if view.supervised else "resume"
    why = f" ({view.outcome})" if view.outcome else ""
    rests = f"has ended{why}" if view.state == ENDED else f"is paused{why}"
    rests = "is driven by nobody" if view.undriven else rests
    if names:
        return f"{name} {rests}, and goes on only with more: {names} used up."
    window = next((row.most for row in view.limits if row.name == "time_s"), 0.0) if has_window else 0.0
    anew = f", with a new window of {duration(window)}" if window else ""
    return f"{name} {rests}; `ralphloop {verb} {name}` goes on{anew}."


def _ends(row: Used, *, has_window: bool) -> bool:
    """Whether a limit is reached that keeps the loop from going on."""
    is_open = LIMITS[row.name].ends == TASK or (has_window and row.name == "time_s")
    return not is_open and (row.share or 0.0) >= 1.0
