"""How a spec begins: what it is called, its folder whole or not at all, and in quick mode its loop."""

from __future__ import annotations

import os
import shutil
from typing import Any, NamedTuple

from ralphloop.errors import UserError
from ralphloop.loops import outset
from ralphloop.loops.place import Place
from ralphloop.loops.result import Result
from ralphloop.loops.spec import course, execution, state_file, triage, wording
from ralphloop.loops.spec.catalogue import GRANULARITIES, NOTES, Kind, Spec, Specs, must_stay, specs_here
from ralphloop.loops.spec.wording import Named
from ralphloop.store import files
from ralphloop.tasklists import spec_state


class Wish(NamedTuple):
    """How a new spec is to be written."""

    quick: bool | None = None  # all phases without questions
    commit: bool | None = None  # each document when it is written
    home: str | None = None  # one of `specs_dirs`
    size: str = GRANULARITIES[0]  # how small the tasks are cut


def new(kind: Kind, place: Place, words: list[str], *, wish: Wish) -> Result:
    """Make a spec; its name comes first, then its goal."""
    named = wording.name_and_goal(words)
    wording.must_be_name(named.name, word=kind.word)
    return _create(place, specs_here(kind, place, inside=True), named=named, wish=wish)


def start(
    kind: Kind, place: Place, words: list[str], *, fresh: bool = False, wish: Wish | None = None
) -> Result:
    """Go on where the current spec stands, with the one that is named, or with a new one for this goal."""
    text, wish = wording.whole(words).strip(), wish or Wish()
    if not text and fresh:
        raise UserError(f"say what the new {kind.word} is for: `{kind.typed('start', '--fresh', 'GOAL')}`")
    if not text:
        return course.where(kind, place)
    specs = specs_here(kind, place, inside=True)
    if not fresh and len(text.split()) == 1 and specs.named(text):
        if wish.quick:
            again = kind.typed("start", "--fresh", text, "--quick")
            raise UserError(
                f"{text} exists already, and --quick is for a new {kind.word}; `{again}` makes one."
            )
        return execution.switch(place, specs, name=text)
    taken = set() if kind.numbered else set(files.names(_home(specs, wish)))
    named = wording.guessed(words, taken=taken, word=kind.word)
    if fresh:
        named = named._replace(name=wording.free_name(named.name, taken))
    return _create(place, specs, named=named, wish=wish)


def specify(kind: Kind, place: Place, words: list[str]) -> Result:
    """Make a feature and begin its specification; without a word, that of the current one."""
    if wording.whole(words).strip():
        named = wording.guessed(words, taken=(), word=kind.word)
        return _create(place, specs_here(kind, place, inside=True), named=named, wish=Wish())
    specs = specs_here(kind, place)
    if specs.current() is None:
        raise UserError(f"say what the feature shall do: `{kind.typed('specify', 'Let people log in')}`")
    return course.begin(place, specs, action="specify")


def _create(place: Place, specs: Specs, *, named: Named, wish: Wish) -> Result:
    home = _home(specs, wish)
    with state_file.alone(specs.root, place):  # two at once must not take one number
        old = specs.before()
        folder = os.path.join(home, _folder_name(specs, named.name))
        state = _chosen(specs, folder=folder, wish=wish)
        quick = place if state.get("quickMode") else None
        spec = _make(specs, folder, goal=named.goal, state=state, quick=quick)
    told = course.principles_missing(specs)
    if quick:
        who = "this session" if place.session else "the next session started here"
        told.append(f"Quick mode: a loop keeps {who} going through the phases.")
    if "epicName" in state:
        told += triage.begin(place, specs, spec=spec)
    told += execution.left_behind(place, old, specs=specs, new=spec)
    told += course.brief(place, spec, action=next(iter(specs.kind.steps)))
    if not named.goal:
        told.append("! It has no goal yet: ask the person for it and write it into the notes first.")
    return Result({"name": spec.name, "folder": spec.shown()}, tuple(told))


def _home(specs: Specs, wish: Wish) -> str:
    if wish.home is None:
        return specs.home
    found = spec_state.inside(specs.root, wish.home)
    known = [folder for folder, _ in specs.places]
    if found in known:
        return str(found)
    named = ", ".join(os.path.relpath(folder, specs.root) for folder in known)
    settings = specs.kind.settings
    raise UserError(f"{wish.home} is not one of `specs_dirs` ({named}); add it in {settings} first.")


def _folder_name(specs: Specs, name: str) -> str:
    if not specs.kind.numbered:
        return name
    number = wording.next_number(files.names(specs.home))
    if number is None:
        home, last = os.path.relpath(specs.home), wording.LAST_NUMBER
        raise UserError(f"{home} has a feature {last}, the last number; move old ones away.")
    return f"{number}-{name}"


def _chosen(specs: Specs, *, folder: str, wish: Wish) -> dict[str, Any]:
    """What the state says otherwise than that of any new spec, where its kind has a choice."""
    if not specs.kind.choices:
        return {}
    default = [value.lower() for value in specs.settings.get("quick_mode_default", [])]
    quick = wish.quick or default == ["true"]
    state: dict[str, Any] = {"quickMode": quick, "awaitingApproval": not quick, "granularity": wish.size}
    if wish.commit is not None:
        state["commitSpec"] = wish.commit
    epic = triage.current(specs, os.path.dirname(folder))
    if epic is not None and os.path.basename(folder) in epic.names:
        state["epicName"] = epic.name
    return state


def _make(specs: Specs, folder: str, *, goal: str, state: dict[str, Any], quick: Place | None) -> Spec:
    """The folder with its notes and state, now the current one; `quick` is where its loop begins."""
    if os.path.lexists(folder):
        raise _exists(specs, folder)
    spec = specs.spec(folder)
    must_stay(specs.pointer, specs.root)
    if quick is not None:
        outset.is_free(quick, spec.source(), quick.session)
    texts = {
        NOTES: wording.notes(spec.name, goal),
        specs.kind.state: state_file.first_state(spec, **state),
    }
    files.build_folder(folder, texts, beside=os.path.dirname(folder))
    try:
        if quick is not None:
            _arm(quick, spec)
        specs.point_at(spec)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return spec


def _exists(specs: Specs, folder: str) -> UserError:
    told, kind = f"{os.path.relpath(folder)} exists already", specs.kind
    ways = []
    if folder in specs.folders():
        ways.append(f"`{kind.typed('switch', specs.called(folder))}` goes on with it")
    if kind.anew:
        ways.append(f"`{kind.typed(*kind.anew, os.path.basename(folder))}` makes another")
    return UserError(f"{told}; {', '.join(ways) or 'begin with another name'}.")


def _arm(place: Place, spec: Spec) -> None:
    """Let the hook keep the phases going, for this session or the next."""
    outset.startable(spec.source())
    ready = outset.ready(place, spec.source(), session=place.session, limits={})
    outset.begin(place, spec.source(), ready=ready)
