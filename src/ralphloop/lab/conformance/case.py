"""A case of the suite as its file says it, read strictly: an unknown key or a wrong type is an error."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphloop.errors import CaseError
from ralphloop.lab.conformance import regular_file
from ralphloop.loops.stop_record import REGISTRATION
from ralphloop.tasklists.registry import LAYOUTS

ANY = "none"  # the layout of a case that needs no list
TOOL, REGISTRATIONS = "ralphloop", "registrations"
ANSWERS = ("block", "context", "allow", "silent", "message")
OF_RUN = {"exit", "output_has", "output_lacks"}
OF_ANSWER = {
    "answer", "answers", "said", "reason_has", "reason_lacks", "message_has", "message_lacks", "context_has",
    "stderr_has",
}  # fmt: skip
CASE_MAX = 8_000_000  # bytes
FAILURES = 76
TIMES_MAX, AT_ONCE_MAX = 1000, 100
_NOT_TO_SET = re.compile(r"HOME|PATH|ENV|BASH_ENV|NODE_OPTIONS|(PYTHON|XDG_|LD_|DYLD_|GIT_).*")
_CLAUSE = re.compile(r"failure (?P<failure>\d+)|spec \d+(\.\d+)?|document [123]: \S.*|own: \S.*")


@dataclass(frozen=True)
class Expect:
    """What must come out of a step."""

    answer: str = ""
    answers: Mapping[str, int] = field(default_factory=dict)
    reason_has: tuple[str, ...] = ()
    reason_lacks: tuple[str, ...] = ()
    message_has: tuple[str, ...] = ()
    message_lacks: tuple[str, ...] = ()
    context_has: tuple[str, ...] = ()
    stderr_has: tuple[str, ...] = ()
    said: Mapping[str, Any] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()
    has: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    equals: Mapping[str, str] = field(default_factory=dict)
    json: Mapping[str, Any] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    outcome: str = ""
    state: str = ""
    exit: int = 0
    output_has: tuple[str, ...] = ()
    output_lacks: tuple[str, ...] = ()

    @property
    def asks_the_tool(self) -> bool:
        return bool(self.outcome or self.state)


@dataclass(frozen=True)
class Step:
    """The end of a turn, another event, or a command of the tool."""

    session: str = "A"
    writes: Mapping[str, str] = field(default_factory=dict)
    replaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removes: tuple[str, ...] = ()
    says: str | None = None
    calls: tuple[Mapping[str, Any], ...] | None = None
    transcript: tuple[Any, ...] | None = None
    event: str = "Stop"
    payload: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    stdin: str | None = None
    prompt: str = ""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    registration: str = ""
    times: int = 1
    at_once: int = 1
    run: tuple[str, ...] = ()
    by: str = "person"
    expect: Expect = field(default_factory=Expect)

    def needs(self) -> Iterator[str]:
        if self.run or self.expect.asks_the_tool:
            yield TOOL
        if not self.run and self.event != "Stop":
            yield self.event
        if self.registration:
            yield REGISTRATIONS


@dataclass(frozen=True)
class Case:
    """One file below `cases/`."""

    file: str
    title: str
    stands_for: tuple[str, ...]
    layout: str
    steps: tuple[Step, ...]
    declared: tuple[str, ...] = ()
    project: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    home: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    git: bool = False
    recorded_at: str = ""
    owner: str = "A"
    owners: Mapping[str, str] = field(default_factory=dict)  # session -> the list that it made
    projects: Path = Path()

    @property
    def events(self) -> frozenset[str]:
        return frozenset(step.event for step in self.steps) | (set(self.declared) - {TOOL, REGISTRATIONS})

    @property
    def needs(self) -> tuple[str, ...]:
        """What it says that a hook must have, and what its steps use."""
        implied = [need for step in self.steps for need in step.needs()]
        return tuple(dict.fromkeys([*self.declared, *implied]))


def find(folder: Path, only: Sequence[str] = ()) -> list[Case]:
    """The cases below `cases/` of the suite in this folder, by their path there: all, or those that a glob
    of `only` names."""
    cases = folder / "cases"
    if not cases.is_dir():
        raise CaseError(f"{folder} has no folder `cases`; name the folder of the suite")
    paths = [path for path in sorted(cases.rglob("*.toml")) if _is_named(path.relative_to(cases), only)]
    return [load(path, folder) for path in paths]


def _is_named(path: Path, globs: Sequence[str]) -> bool:
    names = (path.as_posix(), path.with_suffix("").as_posix(), path.name, path.stem)
    return not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs for name in names)


def load(path: Path, suite: Path | None = None) -> Case:
    """The case in this file; its name is the path below the suite's `cases/`."""
    top = suite or _suite_around(path)
    inside = (top / "cases") in path.parents
    file = path.relative_to(top / "cases").as_posix() if inside else path.name
    try:
        data = _toml(regular_file.read(path, flags=0, most=CASE_MAX).decode())
        return parse(data, file=file, projects=top / "projects")
    except (OSError, ValueError, RecursionError) as error:
        raise CaseError(f"{file}: {error}") from None


def _suite_around(path: Path) -> Path:
    found = [folder for folder in path.resolve().parents if (folder / "cases").is_dir()]
    return found[0] if found else path.resolve().parent


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    found: dict[str, Any] = tomllib.loads(text)
    return found


def parse(data: Mapping[str, Any], *, file: str, projects: Path = Path()) -> Case:
    """The case that these values are."""
    known = {**data}
    raw_steps = known.pop("step", None)
    if not isinstance(raw_steps, list) or not raw_steps:
        raise CaseError(f"{file}: it has no [[step]]")
    steps = tuple(_step(raw, f"{file}: step {number}") for number, raw in enumerate(raw_steps, 1))
    values = _read_table(known, _CASE, file)
    for key in ("title", "stands_for", "layout"):
        if not values.get(key):
            raise CaseError(f"{file}: `{key}` is missing")
    owner = values.pop("owner", "A")
    values["owners"] = owner if isinstance(owner, dict) else {}
    values["owner"] = owner if isinstance(owner, str) else ""
    values["declared"] = values.pop("needs", ())
    case = Case(file=file, steps=steps, projects=projects, **values)
    _check(case)
    return case


def _check(case: Case) -> None:
    if case.layout not in (*LAYOUTS, ANY):
        raise CaseError(f"{case.file}: `layout` is {case.layout!r}; one of {', '.join((*LAYOUTS, ANY))}")
    if case.project and not _is_below(case.projects / case.project, case.projects):
        raise CaseError(f"{case.file}: there is no project {case.project!r} in {case.projects}")
    for clause in case.stands_for:
        found = _CLAUSE.fullmatch(clause)
        if not found or int(found["failure"] or 1) not in range(1, FAILURES + 1):
            known = "`failure 1`, `spec 4.2`, … of clauses.md, or `own: …` with words of yours"
            raise CaseError(f"{case.file}: `stands_for` names {clause!r}, which is no clause; {known}")


def _is_below(folder: Path, top: Path) -> bool:
    return folder.is_dir() and top.resolve() in folder.resolve().parents


def _step(raw: Any, where: str) -> Step:
    if not isinstance(raw, dict):
        raise CaseError(f"{where}: it is not a table")
    values = _read_table(raw, _STEP, where)
    expect = Expect(**_read_table(values.pop("expect", {}), _EXPECT, f"{where}: expect"))
    step = Step(expect=expect, **values)
    _check_kind(raw.get("expect", {}), where, is_run=bool(step.run))
    if not re.fullmatch(r"[A-Z]", step.session):
        raise CaseError(f"{where}: `session` is {step.session!r}; it is one capital letter")
    if not REGISTRATION.fullmatch(step.registration):
        raise CaseError(f"{where}: `registration` is {step.registration!r}; letters, digits, - and _")
    if step.by not in ("person", "agent"):
        raise CaseError(f'{where}: `by` is {step.by!r}; "person" or "agent"')
    if not (1 <= step.times <= TIMES_MAX and 1 <= step.at_once <= AT_ONCE_MAX):
        most = f"at most {TIMES_MAX} and {AT_ONCE_MAX}"
        raise CaseError(f"{where}: `times` and `at_once` are at least 1, {most}")
    if {expect.answer, *expect.answers} - {"", *ANSWERS}:
        raise CaseError(f"{where}: an answer is one of {', '.join(ANSWERS)}")
    for name in step.env:
        if _NOT_TO_SET.fullmatch(name):
            raise CaseError(f"{where}: `env` may not set {name}, by which programs or their files are found")
    if any(len(pair) != 2 for pair in step.replaces.values()):
        raise CaseError(f"{where}: `replaces` has the old and the new text of each path")
    return step


def _check_kind(expect: Mapping[str, Any], where: str, *, is_run: bool) -> None:
    """A command has no decision, and a stop no output of its own: nothing would look at such a key."""
    vain = sorted((OF_ANSWER if is_run else OF_RUN) & set(expect))
    if vain:
        raise CaseError(f"{where}: `{vain[0]}` is not for a step {'with' if is_run else 'without'} `run`")


_Reader = Callable[[Any], Any]  # the value as the case keeps it; TypeError for another kind


def _read_table(
    data: Mapping[str, Any], readers: Mapping[str, tuple[str, _Reader]], where: str
) -> dict[str, Any]:
    found = {}
    for key, value in data.items():
        if key not in readers:
            raise CaseError(f"{where}: unknown key `{key}`")
        wanted, read = readers[key]
        try:
            found[key] = read(value)
        except (TypeError, ValueError):
            raise CaseError(f"{where}: `{key}` is not {wanted}") from None
    return found


def _must_be(kind: type) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError
        return value

    return read


def _list_of(read: _Reader) -> _Reader:
    return lambda value: tuple(read(item) for item in _must_be(list)(value))


def _map_of(read: _Reader) -> _Reader:
    return lambda value: {key: read(item) for key, item in _must_be(dict)(value).items()}


def _json_value(value: Any) -> Any:
    """What JSON can say; the dates and times of TOML it cannot."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            _json_value(item)
    elif not isinstance(value, (str, int, float)):
        raise TypeError
    return value


def _owner(value: Any) -> Any:
    return value if isinstance(value, str) else _map_of(_must_be(str))(value)


def _call(value: Any) -> Any:
    _must_be(str)(_must_be(dict)(_json_value(value)).get("name"))
    _must_be(dict)(value.get("input", {}))
    return value


_TEXT = ("a text", _must_be(str))
_FILES = ("a table of texts", _map_of(lambda value: _must_be(str)(value).removeprefix("\n")))
_TEXTS = ("a list of texts", _list_of(_must_be(str)))
_NUMBER = ("a number", _must_be(int))
_TABLE = ("a table", _must_be(dict))
_JSON_TABLE = ("a table of what JSON can say", lambda value: _must_be(dict)(_json_value(value)))
_TEXT_TABLE = ("a table of texts", _map_of(_must_be(str)))
_TEXTS_TABLE = ("a table of lists of texts", _map_of(_list_of(_must_be(str))))

_CASE = {
    "title": _TEXT, "stands_for": _TEXTS, "layout": _TEXT, "needs": _TEXTS, "project": _TEXT,
    "files": _FILES, "home": _FILES, "links": _TEXT_TABLE, "git": ("true or false", _must_be(bool)),
    "recorded_at": _TEXT, "owner": ("a session, or a table of sessions with their lists", _owner),
}  # fmt: skip
_STEP = {
    "session": _TEXT, "writes": _FILES, "replaces": _TEXTS_TABLE, "removes": _TEXTS, "says": _TEXT,
    "calls": ("a list of tables with a `name` and an `input`", _list_of(_call)),
    "transcript": ("a list of what JSON can say", _list_of(_json_value)), "event": _TEXT,
    "payload": _JSON_TABLE, "without": _TEXTS, "stdin": _TEXT, "prompt": _TEXT, "cwd": _TEXT,
    "env": _TEXT_TABLE, "registration": _TEXT, "times": _NUMBER, "at_once": _NUMBER, "run": _TEXTS,
    "by": _TEXT, "expect": _TABLE,
}  # fmt: skip
_EXPECT = {
    "answer": _TEXT, "answers": ("a table of numbers", _map_of(_must_be(int))), "said": _JSON_TABLE,
    "reason_has": _TEXTS, "reason_lacks": _TEXTS, "message_has": _TEXTS, "message_lacks": _TEXTS,
    "context_has": _TEXTS, "stderr_has": _TEXTS, "unchanged": _TEXTS, "has": _TEXTS_TABLE,
    "lacks": _TEXTS_TABLE, "equals": _FILES, "json": _JSON_TABLE, "absent": _TEXTS, "present": _TEXTS,
    "outcome": _TEXT, "state": _TEXT, "exit": _NUMBER, "output_has": _TEXTS, "output_lacks": _TEXTS,
}  # fmt: skip
