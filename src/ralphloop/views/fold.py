"""Lines that keep to a terminal's width, counted in its cells: folded between words, cut, and few of many."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO
from unicodedata import category, east_asian_width

from ralphloop.domain.prompt import line, plain

COLUMNS = 80  # of the narrowest terminal that lines are made for
ROWS = 40  # of a screen where there is none

# A word of a line with the blanks before it, and a dot between two parts. What stands in backticks is one
# word: it is to be copied.
_WORD = re.compile(r"( *)((?:· )?(?:\\\S|(`+)(?!`)(?:.*?[^`])?\3(?!`)|\S)+)")
_MARKS = " !✓✗☐–~?-·"  # at a line's beginning; what follows below stands behind them
SHOWN = 3  # of what a list has many of


def size_of(stream: TextIO, env: Mapping[str, str], *, rows: int = ROWS) -> tuple[int, int]:
    """Columns and rows of the terminal that a stream leads to: as the environment says, as the terminal does,
    or what is usual where there is none."""
    try:
        found = os.get_terminal_size(stream.fileno())
    except (AttributeError, OSError, ValueError):
        found = os.terminal_size((0, 0))
    said = [int(env[name]) if env.get(name, "").isdecimal() else 0 for name in ("COLUMNS", "LINES")]
    return said[0] or found.columns or COLUMNS, said[1] or found.lines or rows


def width_of(text: str) -> int:
    """How many cells the text takes: two for wide characters, none for those that join another."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if east_asian_width(character) in "WF":
        return 2
    # A mark that chooses an emoji's shape makes it wide on some terminals.
    return 0 if category(character) in ("Mn", "Me", "Cf") and character != "\ufe0f" else 1


def fold(text: str, width: int = COLUMNS, *, hang: int | None = None, least: int = 0) -> list[str]:
    """The line as rows of at most so many cells, the further ones indented by `hang`, or as its own text is,
    but by `least`. A command, in backticks or behind `$ `, and a path are never broken: one that is too long
    has a row of its own."""
    if width_of(text) <= width or text.lstrip(" ").startswith("$ "):
        return [text]
    begin = " " * (max(least, len(text) - len(text.lstrip(_MARKS))) if hang is None else hang)
    rows, row = [], ""
    for gap, word, _ in _WORD.findall(text):
        if row.strip() and width_of(row + gap + word) > width:
            rows.append(row)
            left = width - width_of(word)  # a long word stands further left rather than in pieces
            row, gap = begin[:left] if left >= 0 else begin, ""
        row += gap
        while word and width_of(row + word) > width and not ("`" in word or "/" in word):
            part = prefix(word, width - width_of(row)) or word[:1]
            part = part.rstrip("\\") or part  # which may keep the next character from being markup
            rows.append(row + part)
            row, word = begin, word[len(part) :]
        row += word
    return [*rows, row]


def cut(text: str, width: int) -> str:
    """At most so many cells; a text that was cut says so."""
    return text if width_of(text) <= width else prefix(text, width - 2).rstrip() + " …"


def prefix(text: str, width: int) -> str:
    if text.isascii():
        return text[: max(0, width)]
    for place, character in enumerate(text):
        width -= _cells(character)
        if width < 0:
            return text[:place]
    return text


def padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


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
