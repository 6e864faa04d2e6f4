"""What a loop knows about its tasks that the list does not say: how each was closed, asked, set aside, which
wait for a commit; and what of the whole list can be worked on by that, or never."""

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
from ralphloop.domain.worklist import Item, Worklist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Optional

    from ralphloop.domain.model import Supervision, Task, TaskList

GROUP = 5  # tasks of one [P] group handed out together
SHOWN = 20  # ids that a message names at most
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


def survey(tasks: TaskList, ledger: Ledger) -> Worklist:
    """Look through the whole list once."""
    states = [ledger.state(task) for task in tasks.tasks]
    open_places = [place for place, state in enumerate(states) if state in (OPEN, ASKED)]
    ready, asked, stuck = _sort(tasks, states, open_places)
    closed = sum(1 for state in states if state in CLOSED)
    return Worklist(
        total=len(states),
        closed=closed,
        claimed=states.count(CLAIMED),
        proven=states.count(PROVEN),
        given=states.count(GIVEN),
        vouched=states.count(VOUCHED),
        checkable=any(task.verify for task in tasks.tasks),
        open_total=len(open_places),
        open_ids=[tasks.tasks[place].id for place in open_places[:SHOWN]],
        next=[_item(tasks.tasks[place], place, ledger) for place in _group(tasks, ready)],
        ready=len(ready),
        asked=[[tasks.tasks[p].id, _question(tasks.tasks[p], ledger)] for p in asked[:SHOWN]],
        stuck=[[tasks.tasks[p].id, why] for p, why in stuck[:SHOWN]],
        set_aside=_set_aside(tasks, states, ledger)[:SHOWN],
        skipped=states.count(SKIPPED),
        phase=tasks.phase,
        quick=tasks.quick,
        awaiting_approval=tasks.awaiting_approval,
        sequential=tasks.sequential,
        index=open_places[0] if open_places else len(states),
        iteration=tasks.iteration,
        max_attempts=tasks.max_attempts or 0,
        epic=tasks.epic,
    )


def hopeless(tasks: TaskList) -> list[str]:
    """The open tasks that can never run, whatever the person answers."""
    states = [GIVEN if task.done else OPEN for task in tasks.tasks]
    open_places = [place for place, state in enumerate(states) if state == OPEN]
    return [tasks.tasks[place].id for place, _ in _sort(tasks, states, open_places)[2]]


def _item(task: Task, place: int, ledger: Ledger) -> Item:
    known = ledger.tasks.get(task.id, {})
    return Item(
        id=task.id,
        title=task.title,
        place=place,
        body=task.body,
        steps=list(task.steps),
        marks=list(task.marks),
        model=task.model,
        verify=list(task.verify),
        question=_question(task, ledger),
        answer=known.get("answer", ""),
    )


def _set_aside(tasks: TaskList, states: list[str], ledger: Ledger) -> list[list[str]]:
    aside = [task.id for task, state in zip(tasks.tasks, states) if state == SET_ASIDE]
    return [[name, ledger.tasks[name].get("why", "")] for name in aside]


def _question(task: Task, ledger: Ledger) -> str:
    return ledger.tasks.get(task.id, {}).get("question") or task.needs_human


def _group(tasks: TaskList, ready: list[int]) -> list[int]:
    """The first task that can be worked on, or the run of [P] tasks that it opens."""
    group = _fix_of(tasks, ready) if tasks.sequential else ready[:1]
    if group and tasks.sequential and tasks.tasks[group[0]].parallel:
        for place in ready[1:GROUP]:
            if place != group[-1] + 1 or not tasks.tasks[place].parallel:
                break
            group.append(place)
    return group


def _fix_of(tasks: TaskList, ready: list[int]) -> list[int]:
    """The first of these tasks, or what is to be fixed before it."""
    first = ready[:1]
    fixes = [place for place in ready if any(mark[:3].upper() == "FIX" for mark in tasks.tasks[place].marks)]
    if fixes:
        from ralphloop.domain.additions import original

        for place in fixes:  # a fix stands below what it fixes, so one of a fix comes later
            if original(tasks.tasks[place]) == tasks.tasks[first[0]].id != "":
                first = [place]
    return first


def _sort(
    tasks: TaskList, states: list[str], open_places: list[int]
) -> tuple[list[int], list[int], list[tuple[int, str]]]:
    """Open tasks as: can be worked on, waits for the person, can never run (with why)."""
    if tasks.sequential:
        for count, place in enumerate(open_places):
            if states[place] == ASKED:
                return open_places[:count], [p for p in open_places[count:] if states[p] == ASKED], []
        return open_places, [], []
    if not any(tasks.tasks[place].depends_on for place in open_places):
        asked = [place for place in open_places if states[place] == ASKED]
        return [place for place in open_places if states[place] == OPEN], asked, []
    return _sort_by_dependency(tasks, states, open_places)


def _sort_by_dependency(
    tasks: TaskList, states: list[str], open_places: list[int]
) -> tuple[list[int], list[int], list[tuple[int, str]]]:
    at = {task.id: place for place, task in enumerate(tasks.tasks)}
    ready, asked = [], []
    # A claimed task is the person's to approve, or its check is still to run: what depends on it waits.
    held = [place for place, state in enumerate(states) if state == CLAIMED]
    waiting: dict[int, list[int]] = {}
    stuck: dict[int, str] = {}
    for place in open_places:
        why, behind = _dependencies(tasks.tasks[place], states, at)
        if why:
            stuck[place] = why
        elif states[place] == ASKED:
            asked.append(place)
        elif behind:
            waiting[place] = behind
        else:
            ready.append(place)
    circle = _settle_waiting(waiting, ready=ready, asked=asked, stuck=stuck, held=held)
    for place, behind in waiting.items():
        if place in circle:
            stuck[place] = "waits in a circle for " + ", ".join(tasks.tasks[o].id for o in behind)
        elif place in stuck:
            stuck[place] = "waits for " + ", ".join(tasks.tasks[o].id for o in behind if o in stuck)
    return ready, asked, sorted(stuck.items())


def _settle_waiting(
    waiting: dict[int, list[int]],
    *,
    ready: list[int],
    asked: list[int],
    stuck: dict[int, str],
    held: list[int],
) -> set[int]:
    """Pass on what is known of a task to those that wait for it; the ones nothing ever reaches."""
    waiters: dict[int, list[int]] = {}
    left = {place: len(behind) for place, behind in waiting.items()}
    for place, behind in waiting.items():
        for other in behind:
            waiters.setdefault(other, []).append(place)
    person = {*asked, *held}
    settled = [*stuck, *asked, *held, *ready]
    for place in settled:  # it grows on the way
        for waiter in waiters.get(place, ()):
            if waiter in stuck:
                continue
            left[waiter] -= 1
            if place in stuck:
                stuck[waiter] = ""
            elif place in person:
                person.add(waiter)
            if waiter in stuck or not left[waiter]:
                settled.append(waiter)
                if waiter in person and waiter not in stuck:
                    asked.append(waiter)
    return {place for place, count in left.items() if count and place not in stuck}


def _dependencies(task: Task, states: list[str], at: dict[str, int]) -> tuple[str, list[int]]:
    """Why the task can never run, or the open tasks that it waits for."""
    behind = []
    for wanted in task.depends_on:
        place = at.get(wanted)
        if place is None:
            return "depends on %s, which is not in the list" % wanted, []
        if states[place] in (SKIPPED, SET_ASIDE):
            return "depends on %s, which was set aside" % wanted, []
        if states[place] not in CLOSED:
            behind.append(place)
    return "", behind
