"""What a loop must come to: a small model of the rules, written from the specification."""

from __future__ import annotations

import copy
from collections.abc import Callable

from fuzz.model.rules import Rules
from fuzz.model.words import (
    CLOSED,
    CORRUPT,
    ENDED,
    EVIL,
    GONE,
    GOOD,
    LIVE,
    Answer,
    Counters,
    Event,
    Results,
    Task,
    Work,
)


class Loop:
    """The model of one loop; `is_green` says whether a task's check would pass now."""

    def __init__(
        self, layout: str, tasks: list[Task], *, limit: int, now: float, is_green: Callable[[str], bool]
    ) -> None:
        self.layout = layout
        self.tasks = tasks
        self.limit = limit
        self.is_green = is_green
        self.is_approved = False  # whether the person allowed the check that the agent added
        self.file = GOOD
        self.version = 0
        self.copy: list[bool] | None = None  # the claims in the last good copy, where there is one
        self.unread: list[tuple[float, str]] = []  # what the transcript got since the last written decision
        self.spoilt = ""  # what the corrupt file holds
        self.c = Counters(seen_at=now, since=now, current=self._first_open())

    @property
    def is_live(self) -> bool:
        return self.c.state in LIVE

    @property
    def is_sequential(self) -> bool:
        return self.layout != "features"

    def _first_open(self) -> str:
        for task in self.tasks:
            if task.done:
                task.known = "given"
        return next((task.id for task in self.tasks if task.state == "open"), "")

    # Looking at the list

    def look(self, *, is_live: bool) -> tuple[Work | None, list[str]]:
        """What the files say, and which tasks were claimed; a live loop gets its criteria back first."""
        if self.file == CORRUPT or (self.file == GONE and not self.is_sequential):
            return None, []
        seen = self.version
        if is_live:
            self.put_back()
        claimed = self._settle()
        if is_live and self.file == GOOD:
            self.copy = [task.done for task in self.tasks]
        return Work([task for task in self.tasks if not task.is_gone], seen, self.is_sequential), claimed

    def put_back(self) -> None:
        touched = [task for task in self.tasks if task.is_gone or task.is_renamed]
        for task in touched:
            task.done = task.pinned_done if task.is_gone else task.done
            task.is_gone = task.is_renamed = False
        self.version += bool(touched)

    def _settle(self) -> list[str]:
        claimed = []
        for task in self.tasks:
            if task.is_gone:
                continue
            if task.done and task.known not in (*CLOSED, "claimed"):
                task.was = task.known if task.known in ("skipped", "set_aside") else task.was
                task.known = "claimed" if task.check else "unverified"
                claimed.append(task.id)
            elif not task.done and task.known in (*CLOSED, "claimed") and task.known != "vouched":
                task.reopen()
        return claimed

    # One stop

    def stop(self, event: Event) -> Answer:
        if self.c.state == ENDED:
            return Answer(writes=False)
        base = copy.deepcopy(self.c)
        base.since = min(base.since, event.now)
        is_restored, claims = False, []
        results: Results | None = None
        tried: dict[str, int] = {}  # how often what was set aside
        while True:
            work, claimed = self.look(is_live=base.state in LIVE)
            claims += claimed
            now = Rules(self, copy.deepcopy(base), event, work, results, claims, not is_restored)
            said = now.decide()
            if isinstance(said, Answer):
                if tried:
                    now.c.attempts.update(tried)
                    now.c.same = now.c.empty = 0
                return self._take(now.c, event, said)
            if said.restore:
                self._restore()
                is_restored, base.restored = True, base.restored or said.once
            elif said.aside:
                self.task(said.aside).known = "set_aside"
                tried[said.aside] = said.tried
                if results is not None:
                    results.left_out.append(said.aside)
            else:
                results = self._check(said.checks, results or Results())

    def _take(self, counters: Counters, event: Event, said: Answer) -> Answer:
        if said.writes:
            counters.pending = event.prompt if said.blocks else ""
            self.c = counters
            self.unread = []
        return said

    def task(self, name: str) -> Task:
        return next(task for task in self.tasks if task.id == name)

    def _restore(self) -> None:
        self.file = GOOD
        if not self.is_sequential and self.copy is not None:
            for task, done in zip(self.tasks, self.copy + [None] * len(self.tasks), strict=False):
                task.is_gone = done is None  # added after the copy was made
                task.done = bool(done)
                task.is_renamed = False
            self.tasks = [task for task in self.tasks if not task.is_gone]
            self.version += 1

    def _check(self, kind: str, results: Results) -> Results:
        self.put_back()
        results.waiting = []
        reopened = False
        for task in self.tasks:
            is_due = task.state == "claimed" if kind == "claims" else task.done and task.known != "vouched"
            if not task.check or not is_due:
                continue
            if task.check == EVIL and not self.is_approved:
                self._hold(task, kind, results)
            elif task.check == EVIL or self.is_green(task.id):
                task.known = "proven" if kind == "claims" or task.known == "unverified" else task.known
            else:
                task.reopen()
                task.done, reopened = False, True
                results.refused.append(task.id)
                results.left_out += [task.id] if task.known in ("skipped", "set_aside") else []
        self.version += reopened
        results.final = kind == "final" and not reopened
        return results

    def _hold(self, task: Task, kind: str, results: Results) -> None:
        if not self.is_sequential:
            results.waiting.append(task.id)
        elif kind == "claims":
            task.known = "unverified"

    # What the transcript tells

    def broken_off(self, since: float) -> str:
        told = [kind for stamp, kind in self.unread if stamp >= since and kind != "tool"]
        return told[-1] if told else ""

    def has_tool(self, since: float) -> bool:
        return any(kind == "tool" and stamp >= since for stamp, kind in self.unread)
