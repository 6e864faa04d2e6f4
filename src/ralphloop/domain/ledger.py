"""What a loop knows about its tasks that the list does not say: how each was closed, asked, set aside, and
which of them wait for a commit: those closed in this loop, once for each proof."""

from __future__ import annotations

from ralphloop.domain.model import (
    ASKED,
    CLAIMED,
    CLOSED,
    GIVEN,
    OPEN,
    PROVEN,
    SET_ASIDE,
    SKIPPED,
    UNVERIFIED,
    VOUCHED,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Optional

    from ralphloop.domain.model import Task, TaskList
    from ralphloop.domain.supervision import Supervision

COMMIT_FAULT = "commit_fault"  # of a task: why its last commit was not made


class Ledger:
    """What a loop knows about its tasks that the list does not say."""

    __slots__ = ("names", "tasks")

    def __init__(self) -> None:
        # id -> {"state", "question", "answer", "why", "evidence", "added", "modified", "was"}
        self.tasks: dict[str, dict[str, str]] = {}
        # description -> id, for tasks that came without one
        self.names: dict[str, str] = {}

    def to_json(self) -> dict[str, Any]:
        return {"tasks": self.tasks, "names": self.names}

    @classmethod
    def from_json(cls, data: Any) -> Ledger:
        ledger = cls()
        if isinstance(data, dict):
            tasks, names = data.get("tasks"), data.get("names")
            if isinstance(tasks, dict):
                ledger.tasks = {k: _texts(v) for k, v in tasks.items() if isinstance(v, dict)}
            if isinstance(names, dict):
                ledger.names = _texts(names)
        return ledger

    def note(self, task_id: str, **values: str) -> None:
        self.tasks.setdefault(task_id, {}).update(values)

    def drop(self, task_id: str, key: str) -> None:
        self.tasks.get(task_id, {}).pop(key, None)

    def claim(self, task_id: str, state: str) -> None:
        """It is said to be done; what the loop went on without is that again if the claim is taken back."""
        was = self.tasks.get(task_id, {}).get("state", "")
        self.note(task_id, state=state)
        if was in (SKIPPED, SET_ASIDE):
            self.note(task_id, was=was)

    def reopen(self, task_id: str) -> None:
        """A claim is taken back: the task is what it was before, open or left out."""
        was = self.tasks.get(task_id, {}).pop("was", "")
        self.drop(task_id, "state")
        if was:
            self.note(task_id, state=was)

    def state(self, task: Task) -> str:
        known = self.tasks.get(task.id, {})
        said = known.get("state", "")
        if task.done:
            return said if said in CLOSED else _claim(task)
        if said in (VOUCHED, SKIPPED, SET_ASIDE):
            return said
        if (known.get("question") or task.needs_human) and not known.get("answer"):
            return ASKED
        return OPEN


def _claim(task: Task) -> str:
    """What a task is that says it is done, and of which nothing else is known."""
    return CLAIMED if task.verify or task.guarded else UNVERIFIED


def _texts(data: dict[str, Any]) -> dict[str, str]:
    return {key: value for key, value in data.items() if isinstance(value, str)}


def name_tasks(tasks: TaskList, ledger: Ledger) -> None:
    """Give each task without an id its place, and the same one again for the same description."""
    named = [task for task in tasks.tasks if task.id]
    given: set[str] = set()
    taken = {task.id for task in named}
    taken.update(ledger.names.values())
    seen: dict[str, int] = {}
    for place, task in enumerate(tasks.tasks, 1):
        if task.id:
            continue
        twins = seen[task.title] = seen.get(task.title, 0) + 1
        title = task.title if twins == 1 else "%s\0%d" % (task.title, twins)
        known = ledger.names.get(title)
        if known is None:
            known = str(place)
            while known in taken:
                place += 1
                known = str(place)
            taken.add(known)
            ledger.names[title] = known
        task.id = known
        given.add(known)
    for task in named if given else ():
        while task.id in given:  # added later with the number that another task was given
            task.id += "+"


def settle(tasks: TaskList, ledger: Ledger, *, given: bool = False) -> tuple[list[str], list[str]]:
    """Bring the ledger up to date with the list; the ids that were claimed, and that were reopened."""
    claimed, reopened = [], []
    for task in tasks.tasks:
        said = ledger.tasks.get(task.id, {}).get("state", "")
        if task.done and said not in (*CLOSED, CLAIMED):
            ledger.claim(task.id, GIVEN if given else _claim(task))
            claimed.append(task.id)
        elif not task.done and said in (*CLOSED, CLAIMED) and said != VOUCHED:
            ledger.reopen(task.id)
            reopened.append(task.id)
    return claimed, reopened


def proof(known: Mapping[str, str]) -> str:
    """What a closed task rests on: its evidence, or that there is none. Empty for one that gets no commit."""
    state = known.get("state", "")
    if state == PROVEN and known.get("evidence"):
        return known["evidence"]
    return "none (%s)" % state if state in (PROVEN, UNVERIFIED, VOUCHED) else ""


def uncommitted(ledger: Ledger) -> list[str]:
    """The tasks whose present proof no commit has."""
    tasks = ledger.tasks.items()
    return [task for task, known in tasks if proof(known) not in ("", known.get("committed"))]


def commits_undone(ledger: Ledger) -> list[str]:
    """The tasks that had a commit and are open again: closed once more, they get another one."""
    return [task for task, known in ledger.tasks.items() if "committed" in known and not proof(known)]


def missing_commits(terms: Optional[Supervision], ledger: Ledger, listed: TaskList) -> list[str]:
    """What a run on these terms was to commit and did not, in the list's order."""
    wanted = set(uncommitted(ledger)) if terms is not None and terms.branch else ()
    return [task.id for task in listed.tasks if task.id in wanted]


def commit_fault(ledger: Ledger, tasks: Iterable[str]) -> str:
    """Why these have none; empty where there are none."""
    said = [ledger.tasks[task].get(COMMIT_FAULT, "") for task in tasks]
    return next(filter(None, reversed(said)), "the run was ended before that" if said else "")


def not_committed(tasks: Iterable[str]) -> str:
    """How a loop's detail says that its work is not committed."""
    return "not committed: " + ", ".join(tasks)
