"""How a spec's tasks begin to run: the state enters execution, and the loop is armed, bound or resumed."""

from __future__ import annotations

from typing import Any, NamedTuple

from ralphloop.domain.model import EXECUTION, Task
from ralphloop.domain.prompt import count
from ralphloop.errors import UserError
from ralphloop.loops import bounds, client, outset, pausing
from ralphloop.loops.consent import listing
from ralphloop.loops.place import Place
from ralphloop.loops.result import Quoted, Result, Tell, quiet
from ralphloop.loops.spec import state_file
from ralphloop.loops.spec.catalogue import TASKS, Spec
from ralphloop.loops.spec.state_file import State
from ralphloop.proof.approval import digest, waiting
from ralphloop.store import arming, files, pins, shelf
from ralphloop.store.loop import LoopFiles
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
        found: dict[str, Any] = {"recoveryMode": True} if self.recovery else {}
        if self.task_iterations is not None:
            found["maxTaskIterations"] = self.task_iterations
        if self.global_iterations is not None:
            found["maxGlobalIterations"] = self.global_iterations
        return found


def implement(place: Place, spec: Spec, *, wish: Wish, told: Tell = quiet) -> Result:
    """Run the tasks of a spec in a loop: a new one, or the one that there is. `told` hears at once that this
    one goes on."""
    with state_file.alone(spec.root, place):
        spec.must_keep_documents_inside()
        tasks, state = _tasks(spec), state_file.load(spec)
        if all(task.done for task in tasks):
            nothing = (
                f"Every task of {spec.name} is done ({len(tasks)} in {spec.shown(TASKS)}): nothing is left."
            )
            return Result({"name": spec.name, "loop": None}, (nothing,))
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
    state = state_file.load(spec)
    if state is not None and state.data.get("recoveryMode") is True:
        told.append("Recovery mode is on: a task that keeps failing may get fix tasks.")
    if record.session is None:
        told.append("It binds to the next session started here.")
    return [*told, "", Quoted(client.first_prompt(loop, place))]
