"""What the agent does to its list, to its criteria and to whatever else it can reach."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from fuzz.model.living import PLACES, RARELY, Living
from fuzz.model.words import CLOSED, CORRUPT, EVIL, GONE, GOOD, Task
from fuzz.model.world import task_name

MOST = 6  # tasks


class Edits(Living):
    """Between two stops, by the agent or whatever it runs."""

    @precondition(lambda self: self.loop and self._can_edit)
    @rule(place=PLACES, done=st.sampled_from([True, True, True, False]))
    def claim(self, place: int, done: bool) -> None:
        task = self._on_disk(place)
        self.world.claim(task.id, done=done)
        task.done = done
        self.loop.version += 1

    @precondition(lambda self: self.loop and self._can_edit)
    @rule()
    def claim_everything(self) -> None:
        for task in self.loop.tasks:
            if not task.is_gone:
                self.world.claim(task.id, done=True)
                task.done = True
        self.loop.version += 1

    @rule(place=st.sampled_from([1, 3]), is_green=st.sampled_from([True, True, False]))
    def work_on(self, place: int, is_green: bool) -> None:
        self.world.set_green(self.world.names[place], is_green=is_green)

    @precondition(lambda self: self.loop and self._can_edit and len(self.loop.tasks) < MOST)
    @rule(is_evil=st.booleans(), done=st.booleans())
    def add_a_task(self, is_evil: bool, done: bool) -> None:
        taken = {task.id for task in self.loop.tasks}
        name = next(name for n in range(5, 99) if (name := task_name(self.layout, n)) not in taken)
        if name in self.world.known():
            return  # a lost one of that name is remembered
        self.world.add(name, is_evil=is_evil, done=done)
        self.loop.tasks.append(Task(name, EVIL if is_evil else "", done=done))
        self.loop.version += 1

    @precondition(lambda self: self.loop and self._can_edit)
    @rule(place=st.integers(0, 3), is_removed=st.booleans())
    def change_the_criteria(self, place: int, is_removed: bool) -> None:
        pinned = [task for task in self.loop.tasks if task.is_pinned]
        task = pinned[place % len(pinned)]
        if task.is_gone or (is_removed and sum(not one.is_gone for one in self.loop.tasks) < 2):
            return
        if f"Do {task.id}" not in self.world.read():
            return
        if is_removed:
            self.world.remove(task.id)
            task.is_gone = True
        else:
            self.world.rename(task.id)
            task.is_renamed = True
        self.loop.version += 1

    @precondition(lambda self: self.loop and self.loop.file == GOOD)
    @rule(is_lost=st.booleans(), is_meant=RARELY)
    def break_the_file(self, is_lost: bool, is_meant: bool) -> None:
        loop = self.loop
        if not is_meant:
            return
        if is_lost:
            self.world.lose()
        else:
            loop.spoilt = self.world.spoil()
        loop.file = GONE if is_lost else CORRUPT
        loop.version += not loop.is_sequential
        if not loop.is_sequential:
            for task in loop.tasks:  # nothing of it is on disk any more
                task.is_gone = task.is_renamed = False

    @rule()
    def falsify_the_counters(self) -> None:
        self.world.falsify()

    @rule(place=PLACES)
    def ask(self, place: int) -> None:
        def change(task: Task) -> bool:
            if task.state in (*CLOSED, "skipped"):
                return False
            task.asked, task.answered, task.known = True, False, ""
            return True

        self._command("ask", place, "Which one?", change=change)
