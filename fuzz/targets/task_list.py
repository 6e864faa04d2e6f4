"""Any task list: an edit changes what it says and nothing else, and the result can be read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fuzz.choices import Choices, altered, spoiled, text, written
from fuzz.targets.shapes import BOXES, FEATURES, PROGRESS, STATE
from ralphloop.domain.additions import excess
from ralphloop.domain.ledger import Ledger, name_tasks, settle, survey
from ralphloop.domain.model import Task, TaskList
from ralphloop.tasklists import boxes, features, spec_state
from ralphloop.tasklists.registry import layout as layout_of
from ralphloop.tasklists.source import Tally

KINDS = ("features", "specum", "speckit", "progress")
WAYS = ("raw", "altered", "spoiled")
TALLY = Tally("IN_PROGRESS", iteration=7, max_iterations=15, index=1, total=4, attempt=2)


def run(data: bytes) -> None:
    said = Choices(data)
    kind, way = said.pick(KINDS), said.pick(WAYS)
    if kind == "progress":
        _progress(text(said.rest() if way == "raw" else spoiled(said, PROGRESS.encode())))
    elif kind == "features":
        pinned = json.dumps(FEATURES, indent=2) + "\n"
        now = text(_features(said, way))
        _list("features", {"list": now, "progress": PROGRESS})
        _restore("features", {"list": now}, {"list": pinned}, role="list")
        if _parses("features", {"list": now}):
            _restore("features", {"list": pinned}, {"list": now}, role="list")
    else:
        _spec(said, kind, way)


def _features(said: Choices, way: str) -> bytes:
    if way == "raw":
        return said.rest()
    data = written(said, altered(said, said.pick((FEATURES, FEATURES["features"]))))
    return spoiled(said, data) if way == "spoiled" else data


def _spec(said: Choices, kind: str, way: str) -> None:
    if way == "altered":
        state, tasks = text(written(said, altered(said, STATE))), text(spoiled(said, BOXES.encode()))
    elif way == "spoiled":
        state = text(spoiled(said, json.dumps(STATE, indent=2).encode()))
        tasks = text(spoiled(said, BOXES.encode()))
    else:
        state, tasks = json.dumps(STATE, indent=2), text(said.rest())
    has_boxes = not said.chance(8)
    texts = {"state": state, "tasks": tasks if has_boxes else None}
    _list(kind, texts)
    _boxes(tasks)
    if has_boxes:
        _restore(kind, texts, {"tasks": BOXES}, role="tasks")
        _restore(kind, {"state": state, "tasks": BOXES}, {"tasks": tasks}, role="tasks")
    spec_state.addition_limits(state)


def _parses(kind: str, texts: Mapping[str, str | None]) -> TaskList | None:
    """The tasks; a text that is corrupt says so by ValueError and by nothing else."""
    try:
        return layout_of(kind).parse(texts)
    except ValueError:
        return None


def _list(kind: str, texts: dict[str, Any]) -> None:
    found = _parses(kind, texts)
    if found is None:
        return
    layout = layout_of(kind)
    _survey(layout.parse(texts))
    for place, task in enumerate(found.tasks[:12]):
        assert layout.mark(texts, place, done=task.done) == {}, "an edit without a change changes nothing"
        changed = layout.mark(texts, place, done=not task.done)
        assert changed, "a task that is not so yet can be made so"
        again = layout.parse({**texts, **changed})
        assert again.tasks[place].done is not task.done
        if texts.get("tasks", "") is not None:  # without boxes the index moves others along
            assert _others(found, place) == _others(again, place)
    for role, now in layout.record(texts, TALLY).items():
        assert layout.record({**texts, role: now}, TALLY) == {}, "written once, nothing is left to write"
        assert _parses(kind, {**texts, role: now}) is not None
    layout.protect(texts)


def _others(found: TaskList, place: int) -> list[tuple[Any, ...]]:
    tasks = enumerate(found.tasks)
    return [(at == place or task.done, *_criteria(task)) for at, task in tasks]


def _criteria(task: Task) -> tuple[Any, ...]:
    return (task.id, task.title, task.steps, task.verify, task.depends_on, task.needs_human, task.timeout_s)


def _survey(found: TaskList) -> None:
    """The ledger settles at once, and the counts add up."""
    ledger = Ledger()
    name_tasks(found, ledger)
    settle(found, ledger)
    assert settle(found, Ledger.from_json(json.loads(json.dumps(ledger.to_json())))) == ([], [])
    work = survey(found, ledger)
    assert work.closed + work.claimed + work.open_total == work.total == len(found.tasks)
    assert len(work.next) <= work.open_total
    excess(found, found, known=(), modified={})


def _boxes(tasks: str) -> None:
    for place, task in enumerate(boxes.parse(tasks)[:12]):
        there = boxes.set_box(tasks, place, done=not task.done)
        back = boxes.set_box(there, place, done=task.done)
        assert back.lower() == tasks.lower(), "there and back is where it began"
        assert sum(a != b for a, b in zip(there, tasks, strict=True)) == 1, "one character makes the claim"
        assert len(boxes.remove(tasks, place)) < len(tasks)


def _restore(kind: str, texts: dict[str, Any], pinned: dict[str, Any], *, role: str) -> None:
    """What was pinned is back, and stays: restoring the restored finds nothing."""
    layout = layout_of(kind)
    try:
        found = layout.restore(texts, pinned)
    except ValueError:
        assert _parses(kind, {"state": None, **pinned}) is None, "only pins that cannot be read are refused"
        return
    assert bool(found.texts) == bool(found.faults)
    if not found.texts:
        return
    again = layout.restore({**texts, **found.texts}, pinned)
    assert not again.faults, f"restored twice: {again.faults}"
    wanted = [_criteria(task) for task in layout.parse({"state": None, **pinned}).tasks]
    mended = [_criteria(task) for task in layout.parse({"state": None, role: found.texts[role]}).tasks]
    missing = [task for task in wanted if task not in mended]
    assert not missing, f"a pinned task is not back: {missing[0]}"


def _progress(said: str) -> None:
    values = {features.STATUS: "COMPLETE", features.ITERATION: "12", features.MAX_ITERATIONS: "30"}
    once = features.write(said, values)
    assert features.write(once, values) == once
    assert once.count("\n") == said.count("\n"), "no line comes or goes"
    if features.number(said, features.ITERATION):
        assert features.number(once, features.ITERATION) == 12
    features.ended(said)
