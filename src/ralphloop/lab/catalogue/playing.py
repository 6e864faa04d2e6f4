"""Plays an entry: the loop begins, the agent goes through its turns, and what the product says is read."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ralphloop.domain.finding import Finding
from ralphloop.domain.model import COMPLETE
from ralphloop.errors import SceneError
from ralphloop.lab.catalogue import switch
from ralphloop.lab.catalogue.ground import Ground, Program
from ralphloop.lab.catalogue.item import HELD, LIES, TOLD, UNTOLD, Item, Turn
from ralphloop.proof import proof_record
from ralphloop.store import shelf
from ralphloop.store.loop import LoopFiles

NO_WORK_LEFT = "There is nothing left to do."
MORE_STOPS = 2  # what did not fit into one stop goes on at the next
BROKEN, SKIPPED = "broken", "skipped"  # it could not be played, or a tool is missing


@dataclass(frozen=True)
class Played:
    """What came of an entry in one layout."""

    file: str
    family: str
    title: str
    layout: str
    expect: str
    came: str = ""
    as_said: bool = True
    why: str = ""
    outcome: str = ""
    doubts: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[Mapping[str, Any], ...] = ()
    duration_s: float = 0.0
    cpu_s: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def lacks(item: Item) -> str:
    """The first tool that it needs and that is not here; `python:NAME` is a module of this interpreter."""
    for need in item.needs:
        kind, _, name = need.rpartition(":")
        if find_spec(name) is None if kind == "python" else shutil.which(name) is None:
            return need
    return ""


def play(item: Item, layout: str, *, folder: Path, program: Program, off: Sequence[str] = ()) -> Played:
    """Play it in a folder that is not there yet, in a process that plays nothing else afterwards."""
    blank = Played(item.file, item.family, item.title, layout, expected(item))
    switch.off(off)
    begun, ground = time.monotonic(), Ground(folder, item, layout, program=program, off=off)
    try:
        ground.lay()
        ground.start()
        _turns(ground)
        seen = _look(ground)
    except (SceneError, OSError, ValueError, KeyError) as error:
        return _with(blank, came=BROKEN, as_said=False, why=f"it cannot be played: {error}", begun=begun)
    came = _came(item, seen)
    why = _complaint(item, seen, came, ids=ground.ids)
    return _with(
        blank, came=came, as_said=not why, why=why, begun=begun, outcome=seen.outcome,
        doubts=tuple(one.to_json() for one in seen.doubts), notes=tuple(one.to_json() for one in seen.notes),
    )  # fmt: skip


def expected(item: Item) -> str:
    if item.kind == LIES:
        return item.expect
    return "clean" if item.clean else "complete"


def _with(blank: Played, *, begun: float, **values: Any) -> Played:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = round(sum(one.ru_utime + one.ru_stime for one in used), 3)
    return Played(
        **{**blank.to_json(), **values, "duration_s": round(time.monotonic() - begun, 3), "cpu_s": cpu_s}
    )


def _turns(ground: Ground) -> None:
    prompt = "Work through the list."
    ground.added.update(ground.filled(ground.item.client))
    ground.ask_hook("SessionStart", source="startup", model="scripted")
    ground.ask_hook("UserPromptSubmit", prompt_id="1", prompt=prompt)
    ground.log.asked(prompt)
    nothing = [Turn(says=NO_WORK_LEFT)] * MORE_STOPS
    active = False
    for number, turn in enumerate([*ground.item.turns, *nothing], 1):
        _act(ground, turn, number)
        active = _stop(ground, turn, active=active, number=number)
        if not any(_is_live(loop) for loop in _loops(ground)):
            return


def _act(ground: Ground, turn: Turn, number: int) -> None:
    ground.added.update(ground.filled(turn.env))
    ground.write(turn.writes)
    for path in turn.removes:
        place = ground.root / ground.fill(path)
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
    if turn.run:
        ground.script(turn.run, env=ground.agent_env())
    for task in turn.claims:
        ground.claim(task)
    for task in turn.done:
        ground.script(f"ralphloop done {ground.ids[task]} || true", env=ground.agent_env())
    ground.log.used_tool("Bash", {"command": turn.run or "true"}, result="", failed=False)
    ground.log.said(turn.says or f"Turn {number} is over.")


def _stop(ground: Ground, turn: Turn, *, active: bool, number: int) -> bool:
    """Whether the agent is sent on."""
    begun = time.monotonic()
    said = ground.ask_hook(
        "Stop", cwd=turn.cwd, prompt_id="1", permission_mode="acceptEdits", effort={"level": "medium"},
        stop_hook_active=active, last_assistant_message=turn.says or f"Turn {number} is over.",
        background_tasks=[], session_crons=[],
    )  # fmt: skip
    blocks = said.get("decision") == "block"
    reason = str(said.get("reason", "")) if blocks else ""
    ground.log.stopped("hook", duration_ms=(time.monotonic() - begun) * 1000, reason=reason, context="")
    return blocks


def _loops(ground: Ground) -> list[LoopFiles]:
    here = shelf.Shelf(os.path.realpath(ground.place), ground.person_env())
    top = shelf.Shelf(os.path.realpath(ground.root), ground.person_env())
    kinds = (shelf.OWNED, shelf.ARMED, shelf.ENDED)
    found = {
        record.id: LoopFiles(record, each, writes=False)
        for each in (here, top) for kind in kinds for record in each.records(kind)
    }  # fmt: skip
    return list(found.values())


def _is_live(loop: LoopFiles) -> bool:
    state = loop.load()
    return state is not None and state.live


@dataclass(frozen=True)
class _Seen:
    outcome: str
    doubts: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()


def _look(ground: Ground) -> _Seen:
    """What the product says in the end: of the loop that is complete, if one is."""
    trouble = Path(shelf.home(ground.person_env()), "errors.log")
    if trouble.exists():
        raise SceneError(f"the hook had a bug: {trouble.read_text(encoding='utf-8').strip()[-1000:]}")
    loops = _loops(ground)
    if not loops:
        return _Seen("gone")
    ranked = sorted(loops, key=lambda loop: loop.state().outcome == COMPLETE)
    state, record = ranked[-1].state(), proof_record.load(ranked[-1])
    return _Seen(state.outcome or state.state, tuple(record.doubts), tuple(record.notes))


def _came(item: Item, seen: _Seen) -> str:
    if seen.outcome != COMPLETE:
        return HELD
    told = bool(seen.doubts)
    if item.kind == LIES:
        return TOLD if told else UNTOLD
    return "doubted" if told else "clean"


def _complaint(item: Item, seen: _Seen, came: str, *, ids: Mapping[str, str]) -> str:
    """How it differs from what its file says; empty if it does not."""
    doubts = "; ".join(f"{one.kind}: {one.said}" for one in seen.doubts) or "no doubt"
    if item.kind != LIES:
        if came == HELD:
            return f"honest work is {seen.outcome}, not complete"
        return f"clean work is doubted: {doubts}" if item.clean and came != "clean" else ""
    if came != item.expect:
        return f"expected {item.expect}, and it is {came} ({seen.outcome}, {doubts})"
    if came != TOLD:
        return ""
    meant = [one for one in seen.doubts if one.kind in item.told_by]
    if not meant:
        return f"expected a doubt of the kind {' or '.join(item.told_by)}, and there is {doubts}"
    if not any(_names(one, item, ids.values()) for one in meant):
        wanted = item.names or " or ".join(ids.values())
        return f"no doubt names {wanted}: {doubts}"
    return ""


def _names(one: Finding, item: Item, ids: Any) -> bool:
    if item.names:
        return item.names in one.said or any(item.names in file for file in one.files)
    return bool(one.files) or one.task in ids or any(name in one.said for name in ids)
