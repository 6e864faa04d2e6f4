"""How many tasks were open when, from the journal and the tasks as they are now."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from ralphloop.domain.model import ASKED, CLAIMED, GIVEN, OPEN
from ralphloop.engine.under_way import text, texts
from ralphloop.views.history import Entry, at
from ralphloop.views.snapshot import TaskView


class Burndown:
    """Keeps when each task was last said to be done, and when it was added."""

    def __init__(self) -> None:
        self._closed: dict[str, float] = {}
        self._added: dict[str, float] = {}
        self._begins: list[float] = []
        self._ends: list[float] = []

    def note(self, entry: Entry) -> None:
        when, event = at(entry), entry["event"]
        for name in texts(entry, "claimed") + texts(entry, "proven") if event == "stop" else ():
            self._closed[name] = when
        if event in ("claim", "proven", "accept", "skip", "set_aside"):
            self._closed[text(entry, "task")] = when
        for name in texts(entry, "tasks") if event == "added" else ():
            self._added.setdefault(name, when)

    def settle(self, tasks: Iterable[TaskView], *, begin: float, seen: float) -> None:
        """Take the tasks as they are now: what is closed without a word was closed by the last look."""
        counted = [task for task in tasks if task.state != GIVEN]
        self._begins = sorted(self._added.get(task.id, begin) for task in counted)
        self._ends = sorted(
            self._closed.get(task.id, seen) for task in counted if task.state not in (OPEN, ASKED, CLAIMED)
        )

    def samples(self, count: int, *, begin: float, end: float) -> list[int]:
        """The open tasks at `count` moments, the first at the begin and the last now."""
        step = max(0.0, end - begin) / max(1, count - 1)
        moments = [begin + step * place for place in range(count - 1)]
        return [self._open(moment) for moment in moments] + [len(self._begins) - len(self._ends)]

    def _open(self, moment: float) -> int:
        return bisect_right(self._begins, moment) - bisect_right(self._ends, moment)
