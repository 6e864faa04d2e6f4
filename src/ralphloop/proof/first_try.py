"""What each check came to before any work, as the record of the proof has it; that never overrules what a
final run has come to since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ralphloop.domain.finding import Finding
from ralphloop.domain.model import ENDED, TaskList
from ralphloop.proof import baseline, conclusion, proof_record, unread
from ralphloop.proof.checker import due
from ralphloop.proof.proof_record import UNTRIED, ProofRecord, Tried
from ralphloop.proof.weak import weak
from ralphloop.store import approvals
from ralphloop.store.loop import LoopFiles

LATER = "approved in the client, after the start"  # where nobody waits for a try


def is_open(record: ProofRecord, command: str) -> bool:
    """Whether a command is still to be tried; what could not be is not asked again."""
    known = record.tried.get(command, Tried())
    return known.first == UNTRIED and known.why in ("", LATER)


def keep(loop: LoopFiles, listed: TaskList, tried: Mapping[str, Tried]) -> tuple[Finding, ...]:
    """Put down what first tries came to, and what there is to say of the checks as they are now. Call it
    under the loop's lock."""
    record = proof_record.load(loop)
    known = {
        command: record.tried.get(command, Tried())._replace(first=new.first, why=new.why)
        for command, new in tried.items()
        if is_open(record, command)
    }
    record = record._replace(tried={**record.tried, **known})
    notes = _notes(loop, listed, record)
    if not _is_concluded(loop, record):
        record = record._replace(findings=notes)
    proof_record.save(loop, record)
    return notes


def keep_later(loop: LoopFiles, listed: TaskList, commands: Iterable[str]) -> None:
    """Nobody waits for a try of these. Call it under the loop's lock."""
    keep(loop, listed, {command: Tried(why=LATER) for command in commands})


def _notes(loop: LoopFiles, listed: TaskList, record: ProofRecord) -> tuple[Finding, ...]:
    allowed = approvals.approved(loop.shelf)
    asked = tuple(due(task) for task in listed.tasks if not task.done and allowed.issuperset(task.verify))
    weak_ones = {text: why for text in listed.commands if text in allowed and (why := weak(text))}
    seen = conclusion.Seen(asked, record.tried, weak=weak_ones, untried=record.untaken)
    base = baseline.load(loop)
    return (*conclusion.at_start(seen), *unread.notes(large=base.large if base is not None else ()))


def _is_concluded(loop: LoopFiles, record: ProofRecord) -> bool:
    state = loop.load()
    return bool(record.proven.at) or (state is not None and state.state == ENDED)
