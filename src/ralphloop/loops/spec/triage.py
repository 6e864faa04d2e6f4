"""An epic: a large goal cut into specs that wait for each other, and which of them comes next."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ralphloop.domain import jsontext
from ralphloop.domain.prompt import line
from ralphloop.engine import words
from ralphloop.errors import UserError
from ralphloop.loops.place import Place
from ralphloop.loops.result import Result
from ralphloop.loops.spec import state_file, wording
from ralphloop.loops.spec.catalogue import NOTES, WHAT, Kind, Spec, Specs, must_stay, specs_here
from ralphloop.store import files
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.spec_state import safe_name

FOLDER, STATE, POINTER = "_epics", ".epic-state.json", ".current-epic"
PENDING, IN_PROGRESS, COMPLETED = "pending", "in_progress", "completed"


@dataclass(frozen=True)
class Epic:
    kind: Kind  # of its specs
    name: str
    path: str  # of its state
    text: str
    specs: tuple[dict[str, Any], ...]
    fault: str = ""  # what is wrong with its file, and what to do about it

    @property
    def names(self) -> list[str]:
        return [spec["name"] for spec in self.specs]

    @property
    def following(self) -> str:
        """The first spec that nobody began and that waits for none; empty if there is none."""
        done = {spec["name"] for spec in self.specs if spec.get("status") == COMPLETED}
        for spec in self.specs:
            if spec.get("status", PENDING) == PENDING and set(after(spec)) <= done:
                return str(spec["name"])
        return ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "specs": list(self.specs),
            "next": self.following or None,
            "fault": self.fault,
        }


def after(spec: dict[str, Any]) -> list[str]:
    """The specs that one waits for."""
    found = spec.get("dependencies")
    return [str(name) for name in found] if isinstance(found, list) else []


def current(specs: Specs, home: str) -> Epic | None:
    """The epic that the pointer among these specs names, if their kind has such."""
    if not specs.kind.epics:
        return None
    name = safe_name((files.read_quietly(os.path.join(home, POINTER)) or "").strip())
    path = os.path.join(home, FOLDER, name, STATE)
    text = files.read_quietly(path) if name and files.inside(path, specs.root) else None
    if text is None:
        return None
    return _read(specs.kind, path, name=name, text=text)


def _read(kind: Kind, path: str, *, name: str, text: str) -> Epic:
    try:
        data = jsontext.parse_object(text)
    except ValueError as error:
        return Epic(kind, name, path, text, (), f"is corrupt ({error}); repair it")
    rows, newer = data.get("specs", []), state_file.newer(data)
    if newer:
        fault = f"is from a newer version ({newer}); update the plugin {kind.traits.plugin}"
        return Epic(kind, name, path, text, (), fault)
    if not isinstance(rows, list):
        return Epic(kind, name, path, text, (), "is corrupt (`specs` is no list); repair it")
    return Epic(kind, name, path, text, tuple(row for row in rows if _is_row(row)))


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and isinstance(row.get("name"), str)


def _rows(text: str) -> list[jsontext.Span]:
    """Where the specs stand in an epic's text."""
    found = jsontext.member(text, "specs")
    return [row for row in jsontext.members(text, found.start) if _is_row(row.value)] if found else []


def epic(kind: Kind, place: Place, said: list[str], *, spec: str | None, waits_for: list[str]) -> Result:
    """Cut a large goal into specs: begin an epic, add one spec to it, or show it."""
    text = wording.whole(said).strip()
    if waits_for and not spec:
        raise UserError("--after says what a spec waits for; name that spec with --spec.")
    if spec and text:
        raise UserError(
            "either begin an epic with a text, or add a spec to it with --spec; not both at once."
        )
    specs = specs_here(kind, place, inside=bool(text))
    if text:
        return _create(place, specs, text=said)
    return _add(place, specs, name=spec, waits_for=waits_for) if spec else _result(_must_have(specs))


def _create(place: Place, specs: Specs, *, text: list[str]) -> Result:
    home, pointer = os.path.join(specs.home, FOLDER), os.path.join(specs.home, POINTER)
    with state_file.alone(specs.root, place):
        named = wording.guessed(text, taken=set(files.names(home)), word="epic")
        folder = os.path.join(home, named.name)
        if os.path.lexists(folder):
            raise UserError(f"{os.path.relpath(folder)} exists already; begin with another name.")
        for path in (folder, pointer):
            must_stay(path, specs.root)
        state = {"name": named.name, "goal": named.goal, "specs": [], "output": "spec-files"}
        texts = {STATE: state_file.render(state), NOTES: wording.notes(named.name, named.goal)}
        files.build_folder(folder, texts, beside=home)
        files.write_shared(pointer, named.name + "\n", root=specs.root)
    shown = os.path.relpath(folder)
    adds = f"{words.command(place.env)} {specs.kind.layout} triage --spec NAME --after OTHER"
    told = (
        f"Epic {named.name} in {shown}.",
        f"Read: {shown}/{NOTES}",
        f"Write: {shown}/epic.md",
        f"Then run, for each spec in its order: `{adds}`",
    )
    return Result({"name": named.name, "folder": shown}, told)


def _must_have(specs: Specs) -> Epic:
    epic = current(specs, specs.home)
    if epic is None:
        begin = specs.kind.typed("triage", WHAT)
        raise UserError(f"there is no current epic here; `{begin}` begins one.")
    if epic.fault:
        raise UserError(f"{os.path.relpath(epic.path)} {epic.fault}.")
    return epic


def _add(place: Place, specs: Specs, *, name: str, waits_for: list[str]) -> Result:
    """Add a spec to the current epic, or let one that is in it wait for others."""
    _must_have(specs)
    wording.must_be_name(name, word="spec")
    with Shelf(specs.root, place.env).lock():  # an agent may add several at once
        epic = _must_have(specs)
        changed = _with_spec(epic, name, waits_for=waits_for)
        if changed.text != epic.text:
            files.write_shared(epic.path, changed.text, root=specs.root)
    return _result(changed)


def _with_spec(epic: Epic, name: str, *, waits_for: list[str]) -> Epic:
    unknown = [other for other in waits_for if other not in epic.names and other != name]
    if unknown:
        raise UserError(f"the epic {epic.name} has no spec {unknown[0]}; add that one first.")
    if name in epic.names:
        text = _with_dependencies(epic, name, more=waits_for)
    else:
        row = {"name": name, "status": PENDING, "dependencies": list(dict.fromkeys(waits_for))}
        text = append_item(epic.text, "specs", row)
    changed = _read(epic.kind, epic.path, name=epic.name, text=text)
    circle = " after ".join(_circle(changed))
    if circle:
        raise UserError(f"these specs would wait for each other for ever: {line(circle)}; leave one out.")
    return changed


def _with_dependencies(epic: Epic, name: str, *, more: list[str]) -> str:
    """The epic's text with this spec, which it has, waiting for more of the others."""
    row = next(row for row in _rows(epic.text) if row.value["name"] == name)
    wanted = list(dict.fromkeys([*after(row.value), *more]))
    return jsontext.set_member(epic.text, "dependencies", wanted, at=row.start)


def append_item(text: str, key: str, value: Any) -> str:
    """The object with one more item in the list under `key`, laid out as the items before it are."""
    found = jsontext.member(text, key)
    if found is None:
        return jsontext.add_member(text, key, [value])
    items, raw = list(jsontext.members(text, found.start)), jsontext.render(value)
    if not items:
        return jsontext.replace_raw(text, found, f"[\n    {raw}\n  ]")
    space = text[found.start + 1 : items[0].start] or " "
    return text[: items[-1].end] + "," + space + raw + text[items[-1].end :]


def _circle(epic: Epic) -> list[str]:
    """Specs that wait for each other, the first one again at the end; empty if there are none."""
    waits = {spec["name"]: after(spec) for spec in epic.specs}
    fine: set[str] = set()
    for name in waits:
        way = {name: iter(waits[name])}  # the specs on the way, each with what is left to look at
        while way:
            last = next(reversed(way))
            other = next((other for other in way[last] if other not in fine), None)
            if other is None:
                fine.add(last)
                del way[last]
            elif other in way:
                names = list(way)
                return [*names[names.index(other) :], other]
            else:
                way[other] = iter(waits.get(other, []))
    return []


def begin(place: Place, specs: Specs, *, spec: Spec) -> list[str]:
    """Note in the epic that work on one of its specs began; what to say of that."""
    with Shelf(specs.root, place.env).lock():
        epic = current(specs, os.path.dirname(spec.folder))
        if epic is None or epic.fault:
            return []
        for row in _rows(epic.text):
            if row.value["name"] == spec.name and row.value.get("status") == PENDING:
                text = jsontext.set_member(epic.text, "status", IN_PROGRESS, at=row.start)
                files.write_shared(epic.path, text, root=specs.root)
                break
    folder = os.path.relpath(os.path.dirname(epic.path))
    return [f"It is part of the epic {epic.name}: {folder}/epic.md"]


def _result(epic: Epic) -> Result:
    return Result(epic.to_json(), tuple(tell(epic)))


def tell(epic: Epic) -> list[str]:
    if epic.fault:
        return [f"! {os.path.relpath(epic.path)} {epic.fault}."]
    done = sum(1 for spec in epic.specs if spec.get("status") == COMPLETED)
    folder = os.path.relpath(os.path.dirname(epic.path))
    told = [f"Epic {epic.name} in {folder}: {done}/{len(epic.specs)} specs completed."]
    for spec in epic.specs:
        waits = f", after {', '.join(after(spec))}" if after(spec) else ""
        told.append(f"  {spec['name']}: {spec.get('status', PENDING)}{waits}")
    if epic.following:
        told.append(f"Next: `{epic.kind.typed('start', epic.following)}`")
    return told
