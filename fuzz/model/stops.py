"""Stops of the session that owns the loop, also those that are killed on the way."""

from __future__ import annotations

import copy
import os
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from fuzz.model.living import PLACES, RARELY, Living
from fuzz.model.oracle import Loop
from fuzz.model.words import ENDED, GOOD, Answer, Event, Task
from ralphloop.domain import limits
from ralphloop.lab import faults

UNIQUE, SAME, EMPTY, PROMISE = "unique", "same", "empty", "promise"
TEXTS = {SAME: "I am still working on this one.", EMPTY: "ok", PROMISE: "All is done.\n\nALL_TASKS_COMPLETE"}
BREAKS = ("interrupted", "capped", "rate_limited", "failed")


def is_under_way(life: Living) -> bool:
    return bool(life.loop) and life.loop.c.state != ENDED


class Stops(Living):
    """The owner's turns, each ended by a stop."""

    def _event(self, said: str, background: str) -> tuple[Event, bytes]:
        self.turn += 1
        self.world.now += 1.0
        reply = TEXTS.get(said, f"Turn {self.turn} brought the work a good step forward.")
        counted = self.world.counted()
        event = Event(reply, f"p{self.prompts}", self.is_active, self.world.now, background, *counted)
        tasks = [{"type": background, "status": "running", "description": "x"}] if background else []
        data = self.world.payload(
            "Stop", prompt_id=event.prompt, stop_hook_active=event.active, last_assistant_message=reply,
            background_tasks=tasks, session_crons=[],
        )  # fmt: skip
        return event, data

    def _note(self, kind: str) -> None:
        self.world.note(kind)
        self.lines.append((self.world.now, kind))
        self.loop.unread.append(self.lines[-1])

    @precondition(is_under_way)
    @rule(
        said=st.sampled_from([UNIQUE, UNIQUE, SAME, EMPTY, PROMISE]),
        works=st.booleans(),
        background=st.sampled_from(["", "", "", "", "shell", "subagent"]),
    )
    def stop(self, said: str, works: bool, background: str) -> None:
        self.world.now += 1.0
        if works:
            self._note("tool")
        self._stop(said, background)

    @precondition(is_under_way)
    @rule(is_right=st.sampled_from([True, True, True, False]))
    def work_and_stop(self, is_right: bool) -> None:
        """What most turns are: the next task is worked on, claimed, and the turn ends."""
        self.world.now += 1.0
        self._note("tool")
        task = next((task for task in self.loop.tasks if task.state == "open" and not task.is_gone), None)
        if task is not None and self._can_edit:
            self.world.set_green(task.id, is_green=is_right)
            self.world.claim(task.id, done=True)
            task.done = True
            self.loop.version += 1
        self._stop(UNIQUE, "")

    @precondition(is_under_way)
    @rule(place=PLACES)
    def claim_and_stop(self, place: int) -> None:
        self.world.now += 1.0
        if self._can_edit:
            task = self._on_disk(place)
            self.world.claim(task.id, done=True)
            task.done = True
            self.loop.version += 1
        self._stop(UNIQUE, "")

    @precondition(is_under_way)
    @rule(said=st.sampled_from([UNIQUE, SAME, EMPTY, PROMISE]))
    def talk_and_stop(self, said: str) -> None:
        self.world.now += 1.0
        self._stop(said, "")

    @precondition(is_under_way)
    @rule(kind=st.sampled_from(BREAKS), is_meant=RARELY)
    def stop_after_a_break(self, kind: str, is_meant: bool) -> None:
        if not is_meant:
            return
        self.world.now += 1.0
        self._note(kind)
        self._stop(UNIQUE, "")

    @precondition(lambda self: self.loop and self.loop.c.state == ENDED)
    @rule(works=st.booleans())
    def stop_when_all_is_over(self, works: bool) -> None:
        self.world.now += 1.0
        if works:
            self._note("tool")
        self._stop(UNIQUE, "")

    def _stop(self, said: str, background: str) -> None:
        event, data = self._event(said, background)
        stops = self.world.journal("stop")
        wanted = self.loop.stop(event)
        answer = self.world.send(data, may_run=self.loop.is_approved)
        assert (answer.get("decision") == "block") == wanted.blocks, (answer, wanted)
        if wanted.next:
            assert f"{wanted.next}" in answer["reason"]
        assert self.world.journal("stop") - stops == wanted.writes, "one stop is one transition"
        self.is_active = wanted.blocks
        self._agree(wanted)

    @precondition(is_under_way)
    @rule(said=st.sampled_from([UNIQUE, SAME]), works=st.booleans(), at=st.integers(1, 60),
          kind=st.sampled_from([faults.KILL_BEFORE, faults.KILL_AFTER]))  # fmt: skip
    def stop_that_is_killed(self, said: str, works: bool, at: int, kind: str) -> None:
        """Nobody heard its answer; what is on disk is what was before, or what would have come."""
        self.world.now += 1.0
        if works:
            self._note("tool")
        event, data = self._event(said, "")
        before, after = copy.deepcopy(self.loop), copy.deepcopy(self.loop)
        wanted = after.stop(event)
        if self.world.send_and_die(data, at=at, kind=kind):
            self._adopt(before, after)
        else:
            self.loop = after
            self.is_active = wanted.blocks
            self._agree(wanted)

    def _adopt(self, before: Loop, after: Loop) -> None:
        """Go on from what the crash left, once it is known to be one of the two."""
        loop, found = self.loop, self.world.counters()
        ways = [(one.c.state, one.c.outcome) for one in (before, after)]
        assert (found.state, found.outcome) in ways, (found, ways)
        assert found.iteration in (before.c.iteration, after.c.iteration), (found, before.c, after.c)
        found.reply = _reply(found.reply, before, after)
        loop.c = found
        self._adopt_files(before, after)
        was_read = not loop.unread or self.world.state()["transcript_end"] == os.path.getsize(
            self.world.ground.transcript
        )
        loop.unread = [] if was_read else loop.unread

    def _adopt_files(self, before: Loop, after: Loop) -> None:
        loop, own = self.loop, self.world.ground.own
        if loop.file != GOOD and after.file == GOOD:
            with_text = os.path.exists(own) and "this is no JSON" not in open(own).read()  # noqa: SIM115
            loop.file = GOOD if with_text else before.file
        claims, known = self.world.claims(), self.world.known()
        if loop.file == GOOD or loop.is_sequential:
            gone = [task.id for task in before.tasks if task.is_gone]
            left = {*claims, *gone, *[task.id for task in after.tasks]}
            loop.tasks = [task for task in loop.tasks if task.id in left]
        for task in loop.tasks:
            self._adopt_task(task, before, after, claims=claims, known=known)
        loop.copy = self.world.copy()
        loop.version = max(before.version, after.version) + 1
        loop.c.files_seen = loop.version if self.world.is_seen() else -1

    def _adopt_task(
        self, task: Task, before: Loop, after: Loop, *, claims: dict[str, bool], known: dict[str, Any]
    ) -> None:
        then = before.task(task.id)
        would = after.task(task.id) if _in(after, task.id) else then
        said = known.get(task.id, {})
        # what is judged in between is claimed for a moment
        assert said.get("state", "") in (then.known, would.known, "claimed"), (task, said, would)
        task.known, task.was = said.get("state", ""), said.get("was", "")
        text = self.world.read() if claims else ""
        task.is_gone = bool(claims) and task.id not in claims
        task.is_renamed = then.is_renamed and f"Forget {task.id}" in text
        if task.id in claims:
            assert claims[task.id] in (then.done, would.done, task.pinned_done)
            task.done = claims[task.id]

    def _agree(self, wanted: Answer) -> None:
        """The loop on disk is the loop of the model."""
        if not wanted.writes:
            return
        state, c = self.world.state(), self.loop.c
        for name, value in (
            ("state", c.state), ("outcome", c.outcome), ("iteration", c.iteration), ("attempts", c.attempts),
            ("no_progress", c.no_progress), ("same_replies", c.same), ("empty_replies", c.empty),
            ("quiet_replies", c.quiet), ("current", c.current), ("worked", c.worked), ("pending", c.pending),
            ("elapsed_s", c.elapsed_s), ("restored", c.restored),
        ):  # fmt: skip
            assert state[name] == value, (name, state[name], value)


def _reply(mark: str, before: Loop, after: Loop) -> str:
    """Which of the two replies a state speaks of: it has only a mark of it."""
    marks = {limits.reply_mark(text) if text else "": text for text in (after.c.reply, before.c.reply)}
    assert mark in marks, (mark, marks)
    return marks[mark]


def _in(loop: Loop, name: str) -> bool:
    return any(task.id == name for task in loop.tasks)
