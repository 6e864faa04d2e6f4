"""Evidence on disk: one JSON file per run of a check, only added to, and an index outside the project."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ralphloop import errors
from ralphloop.domain import jsontext
from ralphloop.store import files
from ralphloop.store.files import Lock
from ralphloop.store.loop import LoopFiles

# of the index: what a stop reads of it, about two hundred runs, and what has the last line as a rule
TAIL, LINE = 64 * 1024, 4 * 1024
WAIT_S = 2.0
# the states of a file against the index
SOUND, ALTERED, MISSING = "sound", "altered", "missing"


class Entry(NamedTuple):
    """One line of the index: enough to tell whether a file is as it was written."""

    id: str
    sha256: str
    at: str
    tasks: list[str]
    command: str
    green: bool
    duration_s: float
    kind: str  # claim, done, final or manual
    round: int  # of a final run: the number that came next when it began, so that none has it twice


def add(loop: LoopFiles, facts: dict[str, Any], *, round_no: int = 0) -> str:
    """Write one file of evidence and its line in the index; the id. One at a time does, so that numbers rise
    along the index; who waits in vain goes on, because no file is written over."""
    folder = loop.own_folder("evidence")
    try:
        with Lock(_index(loop), wait_s=WAIT_S):
            return _add(loop, folder, facts, round_no)
    except errors.BusyError:
        return _add(loop, folder, facts, round_no)


def _add(loop: LoopFiles, folder: str, facts: dict[str, Any], round_no: int) -> str:
    label, number = _label(facts["tasks"]), next_number(loop)
    while True:
        evidence_id = f"{number:04d}-{label}"
        text = jsontext.render({"id": evidence_id, **facts}) + "\n"
        if files.create(os.path.join(folder, evidence_id + ".json"), text.encode()):
            break
        number += 1
    told = {name: facts[name] for name in ("at", "tasks", "command", "green", "duration_s", "kind")}
    line = {"id": evidence_id, "sha256": _digest(text.encode()), **told, "round": round_no}
    # a line that was cut off must not take the next one with it
    torn_end = "" if _tail(loop, 1)[0] in ("", "\n") else "\n"
    files.append(_index(loop), torn_end + jsontext.render(line) + "\n")
    return evidence_id


def next_number(loop: LoopFiles) -> int:
    """The one after the last in the index; without one there, after the highest of the files."""
    size, is_whole = LINE, False
    while not is_whole:
        text, is_whole = _tail(loop, size)
        is_torn = not text.endswith("\n")
        for raw in reversed(text.splitlines()):
            number = max((number_of(entry.id) for entry in _read(raw)[0]), default=0)
            if number:
                return number + 1 + is_torn
        size *= 8
    return 1 + max(map(number_of, files.names(loop.path("evidence"))), default=0)


def number_of(evidence_id: str) -> int:
    """0 if it has none."""
    number = evidence_id.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


def _tail(loop: LoopFiles, size: int) -> tuple[str, bool]:
    """The whole lines at the end of the index, the last one perhaps cut off; whether that is all of it."""
    try:
        with open(_index(loop), "rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - size)
            file.seek(start)
            text = file.read(size).decode("utf-8", "surrogateescape")
    except OSError:
        return "", True
    return text.partition("\n")[2] if start and size > 1 else text, not start


def _label(tasks: list[str]) -> str:
    first = tasks[0] if tasks else "list"
    plain = "".join(ch if (ch.isalnum() and ch.isascii()) or ch in "._-" else "-" for ch in first)[:40]
    return plain.strip(".") or "task"


def _index(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "evidence.jsonl")


def entries(loop: LoopFiles) -> list[Entry]:
    """What was recorded, oldest first."""
    return read_index(loop)[0]


def recent(loop: LoopFiles, *, suffices: Callable[[list[Entry]], bool] = lambda found: True) -> list[Entry]:
    """The end of it, so that a stop costs the same after ten runs and after ten thousand; more of it until
    that suffices."""
    size = TAIL
    while True:
        text, is_whole = _tail(loop, size)
        found = _read(text)[0]
        if is_whole or suffices(found):
            return found
        size *= 8


def of_round(loop: LoopFiles, round_no: int) -> list[Entry]:
    """What a final run has come to so far."""

    def begins_before(found: list[Entry]) -> bool:
        return any(0 < number_of(entry.id) < round_no for entry in found)

    return [entry for entry in recent(loop, suffices=begins_before) if entry.round == round_no]


def read_index(loop: LoopFiles) -> tuple[list[Entry], int]:
    """All of it, and how many lines of the index cannot be read."""
    return _read(files.read_quietly(_index(loop)) or "")


def _read(text: str) -> tuple[list[Entry], int]:
    found, bad = [], 0
    for raw in text.splitlines():
        try:
            data = jsontext.parse_object(raw)
        except ValueError:
            data = {}
        if _is_sound(data):
            found.append(Entry(**{name: data[name] for name in Entry._fields}))
        else:
            bad += 1
    return found, bad


def _is_sound(data: dict[str, Any]) -> bool:
    """Whether each value is of its kind: the index is read again before it is believed."""
    kinds: dict[str, Any] = {"tasks": list, "green": bool, "duration_s": (int, float), "round": int}
    named = all(isinstance(data.get(name), kinds.get(name, str)) for name in Entry._fields)
    return named and all(isinstance(task, str) for task in data["tasks"])


def load(loop: LoopFiles, evidence_id: str) -> dict[str, Any] | None:
    try:
        return jsontext.parse_object(files.read_quietly(_path(loop, evidence_id)) or "")
    except ValueError:
        return None


def state(loop: LoopFiles, entry: Entry) -> str:
    """Whether the file is still as it was written."""
    text = files.read_quietly(_path(loop, entry.id))
    if text is None:
        return MISSING
    return SOUND if _digest(text.encode("utf-8", "surrogateescape")) == entry.sha256 else ALTERED


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _path(loop: LoopFiles, evidence_id: str) -> str:
    return os.path.join(loop.path("evidence"), os.path.basename(evidence_id) + ".json")


def durations(found: list[Entry]) -> dict[str, float]:
    """How long each command took when it was last run."""
    return {entry.command: entry.duration_s for entry in found}
