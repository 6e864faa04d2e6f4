"""What the pins of every layout share: their results, which task is which, and many edits of one text."""

from __future__ import annotations

from ralphloop.domain.additions import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ralphloop.domain.model import Task

    Edit = tuple[int, int, str]


class Restored:
    """What it takes to bring a list back to its pinned criteria."""

    __slots__ = ("added", "faults", "texts")

    def __init__(
        self,
        texts: Optional[dict[str, str]] = None,
        *,
        faults: Optional[list[tuple[str, str]]] = None,
        added: Optional[list[str]] = None,
    ) -> None:
        # only the roles that change
        self.texts = texts or {}
        # (task, what): its id or title, empty for the list itself, and the field, "removed" or "structure"
        self.faults = faults or []
        # the tasks that the pinned list does not have, by the names of `domain.additions.names`
        self.added = added or []


def keys(tasks: list[Task]) -> list[tuple[str, str]]:
    """Id and name of each task: one that has no id may be called like another's id."""
    return [(task.id, name) for task, name in zip(tasks, names(tasks))]


def pair(pinned: list[Task], present: list[Task]) -> list[int]:
    """For each pinned task the place where it is now, -1 if it is gone.

    One that is left over is looked for by its title: then its id was changed, added or taken out.
    """
    places = {key: place for place, key in enumerate(keys(present))}
    found = [places.pop(key, -1) for key in keys(pinned)]
    titles: dict[str, list[int]] = {}
    for place in reversed(list(places.values())):
        titles.setdefault(present[place].title, []).append(place)
    for at, task in enumerate(pinned):
        if found[at] < 0 and task.title and titles.get(task.title):
            found[at] = titles[task.title].pop()
    return found


def added(present: list[Task], pairs: list[int]) -> list[str]:
    known = set(pairs)
    return [name for place, name in enumerate(names(present)) if place not in known]


def shown(task: Task) -> str:
    """What people call the task."""
    return task.id or task.title


def splice(text: str, edits: list[Edit]) -> str:
    """The text with each stretch replaced; what goes in at one point keeps its order."""
    parts = []
    at = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])
