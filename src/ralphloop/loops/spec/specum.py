"""A spec from its goal on: begun, gone on with, or one of an epic's."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ralphloop.errors import UserError
from ralphloop.loops.place import Place
from ralphloop.loops.result import Result
from ralphloop.loops.spec import creation, ending, overview, state_file, triage, wording
from ralphloop.loops.spec.catalogue import GRANULARITIES, SPECUM_KIND, Specs, specs_here
from ralphloop.loops.spec.listing import introduced
from ralphloop.store import files
from ralphloop.tasklists import spec_state

KIND = SPECUM_KIND
BEGIN = f"There is no spec here yet. Next: `{KIND.typed('start', 'WHAT', 'IT', 'SHALL', 'DO')}`"


class Wish(NamedTuple):
    """How a new spec is to be written."""

    quick: bool | None = None  # all phases without questions
    commit: bool | None = None  # each document when it is written
    home: str | None = None  # one of `specs_dirs`
    size: str = GRANULARITIES[0]  # how small the tasks are cut


def new(place: Place, words: list[str], *, wish: Wish) -> Result:
    """Make a spec; its name comes first, then its goal."""
    return _create(place, wording.name_and_goal(words), wish=wish)


def start(place: Place, words: list[str], *, fresh: bool, wish: Wish) -> Result:
    """Go on where the current spec stands, with the one that is named, or with a new one for this goal."""
    text = wording.whole(words).strip()
    if not text:
        if fresh:
            raise UserError(f"say what the new spec is for: `{KIND.typed('start', '--fresh', 'GOAL')}`")
        return _where(place)
    specs = specs_here(KIND, place, inside=True)
    if not fresh and len(text.split()) == 1 and specs.named(text):
        if wish.quick:
            again = KIND.typed("start", "--fresh", text, "--quick")
            raise UserError(f"{text} exists already, and --quick is for a new spec; `{again}` makes one.")
        return ending.switch(place, specs, name=text)
    taken = set(files.names(_home(specs, wish.home)))
    named = wording.guessed(words, taken=taken, word="spec")
    if fresh:
        named = named._replace(name=wording.free_name(named.name, taken))
    return _create(place, named, wish=wish)


def epic(place: Place, words: list[str], *, spec: str | None, after: list[str]) -> Result:
    """Cut a large goal into specs: begin an epic, add one spec to it, or show it."""
    text = wording.whole(words).strip()
    if after and not spec:
        raise UserError("--after says what a spec waits for; name that spec with --spec.")
    if spec and text:
        raise UserError(
            "either begin an epic with a text, or add a spec to it with --spec; not both at once."
        )
    specs = specs_here(KIND, place, inside=bool(text))
    if text:
        return triage.create(place, specs, text=words)
    return triage.add(place, specs, name=spec, waits_for=after) if spec else triage.show(specs)


def _create(place: Place, named: wording.Named, *, wish: Wish) -> Result:
    wording.must_be_name(named.name, word=KIND.word)
    specs = specs_here(KIND, place, inside=True)
    folder = os.path.join(_home(specs, wish.home), named.name)
    with state_file.alone(specs.root, place):
        old, state = specs.before(), _state(specs, folder=folder, wish=wish)
        quick = place if state["quickMode"] else None
        spec = creation.create(specs, folder, goal=named.goal, state=state, quick=quick)
    told: list[str] = []
    if quick:
        who = "this session" if place.session else "the next session started here"
        told.append(f"Quick mode: a loop keeps {who} going through the phases.")
    if "epicName" in state:
        told += triage.begin(place, specs, spec=spec)
    told += introduced(place, specs, spec=spec, old=old, action="research", goal=named.goal)
    return Result({"name": spec.name, "folder": spec.shown()}, tuple(told))


def _state(specs: Specs, *, folder: str, wish: Wish) -> dict[str, Any]:
    default = [value.lower() for value in specs.settings.get("quick_mode_default", [])]
    quick = wish.quick or default == ["true"]
    state: dict[str, Any] = {"quickMode": quick, "awaitingApproval": not quick, "granularity": wish.size}
    if wish.commit is not None:
        state["commitSpec"] = wish.commit
    found = triage.current(specs, os.path.dirname(folder))
    if found is not None and os.path.basename(folder) in found.names:
        state["epicName"] = found.name
    return state


def _home(specs: Specs, wanted: str | None) -> str:
    if wanted is None:
        return specs.home
    found = spec_state.inside(specs.root, wanted)
    known = [folder for folder, _ in specs.places]
    if found in known:
        return str(found)
    named = ", ".join(os.path.relpath(folder, specs.root) for folder in known)
    raise UserError(f"{wanted} is not one of `specs_dirs` ({named}); add it in {KIND.settings} first.")


def _where(place: Place) -> Result:
    """Where the current spec stands; else what the epic has next; else how to begin."""
    specs = specs_here(KIND, place)
    spec = specs.current()
    told = overview.tell(place, spec) if spec is not None else []
    found = triage.current(specs, specs.home)
    if found is not None and (spec is None or not overview.standing(place, spec).following):
        told += triage.tell(found)
    elif spec is None:
        told.append(BEGIN)
    return Result({"name": spec.name if spec is not None else None}, tuple(told))
