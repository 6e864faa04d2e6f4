"""The loop over a spec: begun or gone on with, ended without a loss, or left for that of another."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any, NamedTuple

from ralphloop.agents.registry import agent_in
from ralphloop.domain.model import COMPLETE, ENDED, EXECUTION, FINAL, PAUSED, Task
from ralphloop.domain.prompt import count
from ralphloop.errors import UserError
from ralphloop.loops import bounds, outset, pausing, setup
from ralphloop.loops.consent import listing
from ralphloop.loops.opened import locked, must_not_be_anothers
from ralphloop.loops.pausing import halt, held_later
from ralphloop.loops.place import Place
from ralphloop.loops.result import Quoted, Result, Tell, quiet
from ralphloop.loops.spec import course, state_file
from ralphloop.loops.spec.catalogue import IMPLEMENT, TASKS, Spec, Specs
from ralphloop.loops.spec.state_file import State
from ralphloop.proof.approval import digest, waiting
from ralphloop.store import arming, files, pins, shelf
from ralphloop.store.loop import CANCEL, PAUSE, LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.store.tasks import keep_begun
from ralphloop.tasklists import boxes


class Wish(NamedTuple):
    """What was asked for beyond the defaults."""

    task_iterations: int | None = None
    global_iterations: int | None = None
    recovery: bool = False

    @property
    def limits(self) -> dict[str, float]:
        given = {"iterations": self.global_iterations, "attempts": self.task_iterations}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def fields(self) -> dict[str, Any]:
        given = {
            "recoveryMode": self.recovery or None,
            "maxTaskIterations": self.task_iterations,
            "maxGlobalIterations": self.global_iterations,
        }
        return {name: value for name, value in given.items() if value is not None}


def implement(place: Place, spec: Spec, *, wish: Wish, told: Tell = quiet) -> Result:
    """Run the tasks of a spec in a loop: a new one, or the one that there is. `told` hears at once that this
    one goes on."""
    with state_file.alone(spec.root, place):
        spec.must_keep_documents_inside()
        tasks, state = _tasks(spec), state_file.load(spec)
        if all(task.done for task in tasks):
            done = f"Every task of {spec.name} is done ({len(tasks)} in {spec.shown(TASKS)})"
            return Result({"name": spec.name, "loop": None}, (f"{done}: nothing is left.",))
        loop = state_file.loop_to_resume(spec, place)
        if loop is None:
            loop, before = _begin(place, spec, wish=wish, state=state, tasks=tasks)
        else:
            before = []
            for line in _go_on(place, spec, loop=loop, wish=wish):
                told(line)
            loop = _enter(place, spec, wish=wish, tasks=tasks)
        said = _told(place, spec, loop=loop, tasks=tasks)
    return Result({"name": spec.name, "loop": loop.record.id}, (*before, *said))


def _tasks(spec: Spec) -> list[Task]:
    text, how = spec.read(TASKS), spec.typed("tasks")
    if text is None:
        raise UserError(f"{spec.shown(TASKS)} is missing; `{how}` writes it.")
    found = boxes.parse(text)
    if not found:
        raise UserError(
            f"{spec.shown(TASKS)} has no task (a line like `- [ ] 1.1 Do it`); `{how}` writes some."
        )
    return found


def _fields(spec: Spec, wish: Wish, *, tasks: list[Task]) -> dict[str, Any]:
    """What the state says while its tasks are run."""
    quick = {"quickMode": False} if "quickMode" in spec.kind.choices else {}
    return {
        "phase": EXECUTION,
        "awaitingApproval": False,
        **quick,
        "totalTasks": len(tasks),
        "taskIndex": next(at for at, task in enumerate(tasks) if not task.done),
        **wish.fields,
    }


def _begin(
    place: Place, spec: Spec, *, wish: Wish, state: State | None, tasks: list[Task]
) -> tuple[LoopFiles, list[str]]:
    """A new loop over the spec, whose count begins anew, and what may keep it from working; if it cannot
    begin, the state is as before."""
    source, wrote = spec.source(), ""
    fields = {**_fields(spec, wish, tasks=tasks), "taskIteration": 1, "globalIteration": 1}
    try:
        if state is None:
            wrote = state_file.edit(spec, None, fields=fields)
        ready = outset.ready(place, source, session=place.session, limits=wish.limits)
        wrote = wrote or state_file.edit(spec, state, fields=fields)
        outset.startable(source)
        loop = outset.begin(place, source, ready=ready)
    except BaseException:
        state_file.put_back(spec, state, wrote=wrote)
        raise
    doubts = [] if place.session else [f"! {check.told}" for check in ready.checks if not check.fine]
    return loop, doubts


def _go_on(place: Place, spec: Spec, *, loop: LoopFiles, wish: Wish) -> list[str]:
    """Go on with the loop that there is, if it is this session's to go on with."""
    record, state = loop.record, loop.state()
    if record.session is None and place.session:
        if arming.bind(record, loop.shelf, session=place.session) is None:
            raise UserError(
                f"this session has a loop already, and {record.id} waits for another session; "
                "`ralphloop status` shows both."
            )
    elif record.session != place.session:
        raise UserError(
            f"the loop over {spec.name} ({record.id}) belongs to session {record.session}; "
            f"`ralphloop resume {record.name} --adopt` takes it over, `{spec.typed('cancel')}` ends it."
        )
    if state.live and not wish.limits and not loop.request():
        return [f"The loop over {spec.name} is under way already."]
    return pausing.go_on(place, loop, limits=wish.limits, owner=record.session)


def _enter(place: Place, spec: Spec, *, wish: Wish, tasks: list[Task]) -> LoopFiles:
    """The state and the pins of a loop that may have begun before there were tasks."""
    with state_file.held(spec, place) as loop:
        assert loop is not None, "it goes on"
        wrote = state_file.edit(spec, state_file.load(spec), fields=_fields(spec, wish, tasks=tasks))
        keep_begun(loop, wrote)
        if pins.pinned(loop) is None:
            pins.pin(loop, {"tasks": files.read_text(spec.path(TASKS))})
        loop.record.unapproved = bool(waiting(loop))
        with loop.shelf.lock():
            loop.shelf.put(loop.record, shelf.OWNED if loop.record.session is not None else shelf.ARMED)
    return loop


def _told(place: Place, spec: Spec, *, loop: LoopFiles, tasks: list[Task]) -> list[str]:
    record = loop.record
    left = sum(1 for task in tasks if not task.done)
    limits = f"{bounds.told(record.limits)}, {record.limits.attempts:.0f} attempts at a task"
    told = [f"Loop {record.id} over {spec.shown()}: {count(len(tasks), 'task')}, {left} open; {limits}."]
    commands = waiting(loop)
    if commands:
        typed = f"{spec.typed('approve')} {digest(commands)}"
        told += listing(commands)
        told.append(f"! Not approved: none of it runs, and the loop goes on. The person allows it: `{typed}`")
    if state_file.known(spec).data.get("recoveryMode") is True:
        told.append("Recovery mode is on: a task that keeps failing may get fix tasks.")
    if record.session is None:
        told.append("It binds to the next session started here.")
    return [*told, "", Quoted(setup.first_prompt(loop, place))]


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
        ended = loop is None or _end(place, spec, loop=loop, again=specs.called(spec.folder), told=told)
        rest = [*_put_away(place, spec, loop=loop), _rest(place, spec, specs=specs)] if ended else []
    return _result(spec, rest)


def _result(spec: Spec, told: list[str]) -> Result:
    return Result({"name": spec.name}, tuple(told))


def _end(place: Place, spec: Spec, *, loop: LoopFiles, again: str, told: Tell) -> bool:
    """End the loop; False if it can only end at the next stop, or was complete when its turn came."""
    _must_be_ours(place, loop)
    if not halt(loop, CANCEL, place=place, is_late=lambda state: state.outcome == COMPLETE):
        how = f"Type `{spec.typed('cancel', again)}` again in a moment to clear"
        told(held_later(loop, CANCEL))
        told(f"{how} {spec.shown(spec.kind.state)}.")
        return False
    if loop.state().outcome == COMPLETE:
        told(f"The loop over {spec.name} has just been completed, and stays so.")
        return False
    told(f"The loop over {spec.name} is cancelled; the agent stops at the end of its turn.")
    return True


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
    following = course.standing(place, spec).following
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
    return _result(spec, [*told, *course.tell(place, spec)])


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
