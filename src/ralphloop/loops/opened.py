"""One loop opened for a change: its state, ledger and tasks, under its lock; and what refuses a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ralphloop import spelling
from ralphloop.domain.ledger import name_tasks, survey
from ralphloop.domain.model import COMPLETE, FINAL, LoopState, Task
from ralphloop.domain.prompt import done
from ralphloop.domain.worklist import Worklist
from ralphloop.engine import amendment
from ralphloop.errors import BusyError, UserError
from ralphloop.loops.place import Place
from ralphloop.store import supervisor, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file

WAIT_S = 3.0  # a stop takes less


class Opened:
    def __init__(self, loop: LoopFiles, *, final: bool = False) -> None:
        self.loop = loop
        self.state = loop.state()
        self.ledger = loop.load_ledger()
        if not final:
            must_go_on(loop, self.state)
        try:
            self.tasks = tasks.parse_source(loop.record)
        except (ValueError, OSError) as error:
            told = f"the tasks of {loop.record.name} cannot be read: {error}"
            raise UserError(f"{told}. Repair {own_file(loop.record)} and try again.") from None
        name_tasks(self.tasks, self.ledger)

    def guard(self) -> list[str]:
        """Put the pinned criteria back before a claim is judged by them; what there is to say about it."""
        self.tasks, notes = tasks.with_pins(self.loop, self.ledger)
        return notes

    def index(self, task_id: str) -> int:
        ids = [task.id for task in self.tasks.tasks]
        if task_id in ids:
            return ids.index(task_id)
        near = spelling.near(task_id, ids, most=3, cutoff=0.5)  # one other letter is half of an id
        told = f"did you mean {' or '.join(near)}? " if near else ""
        name = self.loop.record.name
        raise UserError(f"{name} has no task {task_id}; {told}`ralphloop status {name}` lists the ids.")

    def task(self, task_id: str) -> Task:
        return self.tasks.tasks[self.index(task_id)]

    def work(self) -> Worklist:
        return survey(self.tasks, self.ledger)

    def tally(self) -> str:
        """`2/3 done, next F3.`: how far the loop is."""
        work = self.work()
        text = done(work.closed, work.total)
        if work.next:
            return f"{text}, next {work.next[0].id}."
        if work.complete:
            return text + ", nothing is left to do."
        waiting = ", ".join(task for task, _ in work.asked)
        return f"{text}, waits for the person: {waiting}." if waiting else text + "."

    def save(self, event: str, **facts: Any) -> None:
        amendment.save(self.loop, self.state, self.ledger, event, **facts)


@contextmanager
def open_loop(loop: LoopFiles, *, final: bool = False) -> Iterator[Opened]:
    """The loop under its lock; one that is over for good only where `final` says so."""
    with locked(loop):
        yield Opened(loop, final=final)


@contextmanager
def locked(loop: LoopFiles) -> Iterator[None]:
    """The loop's lock, for a command that does not wait for long."""
    try:
        with loop.lock(wait_s=WAIT_S):
            loop.load()  # an error where a newer version wrote it: that is nobody's to change here
            yield
    except BusyError:
        raise UserError(f"the loop {loop.record.name} is busy with a stop; try again in a moment.") from None


def must_not_be_anothers(place: Place, loop: LoopFiles) -> None:
    """An agent speaks for its own session's loop only; the person, outside a client, for any."""
    owner = loop.record.session
    if place.session and owner and owner != place.session:
        name = loop.record.name
        raise UserError(f"the loop {name} belongs to session {owner}, not to this one ({place.session}).")


def must_go_on(loop: LoopFiles, state: LoopState) -> None:
    """Refuse to change a loop that is over for good."""
    if state.outcome in FINAL:
        name, more = loop.record.name, ""
        if state.outcome == COMPLETE:
            more = f"every task is done: add one to {own_file(loop.record)}, then "
        raise UserError(
            f"the loop {name} is {state.outcome}; {more}`ralphloop start {name}` begins a new one."
        )


def driven_already(loop: LoopFiles, *, limits: Iterable[str] = ()) -> UserError:
    """Of a loop that a supervisor drives; `limits` were to be others."""
    name, holder = loop.record.name, supervisor.last(loop)
    if holder.phase == supervisor.PAUSED:
        told = f"`ralphloop resume {name}`, or `p` in its view, goes on"
        return UserError(f"{name} is paused, and process {holder.pid} waits for you: {told}.")
    by = f", by process {holder.pid}" if holder.pid else ""  # which it has not said yet
    more = f" `ralphloop limit {name}` with these options changes its limits while it runs." if limits else ""
    return UserError(
        f"{name} is driven already{by}; `ralphloop watch {name}` shows it, `ralphloop pause {name}` lets it "
        f"stop.{more}"
    )
