"""The evidence of a loop as data: what was run, how it ended, and whether the record is as it was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ralphloop.domain.prompt import count
from ralphloop.proof import check_record
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles

SHOWN = 5


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
