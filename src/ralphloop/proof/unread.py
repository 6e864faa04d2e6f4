"""What nobody looked at, because there is too much of it: a note each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralphloop.domain import finding
from ralphloop.domain.finding import Finding
from ralphloop.domain.prompt import line

NAMED_MAX, NAME_MAX = 5, 60
LARGE = "more than 200 MB"


def notes(*, added: Sequence[str] = (), large: Sequence[str] = ()) -> Iterator[Finding]:
    """`added` are changed files of which not every new line was read, `large` those that no look reads."""
    if added:
        yield _note(f"not every added line was looked at: too much was added to {_few(added)}", added)
    if large:
        yield _note(f"{_few(large)}: {LARGE}, which is not looked at", large)


def _note(said: str, paths: Sequence[str]) -> Finding:
    return Finding(finding.NOT_TRIED, said=said, files=tuple(paths[:NAMED_MAX]))


def _few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return line(paths[0], NAME_MAX) + more
