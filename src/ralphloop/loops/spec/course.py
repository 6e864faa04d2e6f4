"""The course of a spec up to its tasks: where it stands, what comes next, and what each step takes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ralphloop.domain.model import EXECUTION, LoopState, Task
from ralphloop.domain.prompt import line
from ralphloop.engine.words import command
from ralphloop.errors import UserError
from ralphloop.loops.place import Place
from ralphloop.loops.result import Result
from ralphloop.loops.spec import catalogue, state_file, triage, wording
from ralphloop.loops.spec.catalogue import IMPLEMENT, NOTES, TASKS, Kind, Spec, Specs, Step, specs_here
from ralphloop.loops.spec.state_file import NO_STATE, State
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists import boxes

GOAL_SHOWN = 500


class Standing(NamedTuple):
    spec: Spec
    state: State
    fault: str  # why the state cannot be used
    tasks: list[Task]
    loop: LoopFiles | None
    loop_state: LoopState | None
    current: bool = False

    @property
    def done(self) -> int:
        return sum(1 for task in self.tasks if task.done)

    @property
    def phase(self) -> str:
        return self.state.phase

    @property
    def is_written(self) -> bool:
        """Whether the document of its phase is there for the person to read."""
        steps = self.spec.kind.steps.values()
        return any(step.phase == self.phase != "" and self.spec.has(step.writes) for step in steps)

    @property
    def following(self) -> str:
        """The action that comes next; empty if there is nothing left to do."""
        if self.fault:
            return ""
        if self.tasks and self.phase in ("", EXECUTION):
            return IMPLEMENT if self.done < len(self.tasks) else ""
        steps = {action: step for action, step in self.spec.kind.steps.items() if step.phase}
        following = next(iter(steps))
        for action, step in steps.items():
            written = bool(self.tasks) if step.writes == TASKS else self.spec.has(step.writes)
            if step.phase == self.phase:
                return step.following if written else action
            if written and not self.phase:
                following = step.following
        return following if not self.phase else self.spec.kind.writer(TASKS)

    def to_json(self) -> dict[str, Any]:
        loop, state = self.loop, self.loop_state
        return {
            "name": self.spec.name,
            "path": os.path.relpath(self.spec.folder, self.spec.root),
            "current": self.current,
            "phase": self.phase or None,
            "done": self.done,
            "total": len(self.tasks),
            "awaiting_approval": self.state.awaits,
            "quick": self.state.quick,
            "fault": self.fault,
            "next": self.spec.typed(self.following) if self.following else None,
            "loop": loop and state and {
                "id": loop.record.id,
                "state": state.state,
                "outcome": state.outcome,
                "owner": loop.record.session,
            },
        }  # fmt: skip


def where(kind: Kind, place: Place) -> Result:
    """Where the current spec stands; else what the epic has next; else how to begin."""
    specs = specs_here(kind, place)
    spec, epic = specs.current(), triage.current(specs, specs.home)
    told = tell(place, spec) if spec is not None else []
    if epic is not None and (spec is None or not standing(place, spec).following):
        told += triage.tell(epic)
    elif spec is None:
        told.append(kind.empty)
    told += principles_missing(specs)
    return Result({"name": spec.name if spec is not None else None}, tuple(told))


def status(kind: Kind, place: Place) -> Result:
    """Every spec, and the epic where there are such."""
    specs = specs_here(kind, place)
    found, epic = _all_standings(place, specs), triage.current(specs, specs.home)
    more = {"epic": epic and epic.to_json()} if kind.epics else {}
    told = _table(found) + (triage.tell(epic) if epic is not None else [])
    if not found and epic is None:
        told.append(kind.empty)
    return Result({f"{kind.word}s": [each.to_json() for each in found], **more}, tuple(told))


def standing(place: Place, spec: Spec) -> Standing:
    fault, state, tasks = "", NO_STATE, []
    try:
        tasks = boxes.parse(spec.read(TASKS) or "")
        state = state_file.load(spec) or NO_STATE
    except UserError as error:
        fault = str(error)
    loop = state_file.loop_to_resume(spec, place)
    return Standing(spec, state, fault, tasks, loop, loop.state() if loop else None)


def _row(found: Standing) -> str:
    """`* login  execution  3/5 tasks  loop running`."""
    parts = [f"{'*' if found.current else ' '} {found.spec.name}"]
    if not found.fault:
        parts.append(found.phase or "no state")
    if found.tasks:
        parts.append(f"{found.done}/{len(found.tasks)} tasks")
    if found.state.awaits and found.is_written:
        parts.append("waits for you")
    state = found.loop_state
    if state is not None:
        parts.append(f"loop {state.state}" + (f" ({state.outcome})" if state.outcome else ""))
    if found.fault:
        parts.append("! " + found.fault)
    home = os.path.relpath(os.path.dirname(found.spec.folder))
    return "  ".join([*parts, home])


def _all_standings(place: Place, specs: Specs) -> list[Standing]:
    pointed, found = specs.pointed_at(), []
    for folder in specs.folders():
        try:
            spec = specs.spec(folder)
        except UserError:
            continue  # it leads out of the project, so it is none of ours
        found.append(standing(place, spec)._replace(current=folder == pointed))
    return found


def _table(found: list[Standing]) -> list[str]:
    """A line for each, and what comes next for the current one."""
    rows = [_row(each) for each in found]
    following = [each.spec.typed(each.following) for each in found if each.current and each.following]
    return rows + [f"Next: `{typed}`" for typed in following]


def tell(place: Place, spec: Spec) -> list[str]:
    """Where one spec stands, and what comes next."""
    found = standing(place, spec)
    if found.fault:
        raise UserError(found.fault)
    spec.must_keep_documents_inside()
    what = f"phase {found.phase}" if found.phase else "no state (cancelled, or never begun here)"
    count = f", {found.done}/{len(found.tasks)} tasks done" if found.tasks else ""
    told = [f"{spec.kind.word.capitalize()} {spec.name} in {spec.shown()}: {what}{count}.", *goal_line(spec)]
    there = [spec.shown(name) for name in (NOTES, *spec.kind.documents) if spec.has(name)]
    if there:
        told.append("Read: " + ", ".join(there))
    if found.loop is not None and found.loop_state is not None:
        state = found.loop_state
        why = f" ({state.outcome})" if state.outcome else ""
        told.append(f"Loop {found.loop.record.id} is {state.state}{why}.")
    following = f"Next: `{spec.typed(found.following)}`" if found.following else "Every task is done."
    return [*told, following]


def goal_line(spec: Spec) -> list[str]:
    """The goal, where there is one."""
    goal = wording.goal_in(spec.read(NOTES) or "")
    return [f"Goal: {line(goal, GOAL_SHOWN)}"] if goal and goal != wording.NO_GOAL else []


def principles_missing(specs: Specs) -> list[str]:
    """That the project's principles are not written down, where every step reads them."""
    path, how = specs.kind.shared(specs.root), specs.kind.typed("constitution")
    if not path or os.path.isfile(path):
        return []
    return [f"! {os.path.relpath(path)} is missing: `{how}` writes the project's principles down."]


def begin(place: Place, specs: Specs, *, action: str, text: str = "") -> Result:
    """Begin this step of the current spec and say what it takes."""
    spec, step = specs.must_have_current(), specs.kind.steps[action]
    spec.must_keep_documents_inside(step.document(text) or NOTES)
    for document in step.needs:
        if not spec.has(document):
            how = spec.typed(spec.kind.writer(document))
            raise UserError(f"{spec.shown(document)} is missing; `{how}` writes it.")
    back: list[str] = []
    if step.phase:
        with state_file.alone(spec.root, place), state_file.held(spec, place) as loop:
            state = state_file.load(spec)
            if state is None or state.phase == EXECUTION:
                _must_not_run(spec, loop)
            quick = state is not None and state.quick
            state_file.edit(spec, state, fields={"phase": step.phase, "awaitingApproval": not quick})
        if state is not None:
            back = _turned_back(spec, state.phase, step=step)
    told = brief(place, spec, action=action, text=text)
    return Result({"name": spec.name, "action": action}, (*back, *told))


def constitution(kind: Kind, place: Place, words: list[str]) -> Result:
    """Where the project's principles are written down, and what comes after that."""
    text = wording.whole(words)
    specs = specs_here(kind, place, inside=True)
    path = kind.shared(specs.root)
    catalogue.must_stay(path, specs.root)
    following = ("start",) if specs.current() else (kind.asks, catalogue.WHAT)
    told = (
        f"The project's principles, for every feature in {os.path.relpath(specs.home)}.",
        f"Write: {os.path.relpath(path)}" + (" (it exists: revise it)" if os.path.isfile(path) else ""),
        *([f"The person says: {text}"] if text else []),
        f"Next, when the person agrees: `{kind.typed(*following)}`",
    )
    return Result({"path": os.path.relpath(path)}, told)


def _must_not_run(spec: Spec, loop: LoopFiles | None) -> None:
    if loop is not None and loop.state().live:
        name = spec.name
        raise UserError(
            f"the loop over {name} is running its tasks; `{spec.typed('cancel')}` ends it, or "
            f"`ralphloop pause {name}` lets it rest, then try again."
        )


def _turned_back(spec: Spec, phase: str, *, step: Step) -> list[str]:
    """Going back is allowed; what was written since is named, because it may no longer fit."""
    phases = spec.kind.phases
    if phase not in phases[phases.index(step.phase) + 1 :]:
        return []
    documents = spec.kind.documents
    later = [name for name in documents[documents.index(step.writes) + 1 :] if spec.has(name)]
    stays = f"; what was written since stays and may no longer fit: {', '.join(later)}" if later else ""
    return [f"Back from {phase} to {step.phase}{stays}."]


def brief(place: Place, spec: Spec, *, action: str, text: str = "") -> list[str]:
    """What this step is about, what it reads and writes, and what comes after it."""
    step, state = spec.kind.steps[action], state_file.known(spec)
    document = step.document(text)
    told = [
        f"{spec.kind.word.capitalize()} {spec.name} in {spec.shown()}: {action}.",
        *goal_line(spec),
        "Read: " + ", ".join(_to_read(spec, step)),
        f"Write: {spec.shown(document)}{_how(spec, document, said=state.data)}"
        if document
        else "Change no file.",
    ]
    for wanted in step.wants:
        if not spec.has(wanted):
            how = spec.typed(spec.kind.writer(wanted))
            told.append(f"! {spec.shown(wanted)} is missing: go on without it, or `{how}` first.")
    if text:
        told.append(f"The person says: {text}")
    following = step.following or standing(place, spec).following
    if following and state.quick:
        run = f"{command(place.env)} {spec.kind.layout} {following}"
        told.append(f"Quick mode: ask nothing. Next, at once: `{run}`")
    elif following:
        told.append(f"Next, when the person agrees: `{spec.typed(following)}`")
    return told


def _how(spec: Spec, document: str, *, said: Mapping[str, Any]) -> str:
    """How a document is to be written, behind its name."""
    told = ["it exists: revise it"] if spec.has(document) else []
    if document == TASKS and said.get("granularity") in catalogue.GRANULARITIES:
        told.append(f"{said['granularity']} tasks")
    if said.get("commitSpec") is True and _in_git(spec.root):
        told.append("commit this file alone when it is written")
    return f" ({'; '.join(told)})" if told else ""


def _in_git(folder: str) -> bool:
    above = os.path.dirname(folder)
    return os.path.exists(os.path.join(folder, ".git")) or (above != folder and _in_git(above))


def _to_read(spec: Spec, step: Step) -> list[str]:
    own = [spec.path(name) for name in (NOTES, *step.needs, *step.wants, *step.reads)]
    return [os.path.relpath(path) for path in (spec.kind.shared(spec.root), *own) if os.path.isfile(path)]
