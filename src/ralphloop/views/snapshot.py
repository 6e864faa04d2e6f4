"""The read model: loops and their tasks as plain data, taken from the store without touching it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ralphloop.agents.registry import client
from ralphloop.agents.transcript import Context
from ralphloop.domain import outage
from ralphloop.domain.ledger import COMMIT_FAULT, Ledger, commit_fault, missing_commits, not_committed, survey
from ralphloop.domain.model import (
    ASKED,
    CLAIMED,
    COMPLETE,
    ENDED,
    FINAL,
    PAUSED,
    RUNNING,
    UNVERIFIED,
    WAITING,
    LoopState,
    TaskList,
)
from ralphloop.domain.table import WAIT, exit_code, outcome
from ralphloop.domain.worklist import Worklist
from ralphloop.engine.account import look
from ralphloop.engine.api_error import masked
from ralphloop.engine.entries import entry_of, new_bytes
from ralphloop.proof import approval, proof_record
from ralphloop.proof.proof_record import ProofRecord, Proven
from ralphloop.store import approvals, pins, shelf, supervisor, tasks
from ralphloop.store.loop import LoopFiles, iso
from ralphloop.store.supervisor import Holder
from ralphloop.tasklists.registry import own_file
from ralphloop.views import figure, journal
from ralphloop.views.figure import Spending, Used

ORPHAN_S = 24 * 3600.0
# of a notice that the client tries again: where it is looked for, and how long it counts
LAST_MAX = 64 * 1024
FRESH_S = 120.0  # the longest pause between two tries is about 40 s: an older notice is a dead client's


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
    beat: float | None = None  # when that one last showed that it lives, if it does such a thing
    left_at: float | None = None  # the last sign of life of a supervisor that is gone, if it is under way
    uncommitted: tuple[str, ...] = ()  # closed tasks whose commit was not made
    commit_fault: str = ""  # and why
    retrying: str = ""  # why the client sends a request again, and has not come further since
    ended_at: float | None = None
    working_s: float | None = None  # how long it worked in all, where somebody counted
    proof: ProofRecord = ProofRecord()  # empty where nothing was tried

    @property
    def live(self) -> bool:
        return self.state not in (PAUSED, ENDED)

    @property
    def undriven(self) -> bool:
        """Whether it is under way, and its supervisor is gone."""
        return self.live and self.supervised and self.driver is None

    @property
    def doubted(self) -> bool:
        """Whether it is complete, and something about its proof is doubtful."""
        return self.outcome == COMPLETE and bool(self.proof.doubts)

    @property
    def mood(self) -> str:
        return WAIT if self.live or self.doubted else outcome(self.outcome).mood

    @property
    def exit_code(self) -> int:
        """What tells how it ended or rests, as it is shown."""
        return exit_code(self.state, self.outcome, uncommitted=bool(self.uncommitted), doubted=self.doubted)

    @property
    def unverified(self) -> int:
        """Tasks that are closed by the agent's word alone."""
        return sum(task.state == UNVERIFIED for task in self.tasks)

    @property
    def claimed(self) -> str | None:
        """The task that is said to be done and is looked at next, if its checks may run."""
        return next((task.id for task in self.tasks if task.state == CLAIMED and not task.held), None)

    @property
    def digest(self) -> str:
        """What the person types to approve the checks that wait."""
        return approval.digest(self.unapproved) if self.unapproved else ""

    def is_orphaned(self, now: float) -> bool:
        """Whether its session is probably gone: no stop for a day."""
        return self.state in (RUNNING, WAITING) and now - self.seen_at > ORPHAN_S

    def is_silent(self, now: float) -> bool:
        """Whether its supervisor is stopped or hangs: it is there, and has given no sign of life."""
        return supervisor.is_silent(self.beat, now)

    def to_json(self) -> dict[str, Any]:
        data = self._asdict()
        data["tasks"] = [task.to_json() for task in self.tasks]
        data["unapproved"] = list(self.unapproved)
        data["uncommitted"] = list(self.uncommitted)
        data["digest"] = self.digest
        data["limits"] = {limit.name: {"used": limit.used, "most": limit.most} for limit in self.limits}
        data["context"] = self.context and self.context._asdict()
        data["spent"] = self.spent and self.spent.to_json()
        del data["proof"]
        return {**data, **proof_json(self.proof)}


TRIED = ("first", "alone", "without", "why")  # of what a command came to, what a program is told


def proof_json(proof: ProofRecord) -> dict[str, Any]:
    """The same keys wherever a loop is told of as JSON."""
    return {
        "doubts": [one.to_json() for one in proof.doubts],
        "notes": [one.to_json() for one in proof.notes],
        "tried": {command: dict(zip(TRIED, row, strict=False)) for command, row in proof.tried.items()},
        "proven": proof.proven._asdict() if proof.proven != Proven() else None,
    }


def view_of(loop: LoopFiles, *, now: float) -> LoopView:
    record, state = loop.record, loop.state()
    listed, ledger, work, unread = _tasks(loop)
    waiting = [] if state.outcome in FINAL else approvals.unapproved(loop.shelf, listed)
    view = LoopView(
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
        fault=unread,
        tasks=_task_views(listed, ledger, state, waiting),
        unapproved=tuple(waiting),
        void=approvals.why_void(loop.shelf) if waiting else "",
        waker=supervisor.waker_of(loop, state) or None,
        ended_at=ended_at(loop) if state.state == ENDED else None,
        proof=proof_record.load(loop),
    )
    driven = _with_driver(view, loop, state, supervisor.holder(loop))
    until = worked_until(state, left_at=driven.left_at, now=now)
    used = figure.used(record.limits, state, None, until=until)
    return _with_commits(driven._replace(limits=used), loop, listed, ledger)


def _with_driver(view: LoopView, loop: LoopFiles, state: LoopState, holder: Holder | None) -> LoopView:
    return view._replace(
        supervised=loop.record.supervision is not None,
        driver=holder.pid if holder is not None else None,
        beat=supervisor.last_beat(loop, holder),
        left_at=left_at(loop, state, holder),
    )


def left_at(loop: LoopFiles, state: LoopState, holder: Holder | None) -> float | None:
    """The last sign of life of a supervisor that was killed; None where there is none to miss."""
    if holder is not None or not state.live or loop.record.supervision is None:
        return None
    return supervisor.last_beat(loop, supervisor.last(loop)) or state.seen_at


def _with_commits(view: LoopView, loop: LoopFiles, listed: TaskList, ledger: Ledger) -> LoopView:
    """The same with what was to be committed and was not."""
    missing = missing_commits(loop.record.supervision, ledger, listed)
    if view.live or view.driver is not None:  # somebody is at it: what has failed once
        missing = [task for task in missing if COMMIT_FAULT in ledger.tasks[task]]
    is_told = view.outcome == COMPLETE and missing
    return view._replace(
        detail=not_committed(missing) if is_told else view.detail,
        uncommitted=tuple(missing),
        commit_fault=commit_fault(ledger, missing),
    )


def ended_at(loop: LoopFiles) -> float | None:
    """When its record was put among those that are over."""
    try:
        return os.stat(os.path.join(loop.shelf.folder, shelf.ENDED, loop.record.id + ".json")).st_mtime
    except OSError:
        return None


def worked_until(state: LoopState, *, left_at: float | None, now: float) -> float:
    """Until when it has worked: now, as the next stop will count, or the last sign of a dead supervisor."""
    if not state.live:
        return state.seen_at
    return now if left_at is None else left_at


def with_context(view: LoopView, loop: LoopFiles) -> LoopView:
    return view._replace(context=figure.context(loop.state()))


def with_retry(view: LoopView, loop: LoopFiles, env: Mapping[str, str]) -> LoopView:
    """The same with the API error that its session is at, which no hook is told of."""
    if not view.live:
        return view
    known, transcript_of = loop.state().transcripts, client().usage.transcript_of
    return view._replace(
        retrying=masked(last_retry(transcript_of(view.owner or "", root=view.root, known=known, env=env)))
    )


def with_spending(view: LoopView, loop: LoopFiles, *, env: Mapping[str, str], now: float) -> LoopView:
    """The same with tokens and dollars, for which the transcripts are read from end to end."""
    state = loop.state()
    until = worked_until(state, left_at=view.left_at, now=now)
    account = look(loop, state, env=env)
    spent = figure.spending_of(account)
    return view._replace(
        spent=spent,
        limits=figure.used(loop.record.limits, state, spent, until=until),
        working_s=journal.work_in(account.parts, end=until),
    )


def _tasks(loop: LoopFiles) -> tuple[TaskList, Ledger, Worklist, str]:
    try:
        return (*tasks.look(loop), "")
    except (ValueError, OSError) as error:
        from ralphloop.views import json_slip  # only for a list that is broken

        none, ledger = TaskList([]), loop.load_ledger()
        return none, ledger, survey(none, ledger), json_slip.fault(loop.record, error)


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
    """What is at work, what waits for the person, what else rests; then what ended, the last one first."""
    return sorted(views, key=_rank)


def _rank(view: LoopView) -> tuple[int, float]:
    if view.live:
        return 0, -view.started_at
    if view.state == ENDED:
        return 3, -(view.ended_at or view.seen_at)
    return (1 if outcome(view.outcome).person else 2), -view.started_at


def last_retry(path: str) -> str:
    """The reason of the retry that the transcript ends with; empty where anything came after it."""
    found = new_bytes(path, 0, LAST_MAX) if path else None
    if found is None or b'"api_error"' not in found[0]:
        return ""
    for raw in reversed(found[0].splitlines()):
        entry = entry_of(raw) or {}
        if entry.get("subtype") == "api_error":
            is_fresh = str(entry.get("timestamp") or "") >= iso(time.time() - FRESH_S)
            return outage.retrying(entry) if is_fresh else ""
        if entry.get("type") in ("assistant", "user"):
            return ""
    return ""
