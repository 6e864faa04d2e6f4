"""What must hold after a fault, at the next stop, and when the loop has been driven to its end.

A stop that is answered by a block has counted exactly one iteration, any other call of the hook at most one.
After a stop that was not answered the client waits for the person: the next one is another prompt's. If the
loop had noted an answer that nobody heard, it takes that for an interrupt, rests, and says how it goes on.
Closed tasks stay what they are. Evidence stays as it was written; that of an interrupted check is whole or
absent. A task is told to be proven once. A killed write leaves one spare file, as does one whose spare could
not be removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from faults.ground import Ground, Loop
from faults.scene import CONTINUE, NOBODYS, Scene, open_tasks, turn
from hook.harness import OWNER, Answer
from ralphloop.domain.model import CANCELLED, CLOSED, COMPLETE, FINAL, INTERRUPTED, NEEDS_APPROVAL, PROVEN
from ralphloop.lab.faults import KILLS, Fault
from ralphloop.proof import check_record as evidence
from ralphloop.store import tasks as task_files

MOST_STEPS = 14
LIMIT_RULE = "limits"  # of document 2: one block at the limit, which is no turn


class Before(NamedTuple):
    """What the loops were when the disk still worked."""

    iterations: dict[str, int]
    closed: dict[str, dict[str, str]]
    evidence: dict[str, dict[str, bytes]]
    index: dict[str, list[str]]


class LostError(AssertionError):
    """Something that must hold does not."""


def must(holds: object, told: object) -> None:
    if not holds:
        raise LostError(str(told))


def look(ground: Ground) -> Before:
    loops = {loop.id: loop for loop in ground.loops()}
    closed = {
        name: {task: state for task, state in loop.tasks.items() if state in CLOSED}
        for name, loop in loops.items()
    }
    return Before(
        {name: loop.state.iteration for name, loop in loops.items()},
        closed,
        {name: ground.evidence_of(loop) for name, loop in loops.items()},
        {name: [entry.id for entry in ground.index_of(loop)[0]] for name, loop in loops.items()},
    )


class Aftermath:
    """The life of a loop from a fault on; `LostError` says what does not hold."""

    def __init__(self, ground: Ground, scene: Scene, before: Before) -> None:
        self.ground = ground
        self.scene = scene
        self.before = before
        self.is_struck = False  # whether the first fault was met
        self.spares = 0
        self._faults = self._leavings = self._calls = self._blocks = 0
        self._unheard = False
        self._gone = ""

    @property
    def _lost_state(self) -> bool:
        return self._gone == str(self.ground.state_home)

    @property
    def _lost_project(self) -> bool:
        return self._gone == str(self.ground.root)

    def strike(self, fault: Fault) -> None:
        """The scene's own run meets the fault."""
        self._meet(fault, self.scene.act)
        self._gone = fault.folder

    def strike_next(self, fault: Fault) -> None:
        """So does the stop after it."""
        self._meet(fault, turn)

    def _meet(self, fault: Fault, act: Callable[[Ground], Any]) -> None:
        ground = self.ground
        ground.fault = fault
        answer = act(ground)
        ground.fault = Fault()
        is_struck = len(ground.calls) >= fault.at
        self.is_struck = self.is_struck or is_struck
        self._faults += is_struck
        self._leavings += is_struck and (fault.kind in KILLS or ground.calls[fault.at - 1][0] == "unlink")
        self._check_bugs()
        if isinstance(answer, Answer):
            self._note(answer)
        else:
            codes = (-9,) if is_struck and fault.kind in KILLS else (0, 1)
            must(answer.code in codes, f"the command ended with {answer}")

    def _note(self, answer: Answer) -> None:
        """After a stop that nobody answered the person types something."""
        if not answer.blocks:
            self.ground.new_prompt()
            self._unheard = self._unheard or self._is_pending()
        self._check_count(answer)

    def go_on(self) -> None:
        """From the look at the loop to its end."""
        self._check_status()
        if self._lost_project:
            self._check_nothing_grows()
            return
        self._check_files()
        if self.scene.again:
            self._say_again()
        self._check_next()
        self._drive()
        self._check_files()
        self._check_end()

    def _check_bugs(self) -> None:
        for path in self.ground.troubles():
            raise LostError(f"{path.name}: {path.read_text()}")

    def _check_count(self, answer: Answer) -> None:
        """A block counts one turn, any other call one at most; a spec's file can have it before the loop."""
        self._calls += 1
        self._blocks += answer.blocks and not self._is_warned(answer)
        for loop in [] if self._lost_state else self.ground.loops():
            begun = self.before.iterations.get(loop.id)
            if begun is not None:
                counted = loop.state.iteration - begun
                told = f"{counted} iterations counted for {self._calls} stops, {self._blocks} of them blocked"
                must(counted <= self._calls and (counted >= self._blocks or self._has_new()), told)

    def _has_new(self) -> bool:
        return any(loop.id not in self.before.iterations for loop in self.ground.loops())

    def _is_warned(self, answer: Answer) -> bool:
        """The one block of document 2 at a limit, which is no turn."""
        return answer.reason.startswith("ERROR:")

    def _check_status(self) -> None:
        ended = self.ground.cli("status", "--json")
        must(ended.code == 0, f"status: {ended}")
        known = {loop["id"] for loop in json.loads(ended.stdout)["loops"]}
        if not (self._lost_state or self._lost_project):
            must(known >= set(self.before.iterations), f"status knows {known}, not {self.before.iterations}")

    def _check_nothing_grows(self) -> None:
        """Only a list that was being put back at that very moment may be there again."""
        ground = self.ground
        is_back = ground.own.exists()
        must(
            not is_back or self.scene.name.endswith(("/damaged", "/lost", "/tampered")), "the list came back"
        )
        answer = ground.turn()
        must(is_back or not answer.blocks, f"a stop in a project that is gone: {answer.said}")
        left = [path for path in ground.root.rglob("*") if path.is_file()]
        strange = [path for path in left if ".ralph/run" not in str(path) and path.parent != ground.folder]
        must(not strange, f"came back: {strange}")

    def _is_pending(self) -> bool:
        return any(loop.state.live and loop.state.pending for loop in self.ground.loops())

    # What comes next

    def _say_again(self) -> None:
        ended = self.ground.cli(*self.scene.again)
        must(ended.code in (0, 1), f"{self.scene.again} again: {ended}")
        must("Traceback" not in ended.stderr, ended.stderr)

    def _check_next(self) -> None:
        came_to = self._stop()
        allowed = self.scene.then
        if self._lost_state:
            allowed |= {NOBODYS, CONTINUE, NEEDS_APPROVAL}  # approvals are lost with it
            allowed |= set() if open_tasks(self.ground) else {CANCELLED}
        if self._unheard:
            allowed |= {INTERRUPTED}
        must(came_to in allowed, f"the next stop came to {came_to}, not {sorted(allowed)}")

    def _stop(self) -> str:
        answer = self.ground.turn()
        self._note(answer)
        loop = self._loop()
        if loop is None:
            must(answer.silent, f"nobody's loop was answered: {answer.said}")
            return NOBODYS
        if answer.blocks:
            must(loop.state.live, f"blocked, but {loop.state.state} ({loop.state.outcome})")
            return "limit" if self._is_warned(answer) else CONTINUE
        return loop.state.outcome or f"allow: {answer.message}"

    def _loop(self) -> Loop | None:
        """The loop that is under way, else the newest."""
        found = sorted(self.ground.loops(), key=lambda loop: loop.state.started_at)
        live = [loop for loop in found if loop.state.live]
        must(len(live) <= 1, f"several loops: {[loop.id for loop in live]}")
        return (live or found or [None])[-1]

    def _drive(self) -> None:
        """Work on until the loop is complete: what is open is claimed, and the person does their part."""
        ground = self.ground
        (ground.root / "made").touch()
        for _ in range(MOST_STEPS):
            loop = self._loop()
            if self._lost_state and not open_tasks(ground):
                return  # all is forgotten: nothing is left to be done, or to do it by
            if loop is None or (loop.state.outcome in FINAL and loop.state.outcome != COMPLETE):
                self._command("start", "--yes", "--session", OWNER)
            elif loop.state.outcome == COMPLETE:
                return
            elif loop.state.outcome == NEEDS_APPROVAL and self._lost_state:
                self._command("approve", "--yes")
            elif not loop.state.live:
                self._command("resume", "--max-iterations", "60")
            else:
                self._work()
        loop = self._loop()
        raise LostError(f"not complete after {MOST_STEPS} steps: {loop and loop.state.to_json()}")

    def _command(self, *words: str) -> None:
        ended = self.ground.cli(*words)
        must(ended.code == 0, f"{words}: {ended}")

    def _work(self) -> None:
        for place in open_tasks(self.ground):
            self.ground.close(place)
        came_to = self._stop()
        fine = (CONTINUE, COMPLETE, NEEDS_APPROVAL) if self._lost_state else (CONTINUE, COMPLETE)
        must(came_to in fine, f"in the middle of the work: {came_to}")

    # What is on the disk

    def _check_files(self) -> None:
        self._check_bugs()
        for loop in self.ground.loops():
            self._check_closed(loop)
            self._check_evidence(loop)
            self._check_journal(loop)
        self.spares = len(self.ground.spares())
        must(self.spares <= self._leavings, f"left behind: {self.ground.spares()}")

    def _check_closed(self, loop: Loop) -> None:
        if self._lost_state:
            return
        for task, state in self.before.closed.get(loop.id, {}).items():
            must(loop.tasks.get(task) == state, f"{task} was {state} and is {loop.tasks.get(task)}")

    def _check_evidence(self, loop: Loop) -> None:
        entries, torn = self.ground.index_of(loop)
        found = self.ground.evidence_of(loop)
        ids = [entry.id for entry in entries]
        must(torn <= self._faults, f"{torn} torn lines in the index")
        must(len(ids) == len(set(ids)), f"listed twice: {ids}")
        for name, data in found.items():
            must(json.loads(data)["id"] + ".json" == name, f"{name} is not whole")
        if not self._lost_state:
            known = self.before.index.get(loop.id, [])
            must(ids[: len(known)] == known, f"the index began with {known}, now {ids}")
            unlisted = {name.removesuffix(".json") for name in found} - set(ids)
            must(len(unlisted) <= self._faults, f"not in the index: {unlisted}")
        if not self._gone:
            for name, data in self.before.evidence.get(loop.id, {}).items():
                must(found.get(name) == data, f"the evidence {name} is another one")
            for entry in entries:
                must(evidence.state(loop.files, entry) == evidence.SOUND, f"{entry.id} is not sound")

    def _check_journal(self, loop: Loop) -> None:
        entries, torn = self.ground.journal_of(loop)
        must(torn <= self._faults, f"{torn} torn lines in the journal")
        proven = [entry["task"] for entry in entries if entry["event"] == "proven"]
        must(len(proven) == len(set(proven)), f"told to be proven twice: {proven}")
        turns = [entry for entry in entries if entry.get("decision") == "continue"]
        counted = [entry["iteration"] for entry in turns if entry["rule"] != LIMIT_RULE]
        must(len(counted) == len(set(counted)), f"an iteration counts twice: {counted}")

    def _check_end(self) -> None:
        loop = self._loop()
        if loop is None or loop.state.outcome != COMPLETE:
            must(self._lost_state, f"it ended as {loop and loop.state.outcome}")
            return
        listed, ledger, _ = task_files.look(loop.files)
        by_id = {entry.id: entry for entry in self.ground.index_of(loop)[0]}
        for task in listed.tasks:
            state = ledger.state(task)
            must(state in CLOSED, f"{task.id} is {state} in a loop that is complete")
            known = ledger.tasks.get(task.id, {})
            if state == PROVEN and not self._lost_state:
                entry = by_id.get(known.get("evidence", ""))
                must(entry is not None and entry.green and task.id in entry.tasks, f"{task.id}: {known}")
            elif task.verify:
                allowed = self._lost_state or loop.id not in self.before.iterations or not ledger.tasks
                must(allowed or state != "unverified", f"{task.id} is only {state}")
