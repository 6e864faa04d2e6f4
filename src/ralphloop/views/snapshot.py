"""The read model: loops and their tasks as plain data, taken from the store without touching it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ralphloop.domain.ledger import Ledger, name_tasks, settle
from ralphloop.domain.model import ASKED, CORRUPT, ENDED, FINAL, PAUSED, RUNNING, WAITING, LoopState, TaskList
from ralphloop.domain.survey import survey
from ralphloop.domain.worklist import Worklist
from ralphloop.store import tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file

ORPHAN_S = 24 * 3600.0


class TaskView(NamedTuple):
    id: str
    title: str
    state: str
    attempts: int
    question: str


class LoopView(NamedTuple):
    id: str
    name: str
    layout: str
    root: str
    path: str  # of the file without which there is no loop
    state: str
    outcome: str | None
    detail: str
    requested: str  # a cancel or pause that holds at the next stop
    iteration: int
    max_iterations: int
    done: int
    total: int
    next: str | None
    owner: str | None
    started_at: float
    seen_at: float
    resume_at: float | None
    fault: str  # why the tasks cannot be read
    tasks: tuple[TaskView, ...]

    @property
    def live(self) -> bool:
        return self.state not in (PAUSED, ENDED)

    def is_orphaned(self, now: float) -> bool:
        """Whether its session is probably gone: no stop for a day."""
        return self.state in (RUNNING, WAITING) and now - self.seen_at > ORPHAN_S

    def to_json(self) -> dict[str, Any]:
        data = self._asdict()
        data["tasks"] = [
            {"id": task.id, "title": task.title, "state": task.state, "attempts": task.attempts}
            for task in self.tasks
        ]
        return data


def view_of(loop: LoopFiles) -> LoopView:
    record, state = loop.record, state_of(loop)
    listed, ledger, fault = _tasks(loop)
    work = survey(listed, ledger)
    return LoopView(
        id=record.id,
        name=record.name,
        layout=record.layout,
        root=record.root,
        path=own_file(record),
        state=state.state,
        outcome=state.outcome,
        detail=state.detail,
        requested=loop.request() if state.live else "",
        iteration=state.iteration,
        max_iterations=int(record.limits.iterations),
        done=work.closed,
        total=work.total,
        next=_next(work, state),
        owner=state.owner or record.session,
        started_at=state.started_at,
        seen_at=state.seen_at,
        resume_at=state.resume_at,
        fault=fault,
        tasks=_task_views(listed, ledger, state),
    )


def state_of(loop: LoopFiles) -> LoopState:
    """The loop's state; if both copies of it are lost, what its arming still says."""
    known = loop.load()
    if known is not None:
        return known
    record = loop.record
    return LoopState(
        id=record.id,
        layout=record.layout,
        name=record.name,
        owner=record.session,
        state=PAUSED,
        outcome=CORRUPT,
        detail="its loop.json is lost",
    )


def _tasks(loop: LoopFiles) -> tuple[TaskList, Ledger, str]:
    ledger = loop.load_ledger()
    try:
        listed = tasks.parse_source(loop.record)
    except (ValueError, OSError) as error:
        return TaskList(()), ledger, str(error)
    name_tasks(listed, ledger)
    settle(listed, ledger)
    return listed, ledger, ""


def _next(work: Worklist, state: LoopState) -> str | None:
    return work.next[0].id if work.next and state.outcome not in FINAL else None


def _task_views(listed: TaskList, ledger: Ledger, state: LoopState) -> tuple[TaskView, ...]:
    return tuple(
        TaskView(
            task.id,
            task.title,
            said := ledger.state(task),
            state.attempts.get(task.id, 0),
            (ledger.tasks.get(task.id, {}).get("question") or task.needs_human) if said == ASKED else "",
        )
        for task in listed.tasks
    )


def in_order(views: Iterable[LoopView]) -> list[LoopView]:
    """Active loops first, then the newest."""
    return sorted(views, key=lambda view: (not view.live, -view.started_at))
