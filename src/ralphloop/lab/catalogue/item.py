"""An entry of a catalogue as its file says it, read strictly: an unknown key or a wrong type is an error that
names the file and the line."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphloop.domain.finding import DOUBTS
from ralphloop.errors import CaseError, EntryError
from ralphloop.lab.catalogue.switch import HOLDING
from ralphloop.lab.conformance import regular_file
from ralphloop.tasklists.registry import LAYOUTS

LIES, HONEST = "lies", "honest"  # the catalogues, and their folders
BASES = "bases"  # what several entries begin with, beside them
HELD, TOLD, UNTOLD = "held", "told", "untold"
ENTRY_MAX = 1_000_000  # bytes
FEATURES = LAYOUTS[0]


@dataclass(frozen=True)
class Task:
    id: str
    does: str = ""
    verify: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    timeout_s: int = 0
    needs_human: str = ""


@dataclass(frozen=True)
class Listed:
    """What the list itself says beside its tasks."""

    verify: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()


@dataclass(frozen=True)
class Turn:
    """What the agent does before it stops, in this order."""

    writes: Mapping[str, str] = field(default_factory=dict)
    removes: tuple[str, ...] = ()
    run: str = ""
    claims: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    says: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""


@dataclass(frozen=True)
class Item:
    """One file of a catalogue; its folder is its family."""

    file: str
    kind: str
    title: str
    tasks: tuple[Task, ...]
    turns: tuple[Turn, ...]
    layouts: tuple[str, ...] = (FEATURES,)
    needs: tuple[str, ...] = ()
    # the project before the start
    git: bool = True
    files: Mapping[str, str] = field(default_factory=dict)
    executable: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    home: Mapping[str, str] = field(default_factory=dict)
    uncommitted: Mapping[str, str] = field(default_factory=dict)
    setup: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    client: Mapping[str, str] = field(default_factory=dict)  # variables of the session that a terminal lacks
    cwd: str = ""
    listed: Listed = field(default_factory=Listed)
    # what must come of it
    expect: str = ""
    told_by: tuple[str, ...] = ()
    held_by: tuple[str, ...] = ()
    names: str = ""
    clean: bool = True
    why: str = ""

    @property
    def family(self) -> str:
        return self.file.partition("/")[0]

    @property
    def name(self) -> str:
        return self.file.removesuffix(".toml")


def find(suite: Path, kind: str, only: Sequence[str] = ()) -> list[Item]:
    """The entries of a catalogue in this folder: all, or those that a glob of `only` names."""
    top = suite / kind
    if not top.is_dir():
        raise CaseError(f"{suite} has no folder `{kind}`; name the folder of the suite")
    paths = [path for path in sorted(top.rglob("*.toml")) if _is_named(path.relative_to(top), only)]
    return [load(path, suite, kind) for path in paths]


def _is_named(path: Path, globs: Sequence[str]) -> bool:
    names = (path.as_posix(), path.with_suffix("").as_posix(), path.name, path.stem, path.parts[0])
    return not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs for name in names)


def load(path: Path, suite: Path, kind: str) -> Item:
    """The entry in this file, over the base that it names."""
    file = path.relative_to(suite / kind).as_posix()
    data, text = _read(path, file)
    own, base = dict(data), data.pop("base", None)
    try:
        if base is not None:
            data = _over(_base(suite, base), data)
        return _item(data, file=file, kind=kind)
    except EntryError as wrong:
        line = _line(text, wrong) if wrong.key in own or wrong.table in own or not wrong.key else 0
        where = f"{file}:{line}" if line else f"{file} (in its base {base})" if base else file
        raise CaseError(f"{where}: {wrong}") from None


def _read(path: Path, file: str) -> tuple[dict[str, Any], str]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = regular_file.read(path, flags=0, most=ENTRY_MAX).decode()
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        found = re.search(r" \(at line (\d+), column \d+\)", str(error))
        at = f":{found[1]}" if found else ""
        raise CaseError(f"{file}{at}: {str(error).partition(' (at ')[0]}") from None
    except (OSError, ValueError) as error:
        raise CaseError(f"{file}: {error}") from None


def _base(suite: Path, name: Any) -> dict[str, Any]:
    path = suite / BASES / f"{name}.toml"
    if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name) or not path.is_file():
        raise EntryError(f"`base` is {name!r}; it is the name of a file in {BASES}/", key="base")
    return _read(path, f"{BASES}/{name}.toml")[0]


def _over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Tables are laid over each other; anything else of the entry's takes the base's place."""
    both = {key: value for key, value in own.items() if isinstance(value, dict) and key in base}
    return {**base, **own, **{key: {**base[key], **value} for key, value in both.items()}}


def _line(text: str, wrong: EntryError) -> int:
    """Where the key stands, or its table; 1 where it is missing."""
    at, lines = 0, text.splitlines()
    if wrong.table:
        heads = re.compile(rf"\s*\[\[?{re.escape(wrong.table)}\b")
        places = [number for number, line in enumerate(lines) if heads.match(line)]
        if places:
            at = places[min(max(wrong.number, 1), len(places)) - 1]
    name = rf'"?{re.escape(wrong.key)}"?'
    key = re.compile(rf"\s*{name}\s*=|.*[{{,]\s*{name}\s*=|\s*\[\[?{name}\]")
    for number in range(at, len(lines)) if wrong.key else ():
        if key.match(lines[number]):
            return number + 1
    return at + 1


def _item(data: dict[str, Any], *, file: str, kind: str) -> Item:
    tables = {"task": _TASK, "turn": _TURN}
    several = {name: data.pop(name, []) for name in tables}
    listed = Listed(**_table(data.pop("list", {}), _LIST, table="list"))
    values = _table(data, {**_ENTRY, **_OF_KIND[kind]})
    found = {
        name: [_table(row, tables[name], table=name, number=number) for number, row in enumerate(rows, 1)]
        if isinstance(rows, list)
        else []
        for name, rows in several.items()
    }
    for name, rows in found.items():
        if not rows:
            raise EntryError(f"it has no [[{name}]]", table=name)
    tasks, turns = tuple(Task(**row) for row in found["task"]), tuple(Turn(**row) for row in found["turn"])
    if not values.get("title"):
        raise EntryError("`title` is missing")
    item = Item(file=file, kind=kind, tasks=tasks, turns=turns, listed=listed, **values)
    _check(item)
    return item


def _check(item: Item) -> None:
    _check_kinds(item)
    ids = [task.id for task in item.tasks]
    for number, turn in enumerate(item.turns, 1):
        for key in ("claims", "done"):
            unknown = [name for name in getattr(turn, key) if name not in ids]
            if unknown:
                raise EntryError(
                    f"`{key}` names {unknown[0]!r}, which is no task", table="turn", number=number, key=key
                )
    only_features = bool(item.listed.verify or item.listed.protect)
    only_features |= any(task.depends_on or task.timeout_s or task.needs_human for task in item.tasks)
    if only_features and item.layouts != (FEATURES,):
        raise EntryError("a list that says so much is of the layout features alone", key="layouts")


def _check_kinds(item: Item) -> None:
    for key, known in (("layouts", LAYOUTS), ("told_by", DOUBTS), ("held_by", tuple(HOLDING))):
        unknown = [name for name in getattr(item, key) if name not in known]
        if unknown:
            raise EntryError(f"`{key}` names {unknown[0]!r}; there are {', '.join(known)}", key=key)
    if item.kind != LIES:
        return
    if item.expect not in (HELD, TOLD, UNTOLD):
        raise EntryError(f"`expect` is {item.expect!r}; one of {HELD}, {TOLD}, {UNTOLD}", key="expect")
    if item.expect == TOLD and not item.told_by:
        raise EntryError("what is told names the kinds of doubt in `told_by`", key="expect")
    if item.expect == HELD and not (item.held_by or item.why):
        told = "what is held names what holds it in `held_by`, or says in `why` what no switch reaches"
        raise EntryError(told, key="expect")
    if item.expect == UNTOLD and not item.why:
        raise EntryError("what is not told says `why`", key="expect")


_Reader = Callable[[Any], Any]


def _table(
    data: Any, readers: Mapping[str, tuple[str, _Reader]], *, table: str = "", number: int = 0
) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise EntryError(f"`{table}` is not a table", key=table)
    found = {}
    for key, value in data.items():
        if key not in readers:
            raise EntryError(f"unknown key `{key}`", table=table, number=number, key=key)
        wanted, read = readers[key]
        try:
            found[key] = read(value)
        except (TypeError, ValueError):
            raise EntryError(f"`{key}` is not {wanted}", table=table, number=number, key=key) from None
    if table == "task" and not found.get("id"):
        raise EntryError("a task has no `id`", table=table, number=number)
    return found


def _of(kind: type) -> _Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError
        return value

    return read


def _each(value: Any) -> tuple[str, ...]:
    return tuple(_of(str)(item) for item in _of(list)(value))


def _commands(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else _each(value)


def _texts(value: Any) -> dict[str, str]:
    return {key: _of(str)(item) for key, item in _of(dict)(value).items()}


def _files(value: Any) -> dict[str, str]:
    return {key: item.removeprefix("\n") for key, item in _texts(value).items()}


_TEXT, _TEXTS = ("a text", _of(str)), ("a list of texts", _each)
_COMMANDS = ("a text or a list of texts", _commands)
_TEXT_TABLE, _FILES = ("a table of texts", _texts), ("a table of texts", _files)
_YES = ("true or false", _of(bool))
_ENTRY = {
    "title": _TEXT, "layouts": _TEXTS, "needs": _TEXTS, "git": _YES, "files": _FILES, "executable": _TEXTS,
    "links": _TEXT_TABLE, "home": _FILES, "uncommitted": _FILES, "setup": _TEXT, "env": _TEXT_TABLE,
    "client": _TEXT_TABLE, "cwd": _TEXT, "names": _TEXT, "told_by": _TEXTS, "why": _TEXT,
}  # fmt: skip
_OF_KIND: Mapping[str, Mapping[str, tuple[str, _Reader]]] = {
    LIES: {"expect": _TEXT, "held_by": _TEXTS},
    HONEST: {"clean": _YES},
}
_LIST = {"verify": _COMMANDS, "protect": _TEXTS}
_TASK = {
    "id": _TEXT, "does": _TEXT, "verify": _COMMANDS, "depends_on": _TEXTS, "needs_human": _TEXT,
    "timeout_s": ("a number", _of(int)),
}  # fmt: skip
_TURN = {
    "writes": _FILES, "removes": _TEXTS, "run": _TEXT, "claims": _TEXTS, "done": _TEXTS, "says": _TEXT,
    "env": _TEXT_TABLE, "cwd": _TEXT,
}  # fmt: skip
