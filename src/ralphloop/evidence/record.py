"""Evidence on disk: one JSON file per run of a check, only added to, and an index outside the project."""

from __future__ import annotations

import hashlib
import os
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles

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
    round: int


def add(loop: LoopFiles, facts: dict[str, Any], *, round_no: int = 0) -> str:
    """Write one file of evidence and its line in the index; the id."""
    folder = loop.own_folder("evidence")
    label = _label(facts["tasks"])
    number = max(len(files.names(folder)), len(entries(loop))) + 1
    while True:
        evidence_id = f"{number:04d}-{label}"
        text = jsontext.render({"id": evidence_id, **facts}) + "\n"
        if files.create(os.path.join(folder, evidence_id + ".json"), text.encode()):
            break
        number += 1
    line = {
        "id": evidence_id,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "at": facts["at"],
        "tasks": facts["tasks"],
        "command": facts["command"],
        "green": facts["green"],
        "duration_s": facts["duration_s"],
        "kind": facts["kind"],
        "round": round_no,
    }
    files.append(_index(loop), _torn_end(_index(loop)) + jsontext.render(line) + "\n")
    return evidence_id


def _torn_end(path: str) -> str:
    """A line end, if the last line was cut off: it must not take the next one with it."""
    try:
        with open(path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return "" if file.read(1) == b"\n" else "\n"
    except OSError:
        return ""


def _label(tasks: list[str]) -> str:
    first = tasks[0] if tasks else "list"
    plain = "".join(ch if (ch.isalnum() and ch.isascii()) or ch in "._-" else "-" for ch in first)[:40]
    return plain.strip(".") or "task"


def _index(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "evidence.jsonl")


def entries(loop: LoopFiles) -> list[Entry]:
    """What was recorded, oldest first."""
    return read_index(loop)[0]


def read_index(loop: LoopFiles) -> tuple[list[Entry], int]:
    """The same, and how many lines of the index cannot be read."""
    found, bad = [], 0
    for raw in (files.read_quietly(_index(loop)) or "").splitlines():
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
    return (
        SOUND
        if hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest() == entry.sha256
        else ALTERED
    )


def _path(loop: LoopFiles, evidence_id: str) -> str:
    return os.path.join(loop.path("evidence"), os.path.basename(evidence_id) + ".json")


def durations(found: list[Entry]) -> dict[str, float]:
    """How long each command took when it was last run."""
    return {entry.command: entry.duration_s for entry in found}
