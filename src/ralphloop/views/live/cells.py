"""Rows of a terminal's screen: texts cut, padded and wrapped by the cells that they take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from unicodedata import category

from rich.text import Text

from ralphloop.domain.plain import plain
from ralphloop.views.fold import padded, prefix, width_of

Piece = tuple[str, str]  # a text and its style

_UNSURE = ("Cf", "Me", "Cn", "Co")  # invisible, enclosing, not assigned, for private use
_NARROW, _WIDE = "\ufe00", "\ufe0f"  # the first and the last of the marks that choose a character's shape


def tidy(text: str) -> str:
    """Without what a terminal would obey, and without what is invisible or joins characters: terminals do not
    agree on how wide such a text is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(ch for ch in plain(text) if category(ch) not in _UNSURE and not _NARROW <= ch <= _WIDE)


def cut(text: str, width: int, *, more: str = "…") -> str:
    """At most so many cells; a text that was cut says so."""
    text = tidy(text)
    if width_of(text) <= width:
        return text
    return prefix(text, width - width_of(more)) + more if width >= width_of(more) else ""


def pad(text: str, width: int, *, more: str = "…") -> str:
    """Exactly so many cells."""
    return padded(cut(text, width, more=more), width)


def wrap(text: str, width: int) -> list[str]:
    """Broken between words where there is a space to break at, else anywhere."""
    rows, left = [], tidy(text)
    while width_of(left) > width > 0:
        row = prefix(left, width) or left[:1]
        space = row.rfind(" ")
        if space > width // 2 and not left[len(row) :].startswith(" "):
            row = row[:space]
        rows.append(row.rstrip())
        left = left[len(row) :].lstrip(" ")
    return [*rows, left] if left or not rows else rows


def row(pieces: Iterable[Piece], width: int, *, more: str = "…") -> Text:
    """Pieces one after the other, the last ones cut where they do not fit."""
    shown = Text(no_wrap=True, end="")
    left = width
    for text, style in pieces:
        part = cut(text, left, more=more)
        shown.append(part, style or None)
        left -= width_of(part)
    return shown


def beside(first: Text, second: Text, *, width: int, between: str) -> Text:
    """Two rows as one; the first takes exactly `width` cells."""
    gap = " " * max(0, width - width_of(first.plain))
    return (
        Text("", no_wrap=True, end="")
        .append_text(first)
        .append(gap)
        .append(between, "dim")
        .append_text(second)
    )


def flow(fields: Sequence[Sequence[Piece]], width: int, *, rows: int, between: str) -> list[list[Piece]]:
    """Fields side by side in as few rows as they need; what has no row left is left out."""
    found: list[list[Piece]] = []
    used = width + 1
    for field in fields:
        wide = sum(width_of(tidy(text)) for text, _ in field)
        if found and used + len(between) + wide <= width:
            found[-1] += [(between, "dim"), *field]
            used += len(between) + wide
        elif len(found) < rows:
            found.append(list(field))
            used = wide
    return found
