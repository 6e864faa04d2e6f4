"""The steps of a spec before its tasks are run: what each needs, the state as it begins, and what to do."""

from __future__ import annotations

import os
from typing import Any

from ralphloop.cli.errors import UserError
from ralphloop.cli.here import Here
from ralphloop.cli.output import say
from ralphloop.cli.spec import state_file
from ralphloop.cli.spec.catalogue import Specs
from ralphloop.cli.spec.kind import GRANULARITIES, NOTES, TASKS, Spec, Step
from ralphloop.cli.spec.state_file import State
from ralphloop.domain.prompt import line
from ralphloop.hook import words
from ralphloop.store import files
from ralphloop.tasklists import spec_phase
from ralphloop.views.snapshot import state_of

GOAL_SHOWN = 500


def begin(place: Here, specs: Specs, action: str, *, text: str = "", writes: str = "") -> None:
    """Begin this step of the current spec and say what it takes; `writes` names its document."""
    spec, step = specs.must_have_current(), specs.kind.steps[action]
    for document in step.needs:
        if not spec.has(document):
            how = spec.typed(spec.kind.writer(document))
            raise UserError(f"{spec.shown(document)} is missing; `{how}` writes it.")
    if step.phase:
        with state_file.held(spec, place) as loop:
            state = state_file.load(spec)
            if loop is not None and (state is None or state.phase == spec_phase.EXECUTION):
                _must_not_run(spec, live=state_of(loop).live)
            quick = state is not None and state.quick
            state_file.edit(spec, state, {"phase": step.phase, "awaitingApproval": not quick})
        for note in _turned_back(spec, state, step):
            say(note)
    tell(place, spec, action, text=text, writes=writes)


def _must_not_run(spec: Spec, *, live: bool) -> None:
    if live:
        name = spec.name
        raise UserError(
            f"the loop over {name} is running its tasks; `{spec.typed('cancel')}` ends it, or "
            f"`ralphloop pause {name}` lets it rest, then try again."
        )


def _turned_back(spec: Spec, state: State | None, step: Step) -> list[str]:
    phases = spec.kind.phases
    if state is None or state.phase not in phases or phases.index(state.phase) <= phases.index(step.phase):
        return []
    later = [
        other.writes
        for other in spec.kind.steps.values()
        if other.phase and phases.index(other.phase) > phases.index(step.phase) and spec.has(other.writes)
    ]
    stays = f"; what was written since stays and may no longer fit: {', '.join(later)}" if later else ""
    return [f"Back from {state.phase} to {step.phase}{stays}."]


def tell(place: Here, spec: Spec, action: str, *, text: str = "", writes: str = "") -> None:
    """What this step is about, what it reads and writes, and what comes after it."""
    step, state = spec.kind.steps[action], _state(spec)
    document = writes or step.writes
    say(f"{spec.kind.word.capitalize()} {spec.name} in {spec.shown()}: {action}.")
    tell_goal(spec)
    say("Read: " + ", ".join(_to_read(spec, step)))
    say(f"Write: {spec.shown(document)}{_how(spec, document, state)}" if document else "Change no file.")
    for wanted in step.wants:
        if not spec.has(wanted):
            how = spec.typed(spec.kind.writer(wanted))
            say(f"! {spec.shown(wanted)} is missing: go on without it, or `{how}` first.")
    if text:
        say(f"The person says: {text}")
    if state.get("quickMode") is True:
        run = f"{words.command(place.env)} {spec.kind.layout} {step.following}"
        say(f"Quick mode: ask nothing. Next, at once: `{run}`")
    else:
        say(f"Next, when the person agrees: `{spec.typed(step.following)}`")


def _state(spec: Spec) -> dict[str, Any]:
    """What the state says that the writer of a document must know; a step that changes none needs none."""
    try:
        state = state_file.load(spec)
    except UserError:
        return {}
    return state.data if state is not None else {}


def _how(spec: Spec, document: str, state: dict[str, Any]) -> str:
    """How a document is to be written, behind its name."""
    told = ["it exists: revise it"] if spec.has(document) else []
    if document == TASKS and state.get("granularity") in GRANULARITIES:
        told.append(f"{state['granularity']} tasks")
    if state.get("commitSpec") is True:
        told.append("commit this file alone when it is written")
    return f" ({'; '.join(told)})" if told else ""


def tell_goal(spec: Spec) -> None:
    goal = spec_phase.goal_in(files.read_quietly(spec.path(NOTES)) or "")
    if goal and goal != spec_phase.NO_GOAL:
        say(f"Goal: {line(goal, GOAL_SHOWN)}")


def _to_read(spec: Spec, step: Step) -> list[str]:
    shared = [os.path.join(spec.root, path) for path in spec.kind.shared]
    own = [spec.path(name) for name in (NOTES, *step.needs, *step.wants, *step.reads)]
    return [os.path.relpath(path) for path in (*shared, *own) if os.path.isfile(path)]
