"""What the person does: commands in a terminal of their own, and a loop begun anew."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from fuzz.model.living import LIMITS, PLACES, RARELY, Living
from fuzz.model.oracle import Loop
from fuzz.model.words import CLOSED, ENDED, EVIL, FINAL, GOOD, LIVE, PAUSED, Task


class Person(Living):
    """By the person alone."""

    @precondition(lambda self: self.loop and self.loop.file == GOOD and self.loop.c.outcome in FINAL)
    @rule(limit=LIMITS)
    def start_again(self, limit: int) -> None:
        """What is final stays so; a new loop over the same list begins with what is done as given."""
        self.world.now += 1.0
        self.prompts += 1
        self.is_active = False
        old = self.loop
        tasks = [Task(task.id, task.check, done=task.done, is_pinned=True, pinned_done=task.done)
                 for task in old.tasks if not task.is_gone]  # fmt: skip
        self.world.arm_again(limit)
        self.loop = Loop(self.layout, tasks, limit=limit, now=self.world.now, is_green=self.world.is_green)
        self.loop.unread = list(self.lines)  # a new loop has read nothing yet
        self.loop.is_approved = old.is_approved or any(task.check == EVIL for task in tasks)

    @rule(place=PLACES)
    def answer(self, place: int) -> None:
        def change(task: Task) -> bool:
            task.answered = task.answered or task.asked
            return task.asked

        self._command("answer", place, "That one.", change=change)

    @rule(place=PLACES)
    def skip(self, place: int) -> None:
        def change(task: Task) -> bool:
            if task.state in CLOSED:
                return False
            if task.state != "skipped":
                self.loop.version += task.done
                task.done, task.known = False, "skipped"
            return True

        self._command("skip", place, change=change)

    @rule(place=PLACES)
    def accept(self, place: int) -> None:
        def change(task: Task) -> bool:
            if task.state not in ("proven", "vouched"):
                self.loop.version += not task.done
                task.done, task.known = True, "vouched"
            return True

        self._command("accept", place, change=change)

    @precondition(lambda self: self.loop and self.loop.file == GOOD and self.loop.c.state != ENDED)
    @rule()
    def approve(self) -> None:
        """What the list says now holds from now on, and its commands may run."""
        loop = self.loop
        if any(task.is_gone or task.is_renamed for task in loop.tasks):
            return
        self.world.now += 1.0
        assert self.world.command("approve", self.world.loop_id, "--yes") == 0
        has_evil = any(task.check == EVIL for task in loop.tasks)
        if not all(task.is_pinned for task in loop.tasks):
            for task in loop.tasks:
                task.is_pinned, task.pinned_done = True, task.done
            if loop.c.outcome == "needs_approval" and (has_evil or loop.is_approved):
                self._window()
        loop.is_approved = loop.is_approved or has_evil

    @rule(is_meant=RARELY)
    def pause(self, is_meant: bool) -> None:
        if not is_meant:
            return
        self.world.now += 1.0
        code = self.world.command("pause", self.world.loop_id)
        assert code == (1 if self.loop.c.state == ENDED else 0)
        if not code:
            self.loop.c.state, self.loop.c.outcome = PAUSED, "interrupted"

    @rule(is_meant=RARELY)
    def cancel(self, is_meant: bool) -> None:
        if not is_meant:
            return
        self.world.now += 1.0
        assert self.world.command("cancel", self.world.loop_id) == 0
        if self.loop.c.outcome not in FINAL:
            self.loop.c.state, self.loop.c.outcome = ENDED, "cancelled"

    @rule(raises=st.booleans())
    def resume(self, raises: bool) -> None:
        loop = self.loop
        more: tuple[str, ...] = ()
        limit = max(loop.limit, loop.c.iteration) + 2
        self.world.now += 1.0
        if raises and loop.c.state not in LIVE:
            more = ("--max-iterations", str(limit))
        is_spent = loop.c.outcome == "limit" and loop.c.iteration >= loop.limit and not more
        can = loop.c.outcome not in FINAL and not is_spent
        assert self.world.command("resume", self.world.loop_id, *more) == (0 if can else 1)
        if can and loop.c.state not in LIVE:
            loop.limit = limit if more else loop.limit
            self._window()

    def _window(self) -> None:
        c = self.loop.c
        c.run()
        c.seen_at = c.since = self.world.now
        c.elapsed_s, c.attempts, c.told, c.pending, c.restored = 0.0, {}, (), "", False
        c.no_progress = c.same = c.empty = c.quiet = 0
        for task in self.loop.tasks:
            task.known = "" if task.known == "set_aside" else task.known
