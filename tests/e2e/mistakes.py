"""Ordinary mistakes at the command line, as rows: what is typed, and the words that must answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from e2e.cli_project import Project

PEOPLE, OWN = "people.md", "own"  # where a mistake comes from


@dataclass(frozen=True)
class Mistake:
    """`what`, `why` and `cure` are words that the output holds, white space aside, and each says that part of
    the message. The output is what a terminal of 80 columns shows, both streams."""

    name: str
    source: str
    words: tuple[str, ...]  # behind `ralphloop`
    what: tuple[str, ...]
    why: tuple[str, ...]
    cure: tuple[str, ...]
    code: int = 1
    files: Mapping[str, str] = field(default_factory=dict)  # of the project, by path
    before: tuple[tuple[str, ...], ...] = ()  # commands that go well first
    setup: Callable[[Project], None] | None = None  # whatever else comes first
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    folder: str = ""  # of the project, in which it is typed


ROWS: tuple[Mistake, ...] = ()
