"""Records of stops: the project's switch, and what a record holds, once it is known to be one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ralphloop.domain import jsontext, prompt
from ralphloop.domain.model import THE_LIST
from ralphloop.domain.prompt import plain
from ralphloop.errors import BusyError, UserError
from ralphloop.hook.recording import FORMAT
from ralphloop.loops.place import UNDER_WAY, Place, require_person
from ralphloop.loops.result import Result
from ralphloop.loops.setup import look
from ralphloop.store import files
from ralphloop.store import records as stored
from ralphloop.store.records import Kept
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import LAYOUTS

WHAT = "what is recorded"  # is the person's to decide
TAIL_SHOWN, LINE_SHOWN = 12, 300
DEEPEST = 100
_MOMENT = re.compile(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
REGISTRATION = re.compile(r"[\w-]*", re.ASCII)  # it becomes part of a command line


def record(place: Place, *, on: bool) -> Result:
    """Keep the stops of this project from now on, or no longer."""
    require_person(place.env, WHAT)
    chosen = _project(place)
    changed = [chosen] if on else [each for each in place.shelves if each.records_stops]
    for each in changed:
        stored.switch(each, on=on)
    told = _told_on(place, chosen) if on else [_told_off(each) for each in changed] or ["recording was off."]
    return Result({"recording": on, "project": chosen.root, "folder": chosen.kept("")}, tuple(told))


def _project(place: Place) -> Shelf:
    """The project whose loops or lists are seen from here: in a worktree that may be the main checkout."""
    roots = [loop.record.root for loop in place.loops(*UNDER_WAY)]
    roots += [source.root for source in place.sources()]
    return Shelf(roots[0] if roots else place.project, place.env)


def _told_on(place: Place, chosen: Shelf) -> list[str]:
    is_served = any(look(place, chosen.root).serves(layout) for layout in LAYOUTS)
    unserved = "! No session here gets our Stop hook yet: `ralphloop install`, `ralphloop run` or a plugin."
    return [
        *([] if is_served else [unserved]),
        f"every stop of a loop in {chosen.root} is recorded from now on, below {chosen.kept('')}",
        "Records hold text of the conversation; what is known to be secret is masked. `ralphloop record off`",
        "ends it, `ralphloop record clear` removes them.",
    ]


def _told_off(changed: Shelf) -> str:
    return f"stops in {changed.root} are no longer recorded; what was recorded stays."


def records(place: Place) -> Result:
    """Every record that can be seen from here, a line each."""
    require_person(place.env, WHAT)
    rows = [_row_of_kept(one) for one in _kept(place)]
    on = [each.root for each in place.shelves if each.records_stops]
    head = (
        f"recording is on in {', '.join(on)}" if on else "recording is off; `ralphloop record on` begins it"
    )
    return Result({"recording": on, "records": rows}, (head, *(plain(_line(row)) for row in rows)))


def show_record(place: Place, which: str) -> Result:
    """What one record holds; `which` is its number, or a file."""
    require_person(place.env, WHAT)
    found = load_record(place, which)
    head = (_line(_row(which, found)), f"registration {found['registration']}, {found['duration_ms']} ms")
    return Result(found, tuple(map(plain, (*head, "", *_inside(found)))))


def clear_records(place: Place) -> Result:
    """Remove every record that can be seen from here."""
    require_person(place.env, WHAT)
    try:
        count = sum(stored.clear(each) for each in place.shelves)
    except BusyError:
        raise UserError("a stop is being recorded right now; try again in a moment.") from None
    return Result({"removed": count}, (f"{prompt.count(count, 'record')} removed.",))


def load_record(place: Place, which: str) -> dict[str, Any]:
    """The record of this number in the project, or in this file."""
    try:
        if which.isascii() and which.isdigit():
            return _checked(stored.load(_numbered(place, int(which))), f"record {which}")
        text = files.read_text(os.path.join(place.cwd, which))
        if text is None:
            raise UserError(f"there is no file {which}; `ralphloop record list` shows the records here.")
        return _checked(jsontext.parse_object(text), which)
    except ValueError as error:
        raise UserError(f"{which} is no record of a stop ({error}).") from None


def _kept(place: Place) -> list[Kept]:
    """The nearest project's first."""
    return [one for here in place.shelves for one in stored.kept(here)]


def _numbered(place: Place, number: int) -> Kept:
    for one in _kept(place):
        if one.number == number:
            return one
    raise UserError(f"there is no record {number} here; `ralphloop record list` shows those that there are.")


def _row_of_kept(one: Kept) -> dict[str, Any]:
    try:
        return _row(one.number, _checked(stored.load(one), str(one.number)))
    except (ValueError, OSError, UserError):
        return {"number": one.number, "loop": one.loop, "answer": "cannot be read"}


def _row(number: int | str, found: Mapping[str, Any]) -> dict[str, Any]:
    said = Said.of(found["answer"])
    kind = "continue" if said.blocks or said.context else "allow"
    if found["answer"]["broken"]:
        kind = "none: a bug"
    return {
        "number": number,
        "at": found["at"],
        "session": found["session"],
        "loop": found["loop"],
        "left_alone": found["left_alone"],
        "answer": kind,
        "rule": found["rule"],
        "task": found.get("task") or "",
        "outcome": found.get("outcome"),
        "duration_ms": found["duration_ms"],
        "version": found["version"],
    }


def _line(row: Mapping[str, Any]) -> str:
    if "at" not in row:
        return f"{row['number']:>4}  {row['loop']}: {row['answer']}"
    why = row["outcome"] or row["task"] or row["rule"]
    loop = row["loop"] or "(left alone)"
    session = (row["session"] or "-")[:8]
    return (
        f"{row['number']:>4}  {row['at']}  {session:<8}  {loop}  {row['answer']}{f' ({why})' if why else ''}"
    )


def _inside(found: Mapping[str, Any]) -> Iterator[str]:
    for name in ("env", "payload"):
        yield f"{name}:"
        yield from (f"  {key} = {json.dumps(value)}" for key, value in found[name].items())
    yield "files:"
    for front, name in (("", "files"), ("~/", "home")):
        yield from (f"  {front}{path} ({len(text)} characters)" for path, text in found[name].items())
    yield from (f"  {path}: left out, {why}" for path, why in found["left_out"].items())
    yield from _proof(found)
    lines = found["transcript"]["new"].splitlines()
    many = prompt.count(len(lines), "line")
    yield f"transcript since the last stop: {many}" + (", the last of them:" if lines else "")
    yield from ("  " + line[:LINE_SHOWN] for line in lines[-TAIL_SHOWN:])
    answer = found["answer"]
    yield "answer:"
    yield "  " + (answer["stdout"] or answer["stderr"] or "(silence)")


def _proof(found: Mapping[str, Any]) -> Iterator[str]:
    """The commands that were approved, and what the checks came to."""
    if found["approved"]:
        yield "approved:"
        yield from ("  $ " + command for command in found["approved"])
    if found["checks"]:
        yield "checks:"
    for one_run in found["checks"]:
        for task, (verdict, *more) in one_run["verdicts"].items():
            yield f"  {task or THE_LIST}: {verdict}" + "".join(f", {text}" for text in more[:2] if text)


class Said(NamedTuple):
    """A recorded answer in its parts."""

    blocks: bool
    reason: str
    message: str
    context: str
    stderr: str

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Said:
        said: Mapping[str, Any] = {}
        with suppress(ValueError):
            said = jsontext.parse_object(answer["stdout"])
        specific = said.get("hookSpecificOutput")
        return cls(
            blocks=said.get("decision") == "block",
            reason=_text(said, "reason"),
            message=_text(said, "systemMessage"),
            context=_text(specific, "additionalContext") if isinstance(specific, dict) else "",
            stderr=answer["stderr"],
        )


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _checked(data: dict[str, Any], name: str) -> dict[str, Any]:
    """The record, if it has all that a reader relies on: it may come from anybody."""
    if data.get("format") != FORMAT:
        raise UserError(f"{name} is no record that this version of ralphloop can read.")
    if not _is_flat(data):
        raise UserError(f"{name} is damaged: it is nested too deeply; take another one.")
    wrong = [part for part, is_right in _PARTS.items() if not is_right(data.get(part))]
    if wrong:
        raise UserError(f"{name} is damaged: {', '.join(wrong)}; take another one.")
    return data


def _is_flat(value: Any, depth: int = 0) -> bool:
    """Whether no reader of its members runs out of stack."""
    if depth > DEEPEST:
        return False
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(_is_flat(member, depth + 1) for member in members)


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


_is_text, _is_flag, _is_maybe_text = _is(str), _is(bool), _is(str, type(None))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text_table(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_answer(value: Any) -> bool:
    known = value if isinstance(value, dict) else {}
    return _is_text(known.get("stdout")) and _is_text(known.get("stderr")) and _is_flag(known.get("broken"))


def _is_round(value: Any) -> bool:
    """One run of checks: of each task a verdict, with its command, reason, output and evidence."""
    verdicts = value.get("verdicts") if isinstance(value, dict) else None
    return isinstance(verdicts, dict) and all(
        _is_texts(verdict) and 1 <= len(verdict) <= 5 for verdict in verdicts.values()
    )


_PARTS: dict[str, Callable[[Any], bool]] = {
    "version": _is_text,
    "at": lambda value: _is_text(value) and bool(_MOMENT.fullmatch(value)),
    "layout": _is_text,
    "registration": lambda value: _is_text(value) and bool(REGISTRATION.fullmatch(value)),
    "command": lambda value: _is_text(value) and bool(value),
    "left_alone": _is_flag,
    "seen": _is_flag,
    "plugin": _is_flag,
    "loop": _is_text,
    "session": _is_maybe_text,
    "rule": _is_text,
    "task": _is_maybe_text,
    "outcome": _is_maybe_text,
    "duration_ms": _is(int, float),
    "layouts": lambda value: _is_texts(value) and set(value) <= set(LAYOUTS),
    "approved": _is_texts,
    "checks": lambda value: isinstance(value, list) and all(map(_is_round, value)),
    "env": lambda value: _is_text_table(value) and all(map(files.is_path, value.values())),
    "payload": _is(dict),
    "transcript": lambda value: isinstance(value, dict) and _is_text(value.get("new")),
    "files": _is_text_table,
    "home": _is_text_table,
    "left_out": _is_text_table,
    "answer": _is_answer,
}
