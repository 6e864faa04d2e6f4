"""What a person is shown of somebody else's words, and of what there are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ralphloop.domain.plain import plain
from ralphloop.domain.prompt import line

SHOWN = 3  # of what a list has many of


class Where:
    """The tasks that something is true of: the first few by name, and how many."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.count = 0

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(shown(name))

    def join(self, other: Where) -> None:
        self.first = [*self.first, *other.first][:SHOWN]
        self.count += other.count

    def __str__(self) -> str:
        return few(self.first, self.count)


def shown(text: str, most: int = 60) -> str:
    """A word of somebody else's on one line, and no more of it than can be read."""
    return plain(line(text[: 4 * most], most))


def few(first: Iterable[str], count: int) -> str:
    """The first few of so many."""
    said = list(first)
    more = count - len(said)
    return ", ".join(said) + (f" and {more:,} more" if more > 0 else "")


def bounded(lines: list[str]) -> Iterator[str]:
    """The first of many lines, and how many more there are."""
    most = 2 * SHOWN
    yield from lines[:most]
    if len(lines) > most:
        yield f"and {len(lines) - most:,} more of this kind"
