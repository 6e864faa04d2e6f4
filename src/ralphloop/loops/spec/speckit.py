"""A Spec Kit feature from its idea on: begun, gone on with, and the principles that all of them share."""

from __future__ import annotations

import os

from ralphloop.errors import UserError
from ralphloop.loops.place import Place
from ralphloop.loops.result import Result
from ralphloop.loops.spec import creation, ending, overview, state_file, step, wording
from ralphloop.loops.spec.catalogue import SPECKIT_KIND, Spec, Specs, must_stay, specs_here
from ralphloop.loops.spec.listing import introduced
from ralphloop.store import files

KIND = SPECKIT_KIND
BEGIN = f"There is no feature here yet. Next: `{KIND.typed('specify', 'WHAT', 'IT', 'SHALL', 'DO')}`"
CHECKLIST = "requirements"  # what a checklist is about if nobody says


def start(place: Place, words: list[str]) -> Result:
    """Go on where the current feature stands, with the one that is named, or with a new one."""
    text = wording.whole(words).strip()
    specs = specs_here(KIND, place, inside=bool(text))
    if text and not (len(text.split()) == 1 and specs.named(text)):
        return _create(place, specs, words=words)
    if text:
        return ending.switch(place, specs, name=text)
    spec = specs.current()
    told = overview.tell(place, spec) if spec is not None else [BEGIN]
    told += _constitution_missing(specs)
    return Result({"name": spec.name if spec is not None else None}, tuple(told))


def constitution(place: Place, words: list[str]) -> Result:
    """Where the project's principles are written down, and what comes after that."""
    text = wording.whole(words)
    specs = specs_here(KIND, place, inside=True)
    path = _constitution_path(specs)
    must_stay(path, specs.root)
    is_there = os.path.isfile(path)
    following = ("start",) if specs.current() else ("specify", "WHAT", "IT", "SHALL", "DO")
    told = (
        f"The project's principles, for every feature in {os.path.relpath(specs.home)}.",
        f"Write: {os.path.relpath(path)}" + (" (it exists: revise it)" if is_there else ""),
        *([f"The person says: {text}"] if text else []),
        f"Next, when the person agrees: `{KIND.typed(*following)}`",
    )
    return Result({"path": os.path.relpath(path)}, told)


def specify(place: Place, words: list[str]) -> Result:
    """Make a feature and begin its specification; without a word, that of the current one."""
    if wording.whole(words).strip():
        return _create(place, specs_here(KIND, place, inside=True), words=words)
    specs = specs_here(KIND, place)
    if specs.current() is None:
        raise UserError(f"say what the feature shall do: `{KIND.typed('specify', 'Let people log in')}`")
    return step.begin(place, specs, action="specify")


def checklist(place: Place, words: list[str]) -> Result:
    text = wording.whole(words)
    writes = os.path.join("checklists", (wording.slug(text) or CHECKLIST) + ".md")
    return step.begin(place, specs_here(KIND, place), action="checklist", text=text, writes=writes)


def _constitution_path(specs: Specs) -> str:
    return os.path.join(specs.root, KIND.shared[0])


def _constitution_missing(specs: Specs) -> list[str]:
    path, how = _constitution_path(specs), KIND.typed("constitution")
    if os.path.isfile(path):
        return []
    return [f"! {os.path.relpath(path)} is missing: `{how}` writes the project's principles down."]


def _create(place: Place, specs: Specs, *, words: list[str]) -> Result:
    named = wording.guessed(words, taken=(), word=KIND.word)
    with state_file.alone(specs.root, place):  # two at once must not take one number
        old = specs.before()
        spec = _numbered(specs, named)
    told = _constitution_missing(specs)
    told += introduced(place, specs, spec=spec, old=old, action="specify", goal=named.goal)
    return Result({"name": spec.name, "folder": spec.shown()}, tuple(told))


def _numbered(specs: Specs, named: wording.Named) -> Spec:
    number = wording.next_number(files.names(specs.home))
    if number is None:
        home = os.path.relpath(specs.home)
        raise UserError(f"{home} has a feature {wording.LAST_NUMBER}, the last number; move old ones away.")
    return creation.create(
        specs, os.path.join(specs.home, f"{number}-{named.name}"), goal=named.goal, state={}
    )
