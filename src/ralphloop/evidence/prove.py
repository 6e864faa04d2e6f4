"""The checks of one stop or one command: which are due, run within one time budget, and what follows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ralphloop.domain.ledger import Ledger
from ralphloop.domain.model import (
    CLAIMED,
    CLAIMS,
    FEATURES,
    FINAL_RUN,
    PROVEN,
    SET_ASIDE,
    SKIPPED,
    UNVERIFIED,
    VOUCHED,
    LoopState,
    Task,
    TaskList,
)
from ralphloop.domain.proof import Refusal, Results
from ralphloop.evidence import approval, command, protect, record, tree
from ralphloop.evidence.origin import Origin
from ralphloop.store import approvals, tasks
from ralphloop.store.loop import LoopFiles, iso

TIMEOUT_S = 120.0  # of one command, unless its task says otherwise
BUDGET_S = 300.0  # of one stop; the client waits for the hook a little longer than this
CLAIMS_MAX = 50  # claims judged in one stop
UNREADABLE = "the list"  # in the place of tasks that could not be looked at
WAITS, GREEN, RED, UNFINISHED = "waits", "green", "red", "unfinished"


class Due(NamedTuple):
    """A task with the commands that must be green."""

    task: str
    commands: tuple[str, ...]
    timeout_s: float


class Verdict(NamedTuple):
    state: str
    command: str = ""
    why: str = ""
    tail: str = ""
    evidence: str = ""


class Prover:
    """`plan` and `settle` are called under the loop's lock, `run` outside of it."""

    def __init__(
        self,
        loop: LoopFiles,
        *,
        cwd: str,
        env: Mapping[str, str],
        origin: Origin,
        budget_s: float = BUDGET_S,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.results = Results()
        self._loop = loop
        self._env = env
        self._origin = origin
        self._say = say
        self._folder = tree.folder_for(loop.record.root, cwd)
        self._deadline = time.monotonic() + budget_s
        self._budget_s = budget_s
        self._due: list[Due] = []
        self._verdicts: dict[str, Verdict] = {}
        self._ran: dict[str, Verdict] = {}  # each distinct command once
        self._need = ""
        self._iteration = 0
        self._round = 0
        self._touched: list[protect.Touched] = []
        self._tree: tree.Tree | None = None
        self._known: dict[str, float] = {}

    # Planning

    def plan(self, need: str, state: LoopState, *, same_round: bool = False) -> None:
        """Decide what is due: the claimed tasks, or once more everything that is done."""
        self._need, self._iteration = need, state.iteration
        self._due, self._verdicts = [], {}
        try:
            listed, ledger = self._listed()
        except (ValueError, OSError):
            self.results.unfinished = [UNREADABLE]
            return
        self._plan_round(state, same_round=same_round)
        waiting = approvals.unapproved(self._loop.shelf, listed)
        self._note_waiting(listed.tasks, ledger, waiting)
        for task in listed.tasks:
            if not _is_due(task, ledger, final=need == FINAL_RUN):
                continue
            if self.results.blocked or set(task.verify) & set(waiting):
                self._verdicts[task.id] = Verdict(WAITS)
            else:
                self._due.append(_due(task))
        self._in_order()

    def plan_tasks(self, chosen: Sequence[Task], state: LoopState) -> list[str]:
        """The same for tasks that are named; those whose checks are not approved, and then nothing is due."""
        self._iteration = state.iteration
        allowed = approvals.approved(self._loop.shelf)
        held = [task.id for task in chosen if not allowed.issuperset(task.verify)]
        self._due, self._verdicts = [] if held else [_due(task) for task in chosen], {}
        self._in_order()
        return held

    def _listed(self) -> tuple[TaskList, Ledger]:
        """The list as it is judged: with its pinned criteria, whatever the file says at this moment."""
        ledger = self._loop.load_ledger()
        return tasks.guarded(self._loop, ledger)[0], ledger

    def _plan_round(self, state: LoopState, *, same_round: bool) -> None:
        """A final run that did not fit into one stop goes on at the next, if nothing was done in between."""
        if self._need != FINAL_RUN:
            state.final_since = 0
            return
        if not (same_round and state.final_since):
            state.final_since = state.iteration
        self._round = state.final_since
        for entry in record.entries(self._loop):
            if entry.kind == "final" and entry.round == self._round and entry.green:
                self._ran.setdefault(entry.command, Verdict(GREEN, evidence=entry.id))

    def _note_waiting(self, listed: list[Task], ledger: Ledger, waiting: list[str]) -> None:
        results, wanted = self.results, set(waiting)
        results.commands, results.digest = waiting, approval.digest(waiting)
        settled = (VOUCHED, SKIPPED, SET_ASIDE)
        held = [task for task in listed if wanted & set(task.verify) and ledger.state(task) not in settled]
        pinned = [task for task in held if not ledger.tasks.get(task.id, {}).get("added")]
        if self._loop.record.layout == FEATURES:
            results.blocked = bool(pinned)
            results.waiting = [task.id for task in held if ledger.state(task) == CLAIMED]

    def _in_order(self) -> None:
        """Cheapest known first; what was never run keeps the list's order behind them."""
        self._known = record.durations(record.entries(self._loop))
        self._due.sort(key=self._cost)
        if self._need == CLAIMS:
            for due in self._due[CLAIMS_MAX:]:
                self._verdicts[due.task] = Verdict(UNFINISHED)
            del self._due[CLAIMS_MAX:]

    def _cost(self, due: Due) -> tuple[bool, float]:
        known = [self._known[text] for text in due.commands if text in self._known]
        return len(known) < len(due.commands), sum(known) if len(known) == len(due.commands) else 0.0

    # Running

    def run(self) -> None:
        """Run what is due; no lock is held meanwhile."""
        if not self._due:
            return
        protected = protect.Protected(self._loop, self._folder)
        if not protected.pinned:
            protected.pin(protect.patterns_of(self._loop))
        self._touched = protected.put_back()
        if self._touched and self._need != FINAL_RUN:
            return
        self._tree = tree.look(self._folder, self._env)
        for due in self._due:
            self._verdicts[due.task] = self._judge(due)
        self._touched += protected.put_back()

    def _judge(self, due: Due) -> Verdict:
        """Every command green, or the first that is not."""
        verdict = Verdict(GREEN)
        for text in due.commands:
            if text not in self._ran:
                ran = self._run_one(text, timeout_s=self._limit(text))
                if ran.state == UNFINISHED:
                    return ran
                self._ran[text] = ran
            verdict = self._ran[text]
            if verdict.state == RED:
                return verdict
        return verdict

    def _limit(self, text: str) -> float:
        return max(due.timeout_s for due in self._due if text in due.commands)

    def _run_one(self, text: str, *, timeout_s: float) -> Verdict:
        left = self._deadline - time.monotonic()
        fresh = left > 0.95 * self._budget_s  # the first one of this stop has all of the time there is
        if left <= 0 or (not fresh and left < min(timeout_s, self._known.get(text, 0.0))):
            return Verdict(UNFINISHED)
        self._say(text)
        ran = command.run(text, cwd=self._folder, env=self._env, timeout_s=min(timeout_s, left))
        if ran.timed_out and left < timeout_s and not fresh:
            return Verdict(UNFINISHED)
        evidence = record.add(self._loop, self._facts(text, ran), round_no=self._round)
        if ran.green:
            return Verdict(GREEN, evidence=evidence)
        return Verdict(RED, text, _why(ran, min(timeout_s, left)), ran.tail, evidence)

    def _facts(self, text: str, ran: command.Ran) -> dict[str, Any]:
        seen = self._tree or tree.Tree(None, None)
        return {
            "at": iso(time.time()),
            "loop": self._loop.record.id,
            "tasks": [due.task for due in self._due if text in due.commands],
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
            "head": seen.head,
            "tree": seen.digest,
            "client": self._origin.client,
            "model": self._origin.model,
            "session": self._origin.session,
            "iteration": self._iteration,
            "kind": "final" if self._need == FINAL_RUN else self._origin.kind,
        }

    # What follows

    def settle(self, state: LoopState) -> None:
        """Turn back what is not proven, in the agent's own file, and note the rest."""
        try:
            listed, ledger = self._listed()
        except (ValueError, OSError):
            self.results.unfinished = [UNREADABLE]  # it broke while the checks ran: judged when it is back
            return
        places = {task.id: place for place, task in enumerate(listed.tasks) if task.done}
        if self._touched and self._need != FINAL_RUN:
            self._refuse_touched()
        reopen = []
        self.results.unfinished = []
        for task, verdict in self._verdicts.items():
            if task not in places:
                continue  # it was reopened, or taken away, while its check ran
            if verdict.state == RED:
                reopen.append(places[task])
            self._note(task, verdict, ledger)
        tasks.mark(self._loop.record, reopen, done=False)
        self.results.final = self._need == FINAL_RUN and not (self.results.unfinished or reopen)
        state.ledger += 1
        self._loop.save_ledger(ledger)

    def _refuse_touched(self) -> None:
        named = ", ".join(f"{entry.path} ({entry.what})" for entry in self._touched[:8])
        put_back = (
            "it is as it was again" if all(entry.restored for entry in self._touched) else "put it back"
        )
        why = f"protected files were touched: {named}; {put_back}"
        for due in self._due:
            self._verdicts[due.task] = Verdict(RED, why=why)

    def _note(self, task: str, verdict: Verdict, ledger: Ledger) -> None:
        results, final = self.results, self._need == FINAL_RUN
        known = ledger.tasks.get(task, {}).get("state", "")
        if verdict.state == GREEN and not verdict.evidence and not final:
            ledger.note(task, state=UNVERIFIED)  # nothing was run: it only kept its hands off protected files
        elif verdict.state == GREEN and (not final or known == UNVERIFIED):
            ledger.note(task, state=PROVEN, evidence=verdict.evidence)
            ledger.drop(task, "why")
            results.proven.append(task)
            self._loop.journal("proven", task=task, evidence=verdict.evidence, final=final)
        elif verdict.state == RED:
            ledger.reopen(task)
            ledger.note(task, why=verdict.why)
            results.refused.append(self._refusal(task, verdict))
        elif verdict.state == UNFINISHED:
            results.unfinished.append(task)
        elif verdict.state == WAITS and self._loop.record.layout != FEATURES and not final:
            ledger.note(task, state=UNVERIFIED)

    def _refusal(self, task: str, verdict: Verdict) -> Refusal:
        again = self._need == FINAL_RUN
        facts = {"task": task, "command": verdict.command, "evidence": verdict.evidence}
        self._loop.journal("refused", detail=verdict.why, final=again, **facts)
        return Refusal(task, why=verdict.why, command=verdict.command, tail=verdict.tail,
                       evidence=verdict.evidence, again=again)  # fmt: skip

    def verdicts(self) -> dict[str, Verdict]:
        return self._verdicts

    @property
    def touched(self) -> list[protect.Touched]:
        return self._touched


def _is_due(task: Task, ledger: Ledger, *, final: bool) -> bool:
    said = ledger.state(task)
    if not task.done or (final and not task.verify):
        return False
    return said != VOUCHED if final else said == CLAIMED


def _due(task: Task) -> Due:
    return Due(task.id, tuple(dict.fromkeys(task.verify)), min(task.timeout_s or TIMEOUT_S, BUDGET_S))


def _why(ran: command.Ran, limit_s: float) -> str:
    if ran.timed_out:
        return f"ran into its time limit of {limit_s:.0f} s"
    return f"was ended by signal {ran.signal}" if ran.exit_code is None else f"exited with {ran.exit_code}"
