"""The tasks that an agent adds to a list while it works: fixes and splits, and how many are too many."""

from __future__ import annotations

from ralphloop.domain.model import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Container, Iterable, Mapping, Optional

    from ralphloop.domain.model import Task, TaskList

_ORDINALS = ("first", "second", "third", "fourth")


class AdditionLimits(Fields):
    """What the state schema of the public plugin allows."""

    _: KW_ONLY
    # fix tasks of one task, and fixes of fixes
    fix_tasks: int = 3
    fix_depth: int = 3
    # how often one task is split or followed up, and how many levels of ids that makes
    modifications: int = 3
    modification_depth: int = 2

    def lower(self, name: str, value: object) -> None:
        """Take over a limit that is stricter than the present one."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < getattr(self, name):
            setattr(self, name, value)


def names(tasks: Iterable[Task]) -> list[str]:
    """What each task is known by: its id, else its title; twins are told apart as in the ledger."""
    found = []
    seen: dict[str, int] = {}
    for task in tasks:
        name = task.id
        if not name:
            twins = seen[task.title] = seen.get(task.title, 0) + 1
            name = task.title if twins == 1 else "%s\0%d" % (task.title, twins)
        found.append(name)
    return found


def original(task: Task) -> str:
    """The task that this one is to fix, by its mark `FIX 1.3`; empty if it is no fix task."""
    for mark in task.marks:
        word, _, rest = mark.partition(" ")
        if word.rstrip(":").upper() == "FIX" and rest.strip():
            return rest.strip()
    return ""


def fixes(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """The names of the fix tasks of each task that has some."""
    tasks = list(tasks)
    found: dict[str, list[str]] = {}
    for task, name in zip(tasks, names(tasks)):
        if original(task):
            found.setdefault(original(task), []).append(name)
    return found


def excess(
    pinned: TaskList,
    present: TaskList,
    *,
    known: Container[str],
    modified: Mapping[str, int],
    limits: Optional[AdditionLimits] = None,
) -> list[tuple[int, str]]:
    """The places of new tasks that go beyond the limits, and why; what was `known` before may stay."""
    limits = limits or AdditionLimits()
    listed = {task.id for task in pinned.tasks if task.id}
    fresh = _fresh(pinned, present, known)
    originals = {task.id: original(task) for task in present.tasks if task.id}
    kept = [task for place, task in enumerate(present.tasks) if place not in fresh]
    counts = {name: len(ids) for name, ids in fixes(kept).items()}
    found = []
    for place in fresh:
        task = present.tasks[place]
        fixed = original(task)
        if fixed:
            why = _too_many_fixes(fixed, counts, originals=originals, limits=limits)
            counts[fixed] = counts.get(fixed, 0) + (not why)
        else:
            above, depth = _lineage(task.id, listed, known)
            why = _too_many_changes(above, depth, modified=modified, limits=limits)
        if why:
            found.append((place, why))
    return found


def modified_now(pinned: TaskList, present: TaskList, *, known: Container[str]) -> list[str]:
    """The tasks that were split or followed up since the last look, each once."""
    listed = {task.id for task in pinned.tasks if task.id}
    new = [present.tasks[place] for place in _fresh(pinned, present, known)]
    above = [_lineage(task.id, listed, known)[0] for task in new if not original(task)]
    return [name for name in dict.fromkeys(above) if name]


def _fresh(pinned: TaskList, present: TaskList, known: Container[str]) -> dict[int, str]:
    """The tasks that are neither pinned nor known, by place."""
    old = set(names(pinned.tasks))
    return {
        place: name
        for place, name in enumerate(names(present.tasks))
        if name not in old and name not in known
    }


def _lineage(task_id: str, listed: set[str], known: Container[str]) -> tuple[str, int]:
    """The nearest task whose id this one extends, and how many levels it is below the list's own."""
    parts = task_id.split(".")
    above = [".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
    above = [name for name in above if name in listed or name in known]
    if not above:
        return "", 0
    base = next((name for name in above if name in listed), above[-1])
    return above[0], len(parts) - len(base.split("."))


def _too_many_fixes(
    fixed: str, counts: Mapping[str, int], *, originals: Mapping[str, str], limits: AdditionLimits
) -> str:
    depth, above = 0, fixed
    while above and depth <= limits.fix_depth:
        depth, above = depth + 1, originals.get(above, "")
    if depth > limits.fix_depth:
        return "a fix task beyond depth %d" % limits.fix_depth
    if counts.get(fixed, 0) >= limits.fix_tasks:
        return "a %s fix task for %s" % (_after(limits.fix_tasks), fixed)
    return ""


def _too_many_changes(above: str, depth: int, *, modified: Mapping[str, int], limits: AdditionLimits) -> str:
    if depth > limits.modification_depth:
        return "an added task beyond depth %d" % limits.modification_depth
    if above and modified.get(above, 0) >= limits.modifications:
        return "a %s change of %s" % (_after(limits.modifications), above)
    return ""


def _after(count: int) -> str:
    return _ORDINALS[count] if count < len(_ORDINALS) else "%dth" % (count + 1)
