"""The limits of a loop that is begun: what is used of them, and a change of them that resumes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ralphloop.domain.limits import WARNED, duration
from ralphloop.domain.model import ENDED, FINAL
from ralphloop.engine import spending
from ralphloop.errors import BusyError, UserError
from ralphloop.loops.allowance import checked, is_off, shown
from ralphloop.loops.opened import locked, must_go_on
from ralphloop.loops.place import Place, pick, require_person
from ralphloop.loops.result import Result
from ralphloop.store.loop import LoopFiles
from ralphloop.views import figure, terminal
from ralphloop.views.figure import Used
from ralphloop.views.snapshot import LoopView, view_of, with_spending

OF_A_TASK = ("attempts", "task_tokens", "task_cost_usd")  # what ends a task, and not the loop
LABELS = {
    "iterations": "iterations",
    "attempts": "attempts at a task",
    "time_s": "running time",
    "no_progress": "no progress",
    "tokens": "tokens",
    "cost_usd": "dollars",
    "task_tokens": "tokens of a task",
    "task_cost_usd": "dollars of a task",
}


def limit(
    place: Place,
    name: str | None = None,
    *,
    limits: Mapping[str, float] | None = None,
    endless: bool = False,
) -> Result:
    """The limits of a loop and what is used of them; `limits` replace those of the same name, and the loop
    stays as it is: running, paused or ended."""
    loop = pick(place, name)
    given = checked(limits or {}, endless=endless)
    before = _change(place, loop, given) if given else {}
    view = _looked_at(place, loop)
    used = view.limits
    shown = [f"{view.name} · {terminal.state_told(view)}"]
    shown += [_line(row, working_s=view.working_s) for row in used]
    shown += [_next(view, used)] if not view.live and view.outcome not in FINAL else []
    told = lines(used, given, before, working_s=view.working_s) if given else shown
    facts = {"id": view.id, "name": view.name, "state": view.state, "outcome": view.outcome}
    told += [_next(view, used)] if given else []
    return Result({**facts, "limits": _data(used), "before": before}, tuple(filter(None, told)))


def used_of(place: Place, loop: LoopFiles) -> tuple[Used, ...]:
    """Every limit that holds, with what is used of it until now."""
    return _looked_at(place, loop).limits


def _looked_at(place: Place, loop: LoopFiles) -> LoopView:
    now = time.time()
    return with_spending(view_of(loop, now=now), loop, env=place.env, now=now)


def lines(
    used: Iterable[Used],
    given: Mapping[str, float],
    before: Mapping[str, float] | None = None,
    *,
    working_s: float | None = None,
) -> list[str]:
    """Of each limit that was given: what is used of it, or that it is off; and what it was `before`."""
    was = before or {}
    told = [_line(row, was.get(row.name), working_s=working_s) for row in used if row.name in given]
    off = [name for name, most in given.items() if is_off(most)]
    return told + [f"  {LABELS[name]:<20}off{_was(name, was.get(name))}" for name in off]


def _line(row: Used, before: float | None = None, *, working_s: float | None = None) -> str:
    """`  dollars             $1.20 of $9.00 (before: $5.00)`."""
    told = figure.time_told(row, working_s) if row.name == "time_s" else figure.told(row)
    return f"  {LABELS[row.name]:<20}{told}{_was(row.name, before)}"


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
        state.told = [word for word in state.told if word not in WARNED]  # 80 per cent is another figure now
        loop.save(state)
        spending.settle(loop, state, env=place.env)  # a first budget is one for all that was spent
        changed = [
            f"{LABELS[name]} {shown(name, most)}{_was(name, before[name])}" for name, most in given.items()
        ]
        loop.journal("limit", session=place.session, detail=", ".join(changed), limits=limits.to_json())
    return before


def _next(view: LoopView, used: Sequence[Used]) -> str:
    """What follows from it."""
    name, has_window = view.name, not view.live  # time begins anew when a loop that rests goes on
    names = ", ".join(LABELS[row.name] for row in used if _ends(row, has_window=has_window))
    if view.live and not view.undriven:
        return f"{name} is {view.state}; " + (
            f"it stops at the end of the agent's present turn: {names} used up."
            if names
            else "the limits hold from the end of the agent's present turn on."
        )
    verb = "run" if view.supervised else "resume"
    rests = f"has ended ({view.outcome})" if view.state == ENDED else f"is paused ({view.outcome})"
    rests = "is driven by nobody" if view.undriven else rests
    if names:
        return f"{name} {rests}, and goes on only with more: {names} used up."
    window = next((row.most for row in used if row.name == "time_s"), 0.0) if has_window else 0.0
    anew = f", with a new window of {duration(window)}" if window else ""
    return f"{name} {rests}; `ralphloop {verb} {name}` goes on{anew}."


def _ends(row: Used, *, has_window: bool) -> bool:
    """Whether a limit is reached that keeps the loop from going on."""
    is_open = row.name in OF_A_TASK or (has_window and row.name == "time_s")
    return not is_open and (row.share or 0.0) >= 1.0


def _data(used: Iterable[Used]) -> dict[str, Any]:
    return {row.name: {"used": row.used, "most": row.most} for row in used}
