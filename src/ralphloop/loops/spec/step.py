"""The steps of a spec before its tasks are run: what each needs, the state as it begins, and what to do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ralphloop.domain.model import EXECUTION
from ralphloop.engine.words import command
from ralphloop.errors import UserError
from ralphloop.loops.place import Place
from ralphloop.loops.result import Result
from ralphloop.loops.spec import overview, state_file, wording
from ralphloop.loops.spec.catalogue import (
    GRANULARITIES,
    NOTES,
    TASKS,
    WHAT,
    Kind,
    Spec,
    Specs,
    Step,
    must_stay,
    specs_here,
)
from ralphloop.store.loop import LoopFiles


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
    told = tell(place, spec, action=action, text=text)
    return Result({"name": spec.name, "action": action}, (*back, *told))


def constitution(kind: Kind, place: Place, words: list[str]) -> Result:
    """Where the project's principles are written down, and what comes after that."""
    text = wording.whole(words)
    specs = specs_here(kind, place, inside=True)
    path = kind.shared(specs.root)
    must_stay(path, specs.root)
    following = ("start",) if specs.current() else (kind.asks, WHAT)
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


def tell(place: Place, spec: Spec, *, action: str, text: str = "") -> list[str]:
    """What this step is about, what it reads and writes, and what comes after it."""
    step, state = spec.kind.steps[action], state_file.known(spec)
    document = step.document(text)
    told = [
        f"{spec.kind.word.capitalize()} {spec.name} in {spec.shown()}: {action}.",
        *overview.goal_line(spec),
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
    following = step.following or overview.standing(place, spec).following
    if following and state.quick:
        run = f"{command(place.env)} {spec.kind.layout} {following}"
        told.append(f"Quick mode: ask nothing. Next, at once: `{run}`")
    elif following:
        told.append(f"Next, when the person agrees: `{spec.typed(following)}`")
    return told


def _how(spec: Spec, document: str, *, said: Mapping[str, Any]) -> str:
    """How a document is to be written, behind its name."""
    told = ["it exists: revise it"] if spec.has(document) else []
    if document == TASKS and said.get("granularity") in GRANULARITIES:
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
