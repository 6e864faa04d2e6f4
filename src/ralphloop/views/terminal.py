"""Loops as text for a terminal; no control character of a task's text ever reaches it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ralphloop.agents.registry import client
from ralphloop.domain.finding import ALREADY_GREEN, IDLE
from ralphloop.domain.ledger import not_committed
from ralphloop.domain.limits import duration
from ralphloop.domain.model import (
    ARMED,
    ASKED,
    BUDGET,
    CLAIMED,
    COMPLETE,
    CORRUPT,
    DENIED,
    ENDED,
    FAILED,
    FINAL,
    LIMIT,
    LOGIN,
    NEEDS_APPROVAL,
    NEEDS_INPUT,
    OPEN,
    PAUSED,
    PROVEN,
    RATE_LIMITED,
    SET_ASIDE,
    SKIPPED,
)
from ralphloop.domain.prompt import answering, count, done, plain, turns, vouching
from ralphloop.domain.table import BUDGETS, LIMITS, LOOP, outcome
from ralphloop.tasklists.registry import traits
from ralphloop.views import figure
from ralphloop.views.figure import context_told, local, spent_told
from ralphloop.views.fold import COLUMNS, ROWS, SHOWN, cut, padded, shown, width_of
from ralphloop.views.snapshot import LoopView, TaskView

if TYPE_CHECKING:
    from ralphloop.domain.finding import Finding

ID_MAX = 24  # cells of a task's id that stands beside its title
DAY_S = 24 * 3600.0
DOUBTS_SHOWN = 5  # where there is more to see than doubts
SAID_MAX, NOTE_MAX = 400, 120  # cells of a doubt, and of one of several notes


def blocks(
    views: Sequence[LoopView], *, now: float, width: int = COLUMNS, rows: int = ROWS, table: bool = False
) -> list[str]:
    """One block of lines per loop, with its tasks where there is only one or one was named."""
    lines: list[str] = []
    for view in views:
        if lines:
            lines.append("")
        lines += block(view, now=now, width=width)
        if table and view.tasks:
            lines += task_table(view, width=width, rows=rows - len(lines))
    return lines


def block(view: LoopView, *, now: float, width: int = COLUMNS) -> list[str]:
    most = 3 * width  # what is longer is in the journal
    where = os.path.relpath(os.path.dirname(view.path), view.root)
    lines = [plain(_headline(view)), plain(f"  {view.layout} · {where} · {_owner(view)} · {_age(view, now)}")]
    lines += ["  " + text for text in proof_lines(view, most)]
    if view.fault and view.outcome not in FINAL:
        lines.append("  the tasks cannot be read: " + _short(view.fault, most))
    if view.detail and view.detail != view.fault and not (view.fault and view.outcome == CORRUPT):
        lines.append("  why: " + _short(view.detail, most))
    if view.uncommitted and view.outcome != COMPLETE:
        lines.append("  " + _short(f"{not_committed(view.uncommitted)} ({view.commit_fault})", most))
    if view.retrying:
        lines.append("  now: " + _short(view.retrying, most))
    lines += ["  asks: " + _short(f"{task.id}: {task.question}", most) for task in _asking(view)]
    held = [task.id for task in view.tasks if task.held]
    if held and traits(view.layout).waits_for_approval:
        lines.append("  claimed, waits for your approval: " + _short(", ".join(held), most))
    lines += ["  " + _short(text, most) for text in _used(view)]
    if view.edited and view.tasks:
        lines.append(plain(f"  the list was changed: `ralphloop approve {view.name}` keeps that"))
    hint = how_to_go_on(view, now=now)
    return [*lines, "  " + plain(hint)] if hint else lines


def _headline(view: LoopView) -> str:
    parts = [view.name, state_told(view), "iteration " + turns(view.iteration, view.max_iterations, "/")]
    parts.append(done(view.done, view.total, view.unverified))
    if view.claimed is not None:  # which task is next shows when it is checked
        parts.append("claimed " + view.claimed)
    elif view.next is not None:
        parts.append("next " + view.next)
    return " · ".join(parts)


def state_told(view: LoopView) -> str:
    """Its state in a word or two, or what it came to."""
    if view.undriven:
        return "nobody drives it"
    if view.state == ENDED:
        return ", ".join(filter(None, (view.outcome or ENDED, doubts_told(view))))
    return f"{PAUSED} ({view.outcome})" if view.state == PAUSED and view.outcome else view.state


def doubts_told(view: LoopView) -> str:
    """`2 doubts`; empty for a loop that is not complete, or of whose proof nothing is doubtful."""
    return count(len(view.proof.doubts), "doubt") if view.doubted else ""


def proof_lines(view: LoopView, most: int = SAID_MAX) -> list[str]:
    """A line for each of the first doubts, and one for all notes."""
    doubts = view.proof.doubts
    notes = [one for one in view.proof.notes if not _is_told(one, doubts)]
    told = [f"doubt: {sentence(one, most)}" for one in doubts[:DOUBTS_SHOWN]]
    more = len(doubts) - DOUBTS_SHOWN
    if more > 0:
        told.append(f"and {count(more, 'more doubt')}: `ralphloop report {view.name}` names all")
    if notes:
        first = [sentence(one, NOTE_MAX) for one in notes[:SHOWN]]
        told.append("noted: " + _joined(first, len(notes)))
    return told


def _is_told(note: Finding, doubts: Sequence[Finding]) -> bool:
    """Whether a doubt says of the whole task what this note says of one check of it."""
    same = [one for one in doubts if (one.kind, one.task) == (IDLE, note.task)]
    return note.kind == ALREADY_GREEN and any(
        note.said.endswith(one.said.removeprefix(one.task)) for one in same
    )


def sentence(one: Finding, most: int = SAID_MAX) -> str:
    """Without its full stop, on one line, with nothing in it that a terminal obeys."""
    return cut(shown(one.said, most), most) or one.kind


def _joined(first: Sequence[str], all_of_them: int) -> str:
    more = all_of_them - len(first)
    return "; ".join([*first, *([f"and {more:,} more"] if more else [])])


def _owner(view: LoopView) -> str:
    return "session " + view.owner if view.owner else "no session yet"


def _age(view: LoopView, now: float) -> str:
    if not view.seen_at:
        return "never seen"
    what = "begun" if view.state == ARMED or view.seen_at == view.started_at else "last stop"
    return f"{what} {age(now - view.seen_at)}"


def age(seconds: float) -> str:
    if seconds < 60:
        return "just now"
    return f"{_span(seconds)} ago"


def _span(seconds: float) -> str:
    hours = int(seconds // 3600)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h" if hours >= 24 else duration(seconds)


def _used(view: LoopView) -> list[str]:
    """What the loop has spent, where somebody counted, and how full its session is."""
    lines = []
    limits = {limit.name: limit for limit in view.limits}
    spent = view.spent
    if spent is not None and (spent.known or spent.missing or "tokens" in limits or "cost_usd" in limits):
        time_used = [figure.time_told(limits["time_s"], view.working_s)] if "time_s" in limits else []
        lines.append("used: " + ", ".join([*time_used, spent_told(spent, view.limits, yet=view.live)]))
    return [*lines, context_told(view.context)] if view.context is not None else lines


def _asking(view: LoopView) -> list[TaskView]:
    return [task for task in view.tasks if task.question][:5]


def how_to_go_on(view: LoopView, *, now: float) -> str:
    """The one thing that the person can do next, if anything."""
    name = view.name
    if view.requested:
        return f"a {view.requested} was asked for; it holds at the next stop."
    if view.driver is not None:
        return _driven(view, now)
    if view.undriven:
        why = "its supervisor was killed, or the machine went down"
        return f"nobody drives it any more ({why}): `ralphloop run {name}` goes on where it was."
    if view.is_orphaned(now):
        return f"no stop for {_span(now - view.seen_at)}; `ralphloop resume {name} --adopt`"
    if view.state == ARMED:
        return "binds to the next session started here, or to the one that gets the loop's prompt."
    if view.void and (view.outcome == NEEDS_APPROVAL or any(task.held for task in view.tasks)):
        how = f"; then `ralphloop {'run' if view.supervised else 'resume'} {name}`"
        return f"{view.void}{'' if view.live else how}."
    if _waits_for_approval(view):
        typed = f"`{traits(view.layout).typed('approve')} {view.digest}`"
        return f"type {typed} in its session, or run `ralphloop approve {name}` in a terminal of your own."
    if view.outcome == COMPLETE and view.uncommitted:
        return f"{view.commit_fault.rstrip('.')}; then `ralphloop run {name}` commits it."
    if view.live or view.outcome in FINAL:
        return ""
    return _hint(view, now)


def _driven(view: LoopView, now: float) -> str:
    """Of a loop whose supervisor lives."""
    if view.is_silent(now):
        return silence(view, now)
    if view.outcome == RATE_LIMITED and view.resume_at:
        return f"waits, and goes on {_clock(view.resume_at, now)} (process {view.driver})."
    if view.state == PAUSED:
        return f"`ralphloop resume {view.name}`, or `p` in its view, goes on (process {view.driver})."
    return f"`ralphloop watch {view.name}` shows it at work (process {view.driver})."


def silence(view: LoopView, now: float) -> str:
    """Of a supervisor that is there and does nothing."""
    how = f"`kill -9 {view.driver}`, then `ralphloop run {view.name}` goes on"
    return f"its supervisor is silent for {_span(now - (view.beat or now))}: {how}."


def _waits_for_approval(view: LoopView) -> bool:
    """Some lists wait; the others go on without their checks."""
    if not traits(view.layout).waits_for_approval or not view.unapproved:
        return False
    return view.outcome == NEEDS_APPROVAL or any(task.held for task in view.tasks)


def _hint(view: LoopView, now: float) -> str:
    again = f"`ralphloop {'run' if view.supervised else 'resume'} {view.name}`"
    if view.detail.startswith(LOGIN):
        return f"log in with `{client().program.LOGIN}`, or renew the key; then {again} goes on."
    says_more = _HINTS.get(view.outcome or "")
    told = says_more(view, again, now) if says_more else ""
    return told or outcome(view.outcome).status.format(again=again)


def _needs_input(view: LoopView, again: str, _now: float) -> str:
    then = again if view.supervised else "send the session any message"
    asked = next((task.id for task in view.tasks if task.state == ASKED), "" if view.tasks else "ID")
    first = f"`{answering(asked, view.name)}`" if asked else _vouching(view) or "all is answered"
    if view.detail.startswith(DENIED):
        first = f"allow that in {client().registration.USER_SETTINGS}"
    return f"{first}, then {then}."


def _vouching(view: LoopView) -> str:
    """Of proven tasks that the same doubt holds back a second time."""
    closed = {task.id for task in view.tasks if task.state == PROVEN}
    ids = list(dict.fromkeys(one.task for one in view.proof.insisted if one.task in closed))
    whose = f"{', '.join(ids[:SHOWN])}{' and others' if len(ids) > SHOWN else ''}"
    return f"the doubt about {whose} is yours to decide: {vouching(ids, loop=view.name)}" if ids else ""


def _rate_limited(view: LoopView, again: str, now: float) -> str:
    left = (view.resume_at or now) - now
    if view.waker is not None:
        return f"wakes its session {_clock(view.resume_at or now, now)} (process {view.waker})."
    if view.supervised:
        when = _clock(view.resume_at or now, now) if left > 0 else "now"
        return f"{again} goes on ({when})."
    wait = f"not before {_span(left)} from now" if left > 60 else "now"
    return f"goes on at your next message in its session ({wait})."


def _limit(view: LoopView, again: str, _now: float) -> str:
    if view.iteration < view.max_iterations:
        return ""
    more = view.iteration + max(15, view.total - view.done)
    return f"{again[:-1]} --max-iterations {more}` goes on."


def _budget(view: LoopView, again: str, _now: float) -> str:
    spent_up = _spent_up(view)
    return f"{again} with a higher {spent_up} goes on." if spent_up else ""


def _failed(view: LoopView, again: str, _now: float) -> str:
    aside = [task.id for task in view.tasks if task.state == SET_ASIDE]
    return f"`ralphloop evidence {aside[0]}` shows why; then {again} goes on." if aside else ""


# outcome -> what the person can do, as far as it depends on more than that
_HINTS: dict[str, Callable[[LoopView, str, float], str]] = {
    NEEDS_INPUT: _needs_input,
    RATE_LIMITED: _rate_limited,
    LIMIT: _limit,
    BUDGET: _budget,
    FAILED: _failed,
}


def _clock(moment: float, now: float) -> str:
    """`at 03:01`, with the day where that is not within this one's hours."""
    return local(moment, "at %H:%M" if moment - now < DAY_S else "on %Y-%m-%d at %H:%M")


def _spent_up(view: LoopView) -> str:
    options = {name: LIMITS[name].option for name in BUDGETS if LIMITS[name].ends == LOOP}
    reached = [
        options[limit.name] for limit in view.limits if limit.name in options and (limit.share or 0) >= 1
    ]
    is_known = any(limit.name in options and limit.used is not None for limit in view.limits)
    return reached[0] if reached else "" if is_known else " or ".join(options.values())


def task_table(view: LoopView, *, width: int, rows: int) -> list[str]:
    """Id, state, attempts and title of each task; of a long list the part around the next one."""
    is_long = any(width_of(task.id) > ID_MAX for task in view.tasks)
    first, last = _window(view, max(rows // 2 if is_long else rows, 8))
    tasks = view.tasks[first:last]
    ids = [_short(task.id, width - 4) for task in tasks]
    wide = max((width_of(text) for text in ids if width_of(text) <= ID_MAX), default=0)
    states = max(len(task.state) for task in tasks)
    lines = [f"  … {first} before"] if first else []
    for text, task in zip(ids, tasks, strict=True):
        tries = str(task.attempts) if task.attempts else "-"
        row = f"  {_sign(task)} {padded(text, wide)}"
        if width_of(text) > ID_MAX:  # it is to be copied, so it is shown whole
            lines.append(row)
            row = " " * (4 + wide)
        row += f"  {task.state:<{states}}  {tries:>2}  "
        title = "(added) " + task.title if task.added else task.title
        lines.append(row + _short(title, max(20, width - width_of(row))))
    more = len(view.tasks) - last
    return [*lines, f"  … and {more} more"] if more else lines


def _window(view: LoopView, rows: int) -> tuple[int, int]:
    if len(view.tasks) <= rows:
        return 0, len(view.tasks)
    at = next((place for place, task in enumerate(view.tasks) if task.id == view.next), 0)
    first = max(0, min(at - 2, len(view.tasks) - rows))
    return first, first + rows


def _sign(task: TaskView) -> str:
    if task.state == OPEN:
        return "☐"
    if task.state == CLAIMED:
        return "~"
    return "?" if task.state == ASKED else "✓" if task.state not in (SKIPPED, SET_ASIDE) else "–"


def _short(text: str, most: int) -> str:
    return cut(plain(" ".join(text.split())), most)
