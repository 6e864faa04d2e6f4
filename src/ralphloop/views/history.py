"""A loop's journal as data: what can be read of it, and which task was at hand when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ralphloop.agents.stamp import moment
from ralphloop.engine import under_way
from ralphloop.engine.account import LAST
from ralphloop.store.loop import LoopFiles, iso

if TYPE_CHECKING:
    from ralphloop.engine.under_way import Part

Entry = dict[str, Any]

JOURNAL_LOST = "the journal is missing: times, refused claims and what was restored are not known"


class History(NamedTuple):
    entries: tuple[Entry, ...]
    faults: tuple[str, ...]


class Stretch(NamedTuple):
    """A time with one task at hand, empty if with none; `rests` if the loop rested and a stop took it up, or
    its session was killed: what was spent in it counts, and how long it worked is not known."""

    task: str
    begin: float
    end: float
    rests: bool = False


def history_of(loop: LoopFiles) -> History:
    lines = under_way.lines(loop)
    if lines is None:
        return History((), (JOURNAL_LOST,))
    entries, bad = [], 0
    for raw in lines:
        entry = entry_of(raw)
        if entry is None:
            bad += 1
            entry = rest_of(raw)
        if entry is not None:
            entries.append(entry)
    faults = [f"{bad} of the journal's lines cannot be read"] if bad else []
    if not entries or entries[0]["event"] != "arm":
        faults.append("the journal's beginning is missing")
    return History(tuple(entries), tuple(faults))


def entry_of(raw: str | bytes) -> Entry | None:
    """What one line says; None for one that is no entry, which may be in the middle of a write."""
    entry = under_way.entry_of(raw)
    return entry if entry is not None and moment(entry["at"]) is not None else None


def rest_of(raw: str) -> Entry | None:
    """What was written behind half a line, where a write was cut off before its end."""
    entry = under_way.rest_of(raw)
    return entry if entry is not None and moment(entry["at"]) is not None else None


def at(entry: Entry) -> float:
    return moment(entry["at"]) or 0.0


def rested_at(entries: Sequence[Entry]) -> float | None:
    """When the loop last came to rest."""
    for entry in reversed(entries):
        if _rests(entry) or (entry["event"] == "stop" and not under_way.is_under_way(entry)):
            return at(entry)
    return None


def _rests(entry: Entry) -> bool:
    """A supervisor goes on after most of its sessions."""
    return entry["event"] in under_way.RESTS and entry.get("verdict") not in ("next", "wait")


def working_s(parts: Sequence[Stretch]) -> float:
    """How long the loop worked in all."""
    return sum(part.end - part.begin for part in parts if not part.rests)


def work_in(parts: Iterable[Part], *, end: float) -> float:
    """The same of parts as they were read, the last of which may be without an end. Where one begins when
    the one before ends, only their first and last moment are: there is one part for each stop."""
    spans: list[tuple[str, str]] = []
    for _, first, last, rests in parts:
        if not rests:
            joined = spans.pop()[0] if spans and spans[-1][1] == first else first
            spans.append((joined, last))
    known = [(moment(first), end if last == LAST else moment(last)) for first, last in spans]
    return sum(max(0.0, last - first) for first, last in known if first is not None and last is not None)


def stretches(entries: Sequence[Entry], *, begin: float, end: float) -> list[Stretch]:
    """The times in which the loop was under way, as moments; `begin` and `end` are its first and last."""
    found = under_way.parts(entries, begin=iso(begin) if begin else "", end=iso(end))
    return [
        Stretch(task, moment(first) or 0.0, moment(last) or 0.0, rests) for task, first, last, rests in found
    ]
