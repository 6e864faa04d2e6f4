"""The life of a loop: all that can happen to it, and what always holds."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from fuzz.ground import OWNER
from fuzz.model.edits import Edits
from fuzz.model.living import RARELY
from fuzz.model.person import Person
from fuzz.model.stops import Stops
from fuzz.model.words import ENDED, GOOD, PAUSED

FOREIGN = ("Stop", "Stop", "SessionStart", "SessionEnd", "UserPromptSubmit", "SubagentStop")


class Life(Stops, Edits, Person):
    """Beside agent and person: the client, other sessions, and time."""

    @rule(event=st.sampled_from(FOREIGN))
    def another_session(self, event: str) -> None:
        fields: dict[str, Any] = {"source": "startup", "reason": "other", "prompt": "hello", "prompt_id": "q"}
        self.world.send_foreign(event, **fields, last_assistant_message="ALL_TASKS_COMPLETE")

    @rule()
    def a_subagent_stops(self) -> None:
        self.world.send_foreign("SubagentStop", session_id=OWNER, agent_id="a1")

    @rule(is_meant=RARELY)
    def a_new_prompt(self, is_meant: bool) -> None:
        if not is_meant:
            return
        self.world.now += 1.0
        self.prompts += 1
        self.is_active = False
        said = self._send("UserPromptSubmit", prompt="go on", prompt_id="p")
        loop = self.loop
        is_news = loop.is_live and loop.broken_off(loop.c.since) == "interrupted"
        assert bool(said) == is_news
        if is_news:
            loop.c.state, loop.c.outcome, loop.c.pending, loop.unread = PAUSED, "interrupted", "", []

    @rule()
    def compaction(self) -> None:
        self.world.now += 1.0
        work = self.loop.look(is_live=True)[0] if self.loop.is_live else None
        said = self._send("SessionStart", source="compact")
        assert bool(said) == bool(work and work.next)

    @rule(is_meant=RARELY)
    def the_session_ends(self, is_meant: bool) -> None:
        if not is_meant:
            return
        self.world.now += 1.0
        loop = self.loop
        assert self._send("SessionEnd", reason="clear") == {}
        if loop.is_live:
            told = loop.broken_off(loop.c.since)
            is_told = told in ("rate_limited", "capped")
            loop.c.state = ENDED if told == "capped" else PAUSED
            loop.c.outcome = told if is_told else "interrupted"

    @rule(hours=st.sampled_from([0.1, 1, 1, 3, 9, -1, -30]))
    def the_clock_moves(self, hours: float) -> None:
        self.world.now += hours * 3600

    @invariant()
    def what_always_holds(self) -> None:
        if self.loop is None:
            return
        self._claims_agree()
        state, limits = self.world.state(), self.world.limits()
        assert (limits["iterations"], limits["attempts"], limits["time_s"]) == (self.loop.limit, 5, 28800)
        assert state["iteration"] <= self.loop.limit
        assert state["outcome"] != "complete" or self.loop.c.outcome == "complete"
        assert self.loop.is_approved or not os.path.exists(self.world.ground.mark)

    def _claims_agree(self) -> None:
        if self.loop.file == GOOD or self.loop.is_sequential:
            wanted = {task.id: task.done for task in self.loop.tasks if not task.is_gone}
            assert self.world.claims() == wanted


def life_of(layout: str) -> type[Life]:
    return type(f"LifeOf{layout.title()}", (Life,), {"layout": layout})
