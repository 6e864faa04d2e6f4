"""A loop's journal as data: what can be read of it, and which task was at hand when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ralphloop.agents.stamp import moment
from ralphloop.domain import jsontext
from ralphloop.domain.model import RUNNING, WAITING
from ralphloop.store import files
from ralphloop.store.loop import JOURNAL, LoopFiles
from ralphloop.store.rotation import older

Entry = dict[str, Any]

# Events after which the loop rests until somebody, or a stop, takes it up again.
RESTS = ("pause", "cancel", "session_end", "interrupted", "stop_failure")
ATTEMPTS = 3
JOURNAL_LOST = "the journal is missing: times, refused claims and what was restored are not known"


class History(NamedTuple):
    entries: tuple[Entry, ...]
    faults: tuple[str, ...]


BEGIN = '{"at": "'  # of every line; inside one its quotes have a backslash


class Stretch(NamedTuple):
    """A time with one task at hand, empty if with none; `rests` if the loop rested and a stop took it up."""

    task: str
    begin: float
    end: float
    rests: bool = False


def history_of(loop: LoopFiles) -> History:
    texts = _texts(loop.shown(older(JOURNAL)), loop.shown(JOURNAL))
    if not texts:
        return History((), (JOURNAL_LOST,))
    entries, bad = [], 0
    # behind the last line end a write may be under way
    for raw in (raw for text in texts for raw in text.split("\n")[:-1] if raw):
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


def _texts(before: str, now: str) -> list[str]:
    """Of the file that was moved aside and of the one that is written; again if it moves in between."""
    for _ in range(ATTEMPTS):
        mark = files.signature(before)
        texts = [text for place in (before, now) if (text := files.read_quietly(place)) is not None]
        if files.signature(before) == mark:
            break
    return texts


def entry_of(raw: str | bytes) -> Entry | None:
    """What one line says; None for one that is no entry, which may be in the middle of a write."""
    try:
        entry = jsontext.parse_object(raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw)
    except ValueError:
        return None
    return entry if isinstance(entry.get("event"), str) and moment(entry.get("at")) is not None else None


def rest_of(raw: str) -> Entry | None:
    """What was written behind half a line, where a write was cut off before its end."""
    at = raw.rfind(BEGIN)
    return entry_of(raw[at:]) if at > 0 else None


def text(entry: Entry, key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def texts(entry: Entry, key: str) -> list[str]:
    value = entry.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def at(entry: Entry) -> float:
    return moment(entry["at"]) or 0.0


def of_kind(entries: Iterable[Entry], *events: str) -> Iterator[Entry]:
    return (entry for entry in entries if entry["event"] in events)


def sessions(entries: Iterable[Entry]) -> list[str]:
    """The sessions that owned the loop, in order."""
    owning = of_kind(entries, "arm", "bind", "adopt", "resume", "session", "stop")
    return list(dict.fromkeys(name for entry in owning if (name := text(entry, "session"))))


def rested_at(entries: Sequence[Entry]) -> float | None:
    """When the loop last came to rest."""
    for entry in reversed(entries):
        if _rests(entry) or (entry["event"] == "stop" and not _is_under_way(entry)):
            return at(entry)
    return None


def _rests(entry: Entry) -> bool:
    """A supervisor goes on after most of its sessions."""
    return entry["event"] in RESTS and entry.get("verdict") not in ("next", "wait")


def stretches(entries: Sequence[Entry], *, begin: float, end: float) -> list[Stretch]:
    """A task is at hand from the stop that hands it out to the next; `begin` and `end` stand in for what
    the journal does not say of the loop's first and last moment."""
    task, under_way, rests = _first_task(entries), begin, 0.0
    found: list[Stretch] = []
    for entry in entries:
        now, event = at(entry), entry["event"]
        if event == "arm":
            under_way = now if text(entry, "session") else 0.0
        elif event in ("bind", "resume", "wake"):
            under_way, rests = now if text(entry, "session") else 0.0, 0.0
        elif event == "session":
            task, under_way, rests = text(entry, "task"), now, 0.0
        elif event == "stop" or event in RESTS:
            if under_way or (rests and event == "stop"):
                found.append(Stretch(task, under_way or rests, now, not under_way))
            goes_on = event == "stop" and _is_under_way(entry)
            under_way, rests = (now, 0.0) if goes_on else (0.0, now)
            task = _handed_out(entry, task)
    if under_way:
        found.append(Stretch(task, under_way, end))
    return [part._replace(end=max(part.begin, part.end)) for part in found]


def _is_under_way(stop: Entry) -> bool:
    return stop.get("state") in (RUNNING, WAITING)


def _handed_out(entry: Entry, before: str) -> str:
    """Only a stop that goes on hands out a task; one about a broken file or a phase changes none."""
    goes_on = text(entry, "decision") == "continue"
    return (
        text(entry, "task") if goes_on and (text(entry, "task") or entry.get("rule") == "go_on") else before
    )


def _first_task(entries: Iterable[Entry]) -> str:
    """What the first turn was about. Where the start does not say it: what was claimed in it, else what its
    stop handed out, which is then the same task again."""
    for entry in of_kind(entries, "arm", "claim", "stop"):
        claimed = texts(entry, "claimed")[:1] if entry["event"] == "stop" else []
        found = claimed[0] if claimed else text(entry, "task")
        if found or entry["event"] == "stop":
            return found
    return ""
