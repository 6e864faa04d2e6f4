"""What every part of a life shares: the real thing, the model, and the hands that act on both."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from fuzz.model.oracle import Loop
from fuzz.model.words import FINAL, GOOD, Task
from fuzz.model.world import World

LIMITS = st.sampled_from([12, 12, 12, 6, 3, 1])
PLACES = st.integers(0, 5)
# What ends or halts a loop must not be what most of a life is made of.
RARELY = st.sampled_from([False, False, False, True])


class Living(RuleBasedStateMachine):
    """One loop from its start; the parts of a life add their rules to it."""

    layout = ""

    def __init__(self) -> None:
        super().__init__()
        self.world: World = None  # type: ignore[assignment]
        self.loop: Loop = None  # type: ignore[assignment]
        self.turn = 0
        self.prompts = 1
        self.is_active = False
        self.lines: list[tuple[float, str]] = []  # of the owner's transcript, as far as they tell something

    @initialize(limit=LIMITS, done=st.sampled_from([0, 0, 1]))
    def start(self, limit: int, done: int) -> None:
        self.world = World(self.layout, limit=limit, done=done)
        tasks = self.world.tasks(done)
        now = self.world.now
        self.loop = Loop(self.layout, tasks, limit=limit, now=now, is_green=self.world.is_green)

    def teardown(self) -> None:
        if self.world is not None:
            self.world.close()

    def _send(self, event: str, **fields: Any) -> dict[str, Any]:
        return self.world.send(self.world.payload(event, **fields), may_run=self.loop.is_approved)

    @property
    def _can_edit(self) -> bool:
        return self.loop.file == GOOD or self.loop.is_sequential

    def _on_disk(self, place: int) -> Task:
        tasks = [task for task in self.loop.tasks if not task.is_gone]
        return tasks[place % len(tasks)]

    def _command(self, word: str, place: int, *more: str, change: Any) -> None:
        """A command about one task: the oracle says by `change` whether it is refused."""
        loop = self.loop
        task = self._on_disk(place)
        can = loop.file == GOOD and loop.c.outcome not in FINAL and change(task)
        self.world.now += 1.0
        assert self.world.command(word, task.id, *more, "--loop", self.world.loop_id) == (0 if can else 1)
