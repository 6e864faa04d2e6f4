"""The read model: loops and their tasks as plain data, taken from the store without touching it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ralphloop.agents.usage import Context
from ralphloop.domain.ledger import Ledger
from ralphloop.domain.model import (
    ASKED,
    CLAIMED,
    ENDED,
    FINAL,
    PAUSED,
    RUNNING,
    WAITING,
    LoopState,
    TaskList,
)
from ralphloop.domain.survey import survey
from ralphloop.domain.worklist import Worklist
from ralphloop.evidence import approval
from ralphloop.store import approvals, pins, supervisor, tasks, waker
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file
from ralphloop.views import spending
from ralphloop.views.figure import Used
from ralphloop.views.history import history_of, stretches
from ralphloop.views.spending import Spending

ORPHAN_S = 24 * 3600.0


class TaskView(NamedTuple):
    id: str
    title: str
    state: str
    attempts: int
    question: str
    added: bool = False
    held: bool = False  # claimed, and its checks wait for the person's approval

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "state": self.state,
            "attempts": self.attempts,
        }
        return {**data, "added": True} if self.added else data


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
    edited: bool  # the list has other criteria than it began with, and nobody approved them
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
    unapproved: tuple[str, ...] = ()  # checks that may not run yet
    void: str = ""  # why no approval counts where the state directory is
    limits: tuple[Used, ...] = ()
    context: Context | None = None
    spent: Spending | None = None  # None where nobody counted
    waker: int | None = None  # the process that wakes its session at `resume_at`
    supervised: bool = False  # its sessions are, or were, those of a supervisor
    driver: int | None = None  # the process of the supervisor, while it lives

    @property
    def live(self) -> bool:
        return self.state not in (PAUSED, ENDED)

    @property
    def digest(self) -> str:
        """What the person types to approve the checks that wait."""
        return approval.digest(self.unapproved) if self.unapproved else ""

    def is_orphaned(self, now: float) -> bool:
        """Whether its session is probably gone: no stop for a day."""
        return self.state in (RUNNING, WAITING) and now - self.seen_at > ORPHAN_S

    def to_json(self) -> dict[str, Any]:
        data = self._asdict()
        data["tasks"] = [task.to_json() for task in self.tasks]
        data["unapproved"] = list(self.unapproved)
        data["digest"] = self.digest
        data["limits"] = {limit.name: {"used": limit.used, "most": limit.most} for limit in self.limits}
        data["context"] = self.context and self.context._asdict()
        data["spent"] = self.spent and self.spent.to_json()
        return data


def view_of(loop: LoopFiles) -> LoopView:
    record, state = loop.record, loop.state()
    listed, ledger, work, fault = _tasks(loop)
    waiting = [] if state.outcome in FINAL else approvals.unapproved(loop.shelf, listed)
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
        edited=not state.live and state.outcome not in FINAL and pins.has_edits(loop),
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
        tasks=_task_views(listed, ledger, state, waiting),
        unapproved=tuple(waiting),
        void=approvals.why_void(loop.shelf) if waiting else "",
        limits=spending.used(record.limits, state, None),
        waker=waker.pid_of(loop, state) or None,
        supervised=record.supervision is not None,
        driver=supervisor.last(loop).pid if supervisor.is_held(loop) else None,
    )


def with_context(view: LoopView, loop: LoopFiles) -> LoopView:
    return view._replace(context=spending.context(loop.state()))


def with_spending(view: LoopView, loop: LoopFiles, *, now: float) -> LoopView:
    """The same with tokens and dollars, for which the transcripts are read from end to end."""
    state = loop.state()
    end = now if state.live else state.seen_at
    entries = history_of(loop).entries
    under_way = stretches(entries, begin=state.started_at, end=end)
    spent = spending.spending_of(state, under_way, entries=entries)
    return view._replace(spent=spent, limits=spending.used(loop.record.limits, state, spent))


def _tasks(loop: LoopFiles) -> tuple[TaskList, Ledger, Worklist, str]:
    try:
        return (*tasks.look(loop), "")
    except (ValueError, OSError) as error:
        none, ledger = TaskList(()), loop.load_ledger()
        return none, ledger, survey(none, ledger), str(error)


def _next(work: Worklist, state: LoopState) -> str | None:
    return work.next[0].id if work.next and state.outcome not in FINAL else None


def _task_views(
    listed: TaskList, ledger: Ledger, state: LoopState, waiting: Iterable[str]
) -> tuple[TaskView, ...]:
    wanted = set(waiting)
    return tuple(
        TaskView(
            task.id,
            task.title,
            said := ledger.state(task),
            state.attempts.get(task.id, 0),
            (ledger.tasks.get(task.id, {}).get("question") or task.needs_human) if said == ASKED else "",
            added="added" in ledger.tasks.get(task.id, {}),
            held=said == CLAIMED and not wanted.isdisjoint(task.verify),
        )
        for task in listed.tasks
    )


def in_order(views: Iterable[LoopView]) -> list[LoopView]:
    """Active loops first, then the newest."""
    return sorted(views, key=lambda view: (not view.live, -view.started_at))
