"""What was run to prove a task, and whether the records of it are as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ralphloop.domain.prompt import line
from ralphloop.errors import UserError
from ralphloop.loops.opened import Opened
from ralphloop.loops.place import Place, pick
from ralphloop.loops.result import Result
from ralphloop.proof import check_record
from ralphloop.store.loop import LoopFiles


def evidence(place: Place, wanted: str | None = None, *, loop: str | None = None) -> Result:
    """All of a loop's, or what is `wanted`: a task's id, or that of one piece of evidence."""
    of = pick(place, loop)
    known = check_record.entries(of)
    found = [entry for entry in known if wanted in (None, entry.id) or wanted in entry.tasks]
    if wanted is not None and not found:
        raise UserError(_why_none(of, wanted, known))
    facts = {"loop": of.record.id, "evidence": [_proof(of, entry) for entry in found]}
    told = _one(of, found[0]) if wanted is not None and len(found) == 1 else _rows(of, found)
    return Result(facts, tuple(told))


def _why_none(loop: LoopFiles, wanted: str, known: list[check_record.Entry]) -> str:
    task = Opened(loop, final=True).task(wanted)
    shown = ", ".join(sorted({task for entry in known for task in entry.tasks})) or "nothing yet"
    why = "its check was not run yet" if task.verify else "it has no check"
    cure = f"`ralphloop verify {wanted}` runs it" if task.verify else "add a `verify` command to the list"
    told = f"there is no evidence for {wanted} in {loop.record.name}: {why}; {cure}"
    return f"{told}. There is for: {shown}."


def _proof(loop: LoopFiles, entry: check_record.Entry) -> dict[str, Any]:
    """The index's own words, and what the file adds to them if it is as it was written."""
    state = check_record.state(loop, entry)
    facts = check_record.load(loop, entry.id) if state == check_record.SOUND else None
    return {**(facts or {}), **entry._asdict(), "file": state}


def _rows(loop: LoopFiles, found: list[check_record.Entry]) -> Iterator[str]:
    if not found:
        yield f"Nothing was checked in {loop.record.name} yet."
    for entry in found:
        state = check_record.state(loop, entry)
        doubt = "" if state == check_record.SOUND else f"  (its file is {state})"
        sign = "✓" if entry.green else "✗"
        what = f"{entry.at[:19]}Z  {entry.kind:<6}  {entry.duration_s:7.1f} s  `{line(entry.command, 60)}`"
        yield f"{sign} {entry.id:<16}  {what}{doubt}"


def _one(loop: LoopFiles, entry: check_record.Entry) -> Iterator[str]:
    facts = _proof(loop, entry)
    tail = str(facts.pop("output_tail", ""))
    for name, value in facts.items():
        if value not in (None, "", []):
            yield f"{name:<14} {', '.join(map(str, value)) if isinstance(value, list) else value}"
    if tail.strip():
        yield from ("", "the end of its output:", *(f"  {text}" for text in tail.rstrip("\n").split("\n")))
