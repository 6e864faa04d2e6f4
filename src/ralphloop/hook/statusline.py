"""One line about a session's loop, for the client's status line: it reads, and never touches anything."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.domain import prompt
from ralphloop.domain.model import (
    COMPLETE,
    DENIED,
    ENDED,
    FINAL,
    LOGIN,
    NEEDS_INPUT,
    PAUSED,
    PLAN_MODE,
    RATE_LIMITED,
    WAITING,
    Supervision,
)
from ralphloop.domain.prompt import UNSAFE
from ralphloop.engine import find
from ralphloop.hook import wire
from ralphloop.store import files, shelf, supervisor, tasks
from ralphloop.store.loop import PROOF, LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.domain.model import LoopState, StopEvent
    from ralphloop.domain.worklist import Worklist

NAME_MAX = 40
_SANE = 1e6  # a percentage or a sum above this is no figure of a session


def line(payload: Mapping[str, Any], call: find.Call) -> str:
    """The text under the input box; empty where no loop concerns this session."""
    if wire.is_check(call.env):
        return ""
    event = wire.stop_event(payload, cwd=call.cwd)
    try:
        told = _told(event, call, _figures(payload))
    except OSError:
        return ""
    return fit(told, call.env.get("COLUMNS") or "")


def _told(event: StopEvent, call: find.Call, figures: list[str]) -> str:
    loop = find.held(event, call)
    if loop is None:
        shelves = [Shelf(root, call.env) for root in find.roots(event.cwd, call.env)]
        told = _waiting(shelves, call) or _silent(shelves, call)
        if told:
            return told
        loop = _ended(shelves, event.session)
    if loop is None or not call.serves(loop):
        return ""
    parts = _about(loop, call)
    return " · ".join([*parts, *figures]) if parts else ""


def _waiting(shelves: list[Shelf], call: find.Call) -> str:
    """The loops here that the next session may get."""
    found = [record for here in shelves for record in here.records(shelf.ARMED)]
    names = [_short(record.name) for record in found if record.layout in call.layouts]
    verb = "waits" if len(names) == 1 else "wait"
    return "ralphloop %s %s for a session" % (", ".join(names), verb) if names else ""


def _silent(shelves: list[Shelf], call: find.Call) -> str:
    """The loops here whose supervisor gives no sign of life; only supervised ones have that mark."""
    found = [LoopFiles(record, here, writes=False) for here in shelves
             for record in here.records(shelf.OWNED, naming=Supervision.MARK)]  # fmt: skip
    if not found:
        return ""
    now = time.time()
    names = [_short(loop.record.name) for loop in found if loop.record.layout in call.layouts
             and supervisor.is_silent(supervisor.last_beat(loop, supervisor.holder(loop)), now)]  # fmt: skip
    told = "the supervisor of %s is silent: ralphloop status" % ", ".join(names)
    return "ralphloop " + told if names else ""


def _ended(shelves: list[Shelf], session: Optional[str]) -> Optional[LoopFiles]:
    """The last loop that this session has brought to its end."""
    from ralphloop.store import ended

    found = [(ended.last(here, session), here) for here in shelves] if session else []
    mine = [(record.armed_at, record.id, record, here) for record, here in found if record is not None]
    if not mine:
        return None
    _, _, record, here = max(mine, key=lambda one: one[:2])
    return LoopFiles(record, here, writes=False)


def _about(loop: LoopFiles, call: find.Call) -> list[str]:
    name = "ralphloop " + _short(loop.record.name)
    try:
        state = loop.load()
    except OSError:
        return [name, "a newer version's; upgrade"]
    if state is None:
        return [name, "its loop.json is lost"]
    if state.state != ENDED and not find.pointed_at(loop.record, call.env)[1]:
        return []
    reading = tasks.read_work(loop, state, now=time.time())
    parts = [name, *_standing(loop, state, reading.work)]
    if reading.work is not None:
        parts += _progress(loop, state, reading.work)
    elif state.live:
        told = "is gone" if reading.fault == tasks.GONE else "cannot be read"
        parts += ["the task list " + told, _iteration(loop, state)]
    return parts


def _standing(loop: LoopFiles, state: LoopState, work: Optional[Worklist]) -> list[str]:
    """What the person must know first: that the loop rests and how it goes on, or what it waits for."""
    approve = _approval(loop, state, work)
    if state.live:
        request = loop.request()
        asked = "a %s holds at the next stop" % request if request else ""
        waits = (PLAN_MODE if state.planning else WAITING) if state.state == WAITING else ""
        return [part for part in (asked, waits, approve) if part]
    said = (state.outcome or state.state) + (_doubts(loop) if state.outcome == COMPLETE else "")
    if state.state == PAUSED:
        said = "paused (%s)" % said if state.outcome else said
    how = approve or _wakes(loop, state) or how_to_go_on(state, work, now=time.time())
    return ["%s: %s" % (said, how) if how else said]


def _doubts(loop: LoopFiles) -> str:
    """`, 2 doubts`, out of what `proof_record` has kept, which is not for the hot path."""
    from ralphloop.domain import finding

    kept = files.read_object(os.path.join(loop.kept, PROOF)).get("findings")
    known = [finding.read(one) for one in kept] if isinstance(kept, list) else []
    found = len([one for one in known if one is not None and one.is_doubt])
    return ", " + prompt.count(found, "doubt") if found else ""


def _wakes(loop: LoopFiles, state: LoopState) -> str:
    at = time.strftime("%H:%M", time.localtime(state.resume_at or 0.0))
    return "goes on by itself at " + at if supervisor.waker_of(loop, state) else ""


def _approval(loop: LoopFiles, state: LoopState, work: Optional[Worklist]) -> str:
    """How to approve the checks that wait. Looked for only where there may be some: that takes the whole
    list, and modules that no other line needs."""
    held = work is not None and work.claimed > 0
    if state.outcome in FINAL or not (loop.record.unapproved or held):
        return ""
    from ralphloop.engine.checks import waiting

    count, digest = waiting(loop)
    told = "%d check waits" % count if count == 1 else "%d checks wait" % count
    typed = traits(loop.record.layout).typed("approve")
    return "%s: %s %s" % (told, typed, digest) if count else ""


def how_to_go_on(state: LoopState, work: Optional[Worklist], *, now: float) -> str:
    """The shortest words for what the person can do about a loop that rests."""
    if state.detail.startswith(LOGIN):
        return "log in (/login), ralphloop resume"
    if state.outcome == NEEDS_INPUT:
        if work is not None and work.asked and not work.next:
            return "ralphloop answer %s TEXT" % prompt.shell_word(_short(work.asked[0][0]))
        denied = state.detail.startswith(DENIED)
        return "allow the tool in /permissions, then send any message" if denied else "send any message"
    if state.outcome == RATE_LIMITED:
        until = state.resume_at or 0.0
        after = " after " + time.strftime("%H:%M", time.localtime(until)) if until > now else ""
        return "goes on at your next message" + after
    from ralphloop.domain.table import outcome

    return outcome(state.outcome).line


def _progress(loop: LoopFiles, state: LoopState, work: Worklist) -> list[str]:
    if work.phase != "execution":
        return ["phase " + _short(work.phase), _iteration(loop, state)]
    parts = [prompt.tally(work), _iteration(loop, state)]
    if work.next and state.outcome not in FINAL:
        parts.append("next " + ", ".join(_short(item.id) for item in work.next))
    return parts


def _iteration(loop: LoopFiles, state: LoopState) -> str:
    return "iteration " + prompt.turns(state.iteration, loop.record.limits.iterations, "/")


def _figures(payload: Mapping[str, Any]) -> list[str]:
    """What the client tells of the session itself."""
    context = _number(payload.get("context_window"), "used_percentage")
    cost = _number(payload.get("cost"), "total_cost_usd")
    told = ["context %.0f %%" % context] if context is not None else []
    return [*told, "$%.2f" % cost] if cost is not None else told


def _number(table: Any, key: str) -> Optional[float]:
    value = table.get(key) if isinstance(table, dict) else None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return value if 0 <= value < _SANE else None


def _short(text: str) -> str:
    return prompt.line(text, NAME_MAX)


def fit(text: str, columns: str) -> str:
    """One line of so many cells, without anything that a terminal would obey."""
    try:
        cells = int(columns)
    except ValueError:
        cells = 0
    told = " ".join(text.split()).translate(UNSAFE)
    cells = cells if cells > 0 else prompt.LINE_MAX
    if _cells(told) <= cells:
        return told
    while told and _cells(told) > cells - 1:
        told = told[:-1]
    return told.rstrip() + "…"


def _cells(text: str) -> int:
    """At most so many: what may be a wide character counts as one."""
    return len(text) + sum(1 for ch in text if ch >= "\u1100" and ch != "…")
