"""Runs checks for tasks: each distinct command once, all within one time budget, each leaving evidence."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ralphloop.domain.model import Task, TaskList
from ralphloop.proof import command, record, tree
from ralphloop.proof.origin import Origin
from ralphloop.store.loop import LoopFiles, iso

TIMEOUT_S = 120.0  # of one command, unless its task says otherwise
BUDGET_S = 300.0  # of one stop; the client waits for the hook a little longer than this
WAITS, GREEN, RED, UNFINISHED = "waits", "green", "red", "unfinished"


class Due(NamedTuple):
    """A task, or the list itself, with the commands that must be green."""

    task: str
    commands: tuple[str, ...]
    timeout_s: float


class Verdict(NamedTuple):
    state: str
    command: str = ""
    why: str = ""
    tail: str = ""
    evidence: str = ""


def due(task: Task) -> Due:
    return _due(task.id, task.verify, task.timeout_s)


def due_of_list(listed: TaskList) -> Due:
    """The list's own check, which is no task's."""
    return _due("", listed.verify, listed.timeout_s)


def _due(task: str, verify: Sequence[str], timeout_s: float | None) -> Due:
    return Due(task, tuple(dict.fromkeys(verify)), min(timeout_s or TIMEOUT_S, BUDGET_S))


class Checker:
    """The commands of one stop, or of one command line."""

    def __init__(
        self,
        loop: LoopFiles,
        *,
        folder: str,
        env: Mapping[str, str],
        origin: Origin,
        budget_s: float,
        say: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._folder = folder
        self._env = env
        self._origin = origin
        self._say = say
        self._deadline = time.monotonic() + budget_s
        self._began = False
        self._known = record.durations(record.recent(loop))
        self._ran: dict[str, Verdict] = {}
        self._tree = tree.Tree(None, None)
        self._due: Sequence[Due] = ()
        # what the evidence says of a run beside what it came to
        self._iteration = 0
        self._round = 0

    def take_as_green(self, entries: Sequence[record.Entry]) -> None:
        """Commands that were green a moment ago are not run again."""
        for entry in entries:
            self._ran.setdefault(entry.command, Verdict(GREEN, evidence=entry.id))

    def in_order(self, wanted: Sequence[Due]) -> list[Due]:
        """Cheapest known first; what was never run keeps the list's order behind them."""
        return sorted(wanted, key=self._cost)

    def _cost(self, one: Due) -> tuple[bool, float]:
        known = [self._known[text] for text in one.commands if text in self._known]
        is_known = len(known) == len(one.commands)
        return not is_known, sum(known) if is_known else 0.0

    def judge(self, wanted: Sequence[Due], *, iteration: int, round_no: int) -> dict[str, Verdict]:
        """Run what is wanted, task by task."""
        self._tree = tree.look(self._folder, self._env)
        self._due, self._iteration, self._round = wanted, iteration, round_no
        return {one.task: self._judge(one) for one in wanted}

    def _judge(self, one: Due) -> Verdict:
        """Every command green, or the first that is not."""
        verdict = Verdict(GREEN)
        for text in one.commands:
            if text not in self._ran:
                ran = self._run(text)
                if ran.state == UNFINISHED:
                    return ran
                self._ran[text] = ran
            verdict = self._ran[text]
            if verdict.state == RED:
                return verdict
        return verdict

    def _run(self, text: str) -> Verdict:
        """A command that the budget cut short goes on at the next stop, where it is the first and has all of
        the time there is."""
        wanted_s = max(one.timeout_s for one in self._due if text in one.commands)
        left_s = self._deadline - time.monotonic()
        first, self._began = not self._began, True
        if left_s <= 0 or (not first and left_s < min(wanted_s, self._known.get(text, 0.0))):
            return Verdict(UNFINISHED)
        self._say(text)
        limit_s = min(wanted_s, left_s)
        ran = command.run(text, cwd=self._folder, env=self._env, timeout_s=limit_s)
        if ran.timed_out and left_s < wanted_s and not first:
            return Verdict(UNFINISHED)
        evidence = record.add(self._loop, self._facts(text, ran), round_no=self._round)
        if ran.green:
            return Verdict(GREEN, evidence=evidence)
        return Verdict(RED, text, _why(ran, limit_s), ran.tail, evidence)

    def _facts(self, text: str, ran: command.Ran) -> dict[str, Any]:
        return {
            "at": iso(time.time()),
            "loop": self._loop.record.id,
            "tasks": [one.task for one in self._due if one.task and text in one.commands],
            "command": text,
            "cwd": self._folder,
            "green": ran.green,
            "exit_code": ran.exit_code,
            "signal": ran.signal,
            "timed_out": ran.timed_out,
            "duration_s": round(ran.duration_s, 3),
            "output_bytes": ran.size,
            "output_sha256": ran.digest,
            "output_tail": ran.tail,
            "head": self._tree.head,
            "tree": self._tree.digest,
            "client": self._origin.client,
            "model": self._origin.model,
            "session": self._origin.session,
            "iteration": self._iteration,
            "kind": "final" if self._round else self._origin.kind,
        }


def _why(ran: command.Ran, limit_s: float) -> str:
    if ran.timed_out:
        return f"ran into its time limit of {limit_s:.0f} s"
    if ran.exit_code is None:
        return f"was ended by signal {ran.signal}" if ran.signal is not None else "was lost with what ran it"
    return f"exited with {ran.exit_code}"
