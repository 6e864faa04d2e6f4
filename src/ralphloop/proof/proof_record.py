"""What the proof of a loop came to: doubts and notes, what each check did apart from the work, the tree that
was proven. One file beside the loop's other kept ones; a loop that an earlier version began has none."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ralphloop.domain import finding, jsontext
from ralphloop.domain.finding import Finding
from ralphloop.store import files
from ralphloop.store.loop import PROOF, LoopFiles

GREEN, RED, UNTRIED = "green", "red", "untried"


class Tried(NamedTuple):
    """What one command came to: at the start, with the work alone, and without the work."""

    first: str = UNTRIED
    alone: str = UNTRIED
    without: str = UNTRIED
    why: str = ""  # why something of it was not tried
    cause: str = ""  # red with the work alone: the kind of doubt that follows
    named: tuple[str, ...] = ()  # what that doubt names
    read: tuple[str, ...] = ()  # changed files that the command read
    made: tuple[str, ...] = ()  # programs of its own that it made anew
    wrote: tuple[str, ...] = ()  # files that it left, and that a later command may be about
    counted: dict[str, int] = {}  # noqa: RUF012 - the tests that ran with the work alone, by runner
    fewer: str = ""  # how many tests ran, where more did without the work


class Proven(NamedTuple):
    """Where and on what the loop became complete."""

    tree: str = ""  # git's id of all files that are not ignored
    head: str = ""
    branch: str = ""
    folder: str = ""
    at: str = ""


class ProofRecord(NamedTuple):
    findings: tuple[Finding, ...] = ()
    tried: dict[str, Tried] = {}  # noqa: RUF012 - command -> what it came to; never changed in place
    turned: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - task -> the changed files that its checks read
    proven: Proven = Proven()
    round: int = 0  # the final run that this is about
    stops: int = 0  # how many stops have asked so far, with the work as it is
    state: str = ""  # digest of all that had changed then
    refused: tuple[str, ...] = ()  # doubts for which tasks were opened again, where doubts are refused
    untaken: str = ""  # why no tree was kept when the loop began

    @property
    def doubts(self) -> list[Finding]:
        return [one for one in self.findings if one.is_doubt]

    @property
    def insisted(self) -> list[Finding]:
        """Doubts for which tasks were opened again; about a task that is proven all the same, the person
        decides."""
        known = [one for one in self.doubts if one.kind in finding.REFUSED]
        return [one for one in known if f"{one.kind} {one.task}" in self.refused]

    @property
    def notes(self) -> list[Finding]:
        return [one for one in self.findings if not one.is_doubt]


def load(loop: LoopFiles) -> ProofRecord:
    """Empty where there is none; what is not of its kind is left out."""
    data = files.read_object(_place(loop))
    findings, tried = data.get("findings"), data.get("tried")
    turned, proven = data.get("turned"), data.get("proven")
    return ProofRecord(
        tuple(filter(None, map(finding.read, findings if isinstance(findings, list) else []))),
        {command: _tried(row) for command, row in _rows(tried) if isinstance(row, dict)},
        {task: _names(row) for task, row in _rows(turned) if isinstance(row, list)},
        Proven(**_texts(proven if isinstance(proven, dict) else {}, Proven._fields)),
        _count(data.get("round")),
        _count(data.get("stops")),
        _text(data.get("state")),
        _names(data.get("refused")),
        **_texts(data, ("untaken",)),
    )


def save(loop: LoopFiles, record: ProofRecord) -> None:
    data = {
        "findings": [one.to_json() for one in record.findings],
        "tried": {command: row._asdict() for command, row in record.tried.items()},
        "turned": {task: list(names) for task, names in record.turned.items()},
        "proven": record.proven._asdict(),
        "round": record.round,
        "stops": record.stops,
        "state": record.state,
        "refused": list(record.refused),
        "untaken": record.untaken,
    }
    files.write_text(_place(loop), jsontext.render(data) + "\n", durable=True)


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, PROOF)


def _rows(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _tried(row: dict[str, Any]) -> Tried:
    known: dict[str, Any] = _texts(row, ("first", "alone", "without", "why", "cause", "fewer"))
    known |= {name: _names(row.get(name)) for name in ("named", "read", "made", "wrote")}
    known["counted"] = {name: _count(number) for name, number in _rows(row.get("counted"))}
    return Tried(**known)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _texts(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    return {name: row[name] for name in names if isinstance(row.get(name), str)}
