"""How work on a spec ends or moves to another: cancel keeps what was written, switch moves a pointer."""

from __future__ import annotations

import os
import shutil
import time

from ralphloop.agents.presence import agent_in
from ralphloop.domain.model import COMPLETE, ENDED, EXECUTION, FINAL, PAUSED
from ralphloop.errors import UserError
from ralphloop.loops.opened import locked, must_not_be_anothers
from ralphloop.loops.pausing import halt, held_later
from ralphloop.loops.place import Place
from ralphloop.loops.result import Result, Tell, quiet
from ralphloop.loops.spec import overview, state_file
from ralphloop.loops.spec.catalogue import IMPLEMENT, Spec, Specs
from ralphloop.store import files
from ralphloop.store.loop import CANCEL, PAUSE, LoopFiles
from ralphloop.store.shelf import Shelf


def cancel(place: Place, specs: Specs, *, name: str | None, told: Tell = quiet) -> Result:
    """End the loop and put the state away; documents stay. `told` hears at once that a loop has ended."""
    spec = specs.must_have(name) if name else specs.must_have_current()
    with state_file.alone(specs.root, place):
        loop = state_file.last_loop(spec, place)
        outcome = loop.state().outcome if loop is not None else None
        if outcome == COMPLETE and state_file.known(spec).phase == EXECUTION:
            return _result(spec, [f"The loop over {spec.name} is complete, and stays so; nothing to cancel."])
        loop = None if outcome in FINAL else loop
        if loop is None and not os.path.lexists(spec.state_path):
            return _result(spec, [f"{spec.name} has no loop and no state; nothing to cancel."])
        ended, said = True, list[str]()
        if loop is not None:
            ended, said = _end(place, spec, loop=loop, again=specs.called(spec.folder))
        for line in said:
            told(line)
        rest = [*_put_away(place, spec, loop=loop), _rest(place, spec, specs=specs)] if ended else []
    return _result(spec, rest)


def _result(spec: Spec, told: list[str]) -> Result:
    return Result({"name": spec.name}, tuple(told))


def _end(place: Place, spec: Spec, *, loop: LoopFiles, again: str) -> tuple[bool, list[str]]:
    """End the loop; False if it can only end at the next stop, or was complete when its turn came. And what
    to say of that."""
    _must_be_ours(place, loop)
    if not halt(loop, CANCEL, place=place, is_late=lambda state: state.outcome == COMPLETE):
        how = f"Type `{spec.typed('cancel', again)}` again in a moment to clear"
        return False, [held_later(loop, CANCEL), f"{how} {spec.shown(spec.kind.state)}."]
    if loop.state().outcome == COMPLETE:
        return False, [f"The loop over {spec.name} has just been completed, and stays so."]
    return True, [f"The loop over {spec.name} is cancelled; the agent stops at the end of its turn."]


def _must_be_ours(place: Place, loop: LoopFiles) -> None:
    """An agent ends its own session's loop only; the person, who types or sits at a terminal, any."""
    if not agent_in(place.env):
        return
    try:
        must_not_be_anothers(place, loop)
    except UserError as error:
        end = f"`ralphloop cancel {loop.record.name}` in a terminal"
        raise UserError(f"{error} The person may end it: {end}.") from None


def _put_away(place: Place, spec: Spec, *, loop: LoopFiles | None) -> list[str]:
    """Move the state, whatever it is, beside the loop or into the user's state directory."""
    if not os.path.lexists(spec.state_path):
        return []
    spec.must_keep_inside(spec.kind.state)
    if loop is not None:
        kept = os.path.join(loop.own_folder("cancelled"), spec.kind.state)
    else:
        folder = os.path.join(Shelf(spec.root, place.env).folder, "cancelled")
        files.make_folder(folder)
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        kept = _free_path(os.path.join(folder, f"{spec.name}-{moment}"))
    text = files.read_quietly(spec.state_path)
    if text is None:
        shutil.move(spec.state_path, kept)  # not a file that could be read
    else:
        files.write_text(kept, text)
        os.unlink(spec.state_path)
    shown = os.path.relpath(kept) if loop is not None else kept
    return [f"The state of {spec.name} is removed; a copy is kept: {shown}"]


def _rest(place: Place, spec: Spec, *, specs: Specs) -> str:
    following = overview.standing(place, spec).following
    again = f"; `{spec.typed(following)}` begins again" if following else ""
    if again and specs.pointed_at() != spec.folder:
        again += f" after `{spec.typed('switch', specs.called(spec.folder))}`"
    return f"Everything else in {spec.shown()} stays{again}."


def _free_path(stem: str) -> str:
    path, count = stem + ".json", 1
    while os.path.lexists(path):
        count += 1
        path = f"{stem}-{count}.json"
    return path


def switch(place: Place, specs: Specs, *, name: str) -> Result:
    """Make another one the current one."""
    spec, old = specs.must_have(name), specs.before()
    state_file.load(spec)
    spec.must_keep_documents_inside()
    if old is not None and old.folder == spec.folder:
        told = [f"{spec.name} is the current {spec.kind.word} already."]
    else:
        specs.point_at(spec)
        told = left_behind(place, old, specs=specs, new=spec)
    return _result(spec, [*told, *overview.tell(place, spec)])


def left_behind(place: Place, old: Spec | None, *, specs: Specs, new: Spec) -> list[str]:
    """The loop of the spec that was current before: the person lets it rest by this, an agent does not."""
    loop = state_file.loop_over(old, place) if old is not None else None
    if old is None or loop is None or loop.state().state == ENDED:
        return []
    if not loop.state().live and not agent_in(place.env):
        _let_go(loop, loop.state().detail)  # it rests already, and holds its session no longer
    if not loop.state().live:
        return []
    name = specs.called(old.folder)
    back, end = old.typed("switch", name), old.typed("cancel", name)
    if agent_in(place.env):
        leave = new.typed("switch", specs.called(new.folder))
        return [f"! The loop over {old.name} goes on: only the person leaves it, by typing `{leave}`."]
    again = f"`{back}`, then `{old.typed(IMPLEMENT)}`, goes on; `{end}` ends it"
    if not halt(loop, PAUSE, place=place, is_late=lambda state: not state.live):
        return [held_later(loop, PAUSE), f"{again[0].upper()}{again[1:]}."]
    _let_go(loop, f"the person switched to {new.name}")
    return [f"! The loop over {old.name} is paused. {again}."]


def _let_go(loop: LoopFiles, why: str) -> None:
    """Say why it rests; its session may have another loop now, unless a supervisor holds it."""
    with locked(loop):
        state = loop.state()
        if state.state == PAUSED:
            state.detail = why
            loop.save(state)
        if loop.record.supervision is None:
            with loop.shelf.lock():
                loop.put_away()
