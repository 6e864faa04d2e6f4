"""How a spec comes into being: its folder whole or not at all, the pointer, and in quick mode its loop."""

from __future__ import annotations

import os
import shutil
from typing import Any

from ralphloop.errors import UserError
from ralphloop.loops import outset
from ralphloop.loops.place import Place
from ralphloop.loops.spec import state_file, wording
from ralphloop.loops.spec.catalogue import NOTES, Spec, Specs, must_stay
from ralphloop.store import files


def create(
    specs: Specs, folder: str, *, goal: str, state: dict[str, Any], quick: Place | None = None
) -> Spec:
    """The folder with its notes and state, now the current one; `quick` is where its loop begins."""
    if os.path.lexists(folder):
        raise _exists(specs, folder)
    spec = specs.spec(folder)
    must_stay(specs.pointer, specs.root)
    if quick is not None:
        outset.is_free(quick, spec.source(), quick.session)
    notes = wording.notes(spec.name, goal)
    build(folder, {NOTES: notes, specs.kind.state: state_file.first_state(spec, **state)})
    try:
        if quick is not None:
            _arm(quick, spec)
        os.makedirs(os.path.dirname(specs.pointer), exist_ok=True)
        specs.point_at(spec)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return spec


def _arm(place: Place, spec: Spec) -> None:
    """Let the hook keep the phases going, for this session or the next."""
    outset.startable(spec.source())
    ready = outset.ready(place, spec.source(), session=place.session, limits={})
    outset.begin(place, spec.source(), ready=ready)


def build(folder: str, texts: dict[str, str]) -> None:
    """Make a folder with these files, whole or not at all."""
    files.build_folder(folder, texts, beside=os.path.dirname(folder))


def _exists(specs: Specs, folder: str) -> UserError:
    told, kind = f"{os.path.relpath(folder)} exists already", specs.kind
    ways = []
    if folder in specs.folders():
        ways.append(f"`{kind.typed('switch', specs.called(folder))}` goes on with it")
    if kind.anew:
        ways.append(f"`{kind.typed(*kind.anew, os.path.basename(folder))}` makes another")
    return UserError(f"{told}; {', '.join(ways) or 'begin with another name'}.")
