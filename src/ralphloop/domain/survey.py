"""Looks through a whole task list once, with a loop's ledger: what can be worked on, and what never."""

from __future__ import annotations

from ralphloop.domain.model import ASKED, CLAIMED, CLOSED, GIVEN, OPEN, PROVEN, SET_ASIDE, SKIPPED, VOUCHED
from ralphloop.domain.worklist import Item, Worklist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.domain.ledger import Ledger
    from ralphloop.domain.model import Task, TaskList

GROUP = 5  # tasks of one [P] group handed out together
SHOWN = 20  # ids that a message names at most


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
