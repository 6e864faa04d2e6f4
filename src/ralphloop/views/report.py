"""The read model of one loop's whole life: its outcome, its tasks, what was refused, and what it cost."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.domain.continuing import PROMISE
from ralphloop.domain.ledger import Ledger
from ralphloop.domain.model import COMPLETE, PROVEN
from ralphloop.domain.prompt import count
from ralphloop.engine.account import look, of_kind, sessions, text
from ralphloop.proof import check_record
from ralphloop.proof.still import still_proven
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles
from ralphloop.views import journal
from ralphloop.views.figure import Share, Spending, Used, spending_of, used
from ralphloop.views.journal import Entry, Stretch
from ralphloop.views.snapshot import LoopView, TaskView, view_of, worked_until
from ralphloop.views.terminal import doubts_told

SHOWN = 5
UNKNOWN = "unknown"  # the state of a task that the journal names and the list does not
# what a stop's entry says it refused, besides tasks
COMPLETION = {
    PROMISE: f"{PROMISE} was said while tasks were open",
    "completion": "every task was marked done without a single tool call",
}

_REFUSAL = ("task", "command", "detail", "evidence")


class Check(NamedTuple):
    """One run of a command; what only its file tells is None where that is not sound."""

    id: str
    at: str
    kind: str
    command: str
    green: bool
    exit_code: int | None
    ended: str
    duration_s: float
    file: str  # sound, altered or missing
    tasks: tuple[str, ...]
    round: int
    client: str
    model: str

    def to_json(self) -> dict[str, Any]:
        left = ("tasks", "round", "client", "model")
        return {name: value for name, value in self._asdict().items() if name not in left}


class FinalRun(NamedTuple):
    """The last time that everything was run once more."""

    at: str
    green: bool
    checks: tuple[Check, ...]

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at, "green": self.green, "evidence": [check.id for check in self.checks]}


class Checked(NamedTuple):
    checks: tuple[Check, ...]
    faults: tuple[str, ...]

    def of(self, task: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if task in check.tasks)


def checked(loop: LoopFiles) -> Checked:
    sound, bad = check_record.read_index(loop)
    faults = [f"{count(bad, 'line')} of the evidence's index cannot be read"] if bad else []
    checks = [_check(loop, entry) for entry in sound]
    for state in (check_record.ALTERED, check_record.MISSING):
        named = [check.id for check in checks if check.file == state]
        faults += [f"evidence that is {state}: {_some(named)}"] if named else []
    known = {check.id + ".json" for check in checks}
    strange = [name for name in files.names(loop.path("evidence")) if name not in known]
    faults += [f"files in evidence/ that ralphloop did not record: {_some(strange)}"] if strange else []
    return Checked(tuple(checks), tuple(faults))


def _check(loop: LoopFiles, entry: check_record.Entry) -> Check:
    state = check_record.state(loop, entry)
    facts = (check_record.load(loop, entry.id) if state == check_record.SOUND else None) or {}
    return Check(
        entry.id,
        entry.at,
        entry.kind,
        entry.command,
        entry.green is True,
        facts.get("exit_code"),
        _ended(facts),
        entry.duration_s,
        state,
        tuple(map(str, entry.tasks)),
        entry.round,
        str(facts.get("client") or ""),
        str(facts.get("model") or ""),
    )


def _ended(facts: dict[str, Any]) -> str:
    if not facts:
        return "unknown"
    if facts.get("timed_out"):
        return "timed out"
    if facts.get("exit_code") is not None:
        return f"exit {facts['exit_code']}"
    return f"signal {facts['signal']}" if facts.get("signal") else "lost"


def final_run(checks: Sequence[Check]) -> FinalRun | None:
    """A run that did not fit into one stop goes on in the next, so a round's last word per command counts."""
    final = [check for check in checks if check.kind == "final"]
    if not final:
        return None
    last = {check.command: check for check in final if check.round == final[-1].round}
    return FinalRun(final[-1].at, all(check.green for check in last.values()), tuple(last.values()))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


class Refused(NamedTuple):
    at: str
    task: str  # empty for a claim that all of them are done, and for the list's own check
    command: str
    why: str
    evidence: str
    final: bool


class TaskReport(NamedTuple):
    id: str
    title: str
    state: str
    added: bool
    attempts: int
    why: str
    refused: tuple[Refused, ...]
    checks: tuple[Check, ...]
    time_s: float
    spent: Share | None  # None if nobody knows
    commit: str  # empty for a task without one
    turned: tuple[str, ...]  # the changed files that its checks read


class Report(NamedTuple):
    view: LoopView
    made_at: float
    ended_at: float | None
    working_s: float
    sessions: tuple[str, ...]
    clients: tuple[str, ...]
    models: tuple[str, ...]
    limits: tuple[Used, ...]
    tasks: tuple[TaskReport, ...]
    refused: tuple[Refused, ...]
    rejected: tuple[str, ...]  # names in the folder of that name
    spending: Spending
    final_run: FinalRun | None
    list_checks: tuple[Check, ...]  # of the list itself, which are no task's
    stretches: tuple[Stretch, ...]
    entries: tuple[Entry, ...]
    faults: tuple[str, ...]
    since: str = ""  # whether what was proven is still what is there

    @property
    def outcome(self) -> str:
        """What it came to, or the state of a loop that has not come to anything yet."""
        doubts = doubts_told(self.view)
        return (self.view.outcome or self.view.state) + (f", with {doubts}" if doubts else "")

    @property
    def added(self) -> list[str]:
        return [task.id for task in self.tasks if task.added]

    @property
    def counts(self) -> dict[str, int]:
        """How many tasks are in each state."""
        states = [task.state for task in self.tasks]
        return {state: states.count(state) for state in dict.fromkeys(states)}

    @property
    def elapsed_s(self) -> float:
        begin = self.view.started_at
        return max(0.0, (self.ended_at or self.made_at) - begin) if begin else 0.0

    def of_kind(self, event: str) -> Iterator[Entry]:
        return of_kind(self.entries, event)


def report_of(loop: LoopFiles, *, now: float, env: Mapping[str, str]) -> Report:
    view, state, ledger = view_of(loop, now=now), loop.state(), loop.load_ledger()
    said, proofs = journal.history_of(loop), checked(loop)
    end = worked_until(state, left_at=view.left_at, now=now)
    parts = journal.stretches(said.entries, begin=state.started_at, end=end)
    account = look(loop, state, env=env)
    spending = spending_of(account)
    refused = tuple(_refused(said.entries))
    work = [part for part in parts if not part.rests]
    rested = None if state.live else journal.rested_at(said.entries) or state.seen_at or None
    return Report(
        view=view,
        made_at=now,
        ended_at=rested,
        working_s=journal.working_s(work),
        sessions=_in_order(*sessions(said.entries), state.owner or ""),
        clients=_in_order(*(check.client for check in proofs.checks)),
        models=_in_order(*spending.by_model, *(check.model for check in proofs.checks)),
        limits=used(loop.record.limits, state, spending, until=end),
        tasks=tuple(_tasks(view, ledger, refused=refused, proofs=proofs, work=work, spending=spending)),
        refused=refused,
        rejected=tuple(files.names(loop.path("rejected"))),
        spending=spending,
        final_run=final_run(proofs.checks),
        list_checks=tuple(check for check in proofs.checks if not check.tasks),
        stretches=tuple(work),
        entries=said.entries,
        faults=(
            *_faults(loop, view),
            *said.faults,
            *proofs.faults,
            *_unproven(ledger, proofs),
            *_uncounted(sessions(said.entries), account.paths),
        ),
        since=still_proven(loop, env) if view.outcome == COMPLETE else "",
    )


def _in_order(*names: str) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name)


def _refused(entries: tuple[Entry, ...]) -> Iterator[Refused]:
    for entry in of_kind(entries, "refused", "stop"):
        if entry["event"] == "stop":
            for word in text(entry, "refused").split(", "):
                if word in COMPLETION:
                    yield Refused(entry["at"], "", "", COMPLETION[word], "", False)
            continue
        task, command, why, evidence = (text(entry, key) for key in _REFUSAL)
        yield Refused(entry["at"], task, command, why, evidence, entry.get("final") is True)


def _tasks(
    view: LoopView,
    ledger: Ledger,
    *,
    refused: tuple[Refused, ...],
    proofs: Checked,
    work: list[Stretch],
    spending: Spending,
) -> Iterator[TaskReport]:
    """The list's tasks, and behind them those of which only the journal still knows."""
    claims, checks, times = _grouped(refused), _by_task(proofs), _times(work)
    listed = {task.id for task in view.tasks}
    lost = [name for name in _in_order(*times, *claims, *checks) if name not in listed]
    gone = [TaskView(name, "", ledger.tasks.get(name, {}).get("state") or UNKNOWN, 0, "") for name in lost]
    for task in (*view.tasks, *gone):
        yield TaskReport(
            task.id,
            task.title,
            task.state,
            task.added,
            task.attempts,
            ledger.tasks.get(task.id, {}).get("why", ""),
            tuple(claims.get(task.id, ())),
            tuple(checks.get(task.id, ())),
            times.get(task.id, 0.0),
            spending.by_task.get(task.id, Share()) if spending.known else None,
            ledger.tasks.get(task.id, {}).get("commit", ""),
            view.proof.turned.get(task.id, ()),
        )


def _grouped(refused: tuple[Refused, ...]) -> Mapping[str, list[Refused]]:
    found: dict[str, list[Refused]] = {}
    for claim in refused:
        if claim.task:
            found.setdefault(claim.task, []).append(claim)
    return found


def _by_task(proofs: Checked) -> Mapping[str, list[Check]]:
    found: dict[str, list[Check]] = {}
    for check in proofs.checks:
        for task in check.tasks:
            found.setdefault(task, []).append(check)
    return found


def _times(work: list[Stretch]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for part in work:
        if part.task:
            found[part.task] = found.get(part.task, 0.0) + part.end - part.begin
    return found


def _faults(loop: LoopFiles, view: LoopView) -> Iterator[str]:
    if loop.load() is None:
        yield "the loop's state is lost: its counters and times are not known"
    if view.fault:
        yield f"the tasks cannot be read: {view.fault}"
    if not any(_is_object(os.path.join(folder, "ledger.json")) for folder in (loop.kept, loop.folder)):
        yield "the ledger is lost: which tasks are given, vouched for, added or asked about is not known"


def _is_object(path: str) -> bool:
    try:
        return isinstance(jsontext.parse_object(files.read_quietly(path) or ""), dict)
    except ValueError:
        return False


def _unproven(ledger: Ledger, proofs: Checked) -> Iterator[str]:
    known = {check.id for check in proofs.checks}
    for task, facts in ledger.tasks.items():
        evidence = facts.get("evidence", "")
        if facts.get("state") == PROVEN and evidence not in known:
            yield f"{task} counts as proven, but its evidence ({evidence or 'none'}) is not in the index"


def _uncounted(sessions: list[str], transcripts: list[str]) -> Iterator[str]:
    """A loop remembers its last transcripts only; of a client that names none there is nothing to miss."""
    lost = len(sessions) - len(transcripts)
    if transcripts and lost > 0:
        yield f"the transcripts of {count(lost, 'session')} are not known: their tokens are not counted"
