"""How work on a spec ends or moves to another: cancel keeps what was written, switch moves a pointer."""

from __future__ import annotations

import os
import time

from ralphloop.cli.halt import halt
from ralphloop.cli.here import Here
from ralphloop.cli.output import say
from ralphloop.cli.spec import overview, state_file
from ralphloop.cli.spec.catalogue import Specs
from ralphloop.cli.spec.kind import Spec
from ralphloop.cli.spec.state_file import State
from ralphloop.domain.model import CANCELLED, ENDED, LoopState
from ralphloop.store import files
from ralphloop.store.loop import CANCEL, LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.views.snapshot import state_of


def cancel(place: Here, specs: Specs, name: str | None) -> int:
    spec = specs.must_have(name) if name else specs.must_have_current()
    state = state_file.load(spec)
    loop = state_file.loop_to_resume(spec, place)
    if loop is None and state is None:
        say(f"{spec.name} has no loop and no state; nothing to cancel.")
        return 0
    if loop is not None:
        if not halt(loop, CANCEL, settle=_settle, write=LoopFiles.rest, place=place):
            say(f"Type `{spec.typed('cancel')}` again in a moment to clear {spec.shown(spec.kind.state)}.")
            return 0
        say(f"The loop over {spec.name} is cancelled; the agent stops at the end of its turn.")
    if state is not None:
        kept = _keep(place, spec, loop, state=state)
        os.unlink(spec.state_path)
        say(f"The state of {spec.name} is removed; a copy is kept: {kept}")
    following = overview.standing(place, spec).following
    again = f"; `{spec.typed(following)}` begins again" if following else ""
    say(f"Everything else in {spec.shown()} stays{again}.")
    return 0


def _settle(state: LoopState, who: str) -> None:
    state.state, state.outcome, state.detail = ENDED, CANCELLED, f"cancelled by {who}"


def _keep(place: Here, spec: Spec, loop: LoopFiles | None, *, state: State) -> str:
    """Write the copy of a state that is about to go, beside the loop or in the user's state directory."""
    if loop is not None:
        path = os.path.join(loop.own_folder("cancelled"), spec.kind.state)
    else:
        folder = os.path.join(Shelf(spec.root, place.env).folder, "cancelled")
        files.make_folder(folder)
        path = _free_path(
            os.path.join(folder, f"{spec.name}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        )
    files.write_text(path, state.text)
    return os.path.relpath(path) if loop is not None else path


def _free_path(stem: str) -> str:
    path, count = stem + ".json", 1
    while os.path.lexists(path):
        count += 1
        path = f"{stem}-{count}.json"
    return path


def switch(place: Here, specs: Specs, name: str) -> int:
    spec, old = specs.must_have(name), specs.before()
    state_file.load(spec)
    if old is not None and old.folder == spec.folder:
        say(f"{spec.name} is the current {spec.kind.word} already.")
    else:
        os.makedirs(os.path.dirname(specs.pointer), exist_ok=True)
        specs.point_at(spec)
        if old is not None:
            tell_left(place, old)
    overview.tell(place, spec)
    return 0


def tell_left(place: Here, old: Spec) -> None:
    """The loop of the spec that was current before stays as it is; the hook serves the current one only."""
    loop = state_file.loop_over(old, place)
    if loop is not None and state_of(loop).live:
        back, end = old.typed("switch", old.name), old.typed("cancel", old.name)
        say(f"! The loop over {old.name} is left alone: it rests until `{back}`; `{end}` ends it.")
