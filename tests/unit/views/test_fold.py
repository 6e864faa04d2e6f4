"""Lines that keep to a width: what is folded, what is cut, and what stays whole."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

from ralphloop.views.fold import cut, fold, padded, size_of, width_of
from unit.domain.cases import each

COMMAND = "`ralphloop resume a-loop-with-a-name-that-is-long --max-cost 5`"


@each(
    ("text", "rows"),
    [
        ("short", ["short"]),
        ("", [""]),
        ("one two three four", ["one two", "three four"]),
        ("  one two three", ["  one two", "  three"]),
        ("✗ one two three", ["✗ one two", "  three"]),
        ("one  two   three", ["one  two", "three"]),  # a table's blanks stay within a row
        ("one two · three", ["one two", "· three"]),
        ("abcdefghijklmnop", ["abcdefghij", "klmnop"]),
        ("日本語の文字", ["日本語の文", "字"]),
        ("$ one two three four five", ["$ one two three four five"]),
        ("see /a/path/that/is/long now", ["see", "/a/path/that/is/long", "now"]),
        ("do `one two three four` now", ["do", "`one two three four`", "now"]),
        ("do ``a `b` c d`` now", ["do", "``a `b` c d``", "now"]),
        ("one ` two three", ["one ` two", "three"]),
        ("\\<\\<\\<\\<\\<\\<\\<", ["\\<\\<\\<\\<\\<", "\\<\\<"]),
        ("x\\<\\<\\<\\<\\<\\<\\<", ["x\\<\\<\\<\\<", "\\<\\<\\<"]),  # never between the two
    ],
)
def test_a_line_is_folded_between_its_words(text: str, rows: list[str]) -> None:
    assert fold(text, 10) == rows


def test_the_rows_below_stand_behind_what_is_asked_for() -> None:
    assert fold("one two three", 10, hang=4) == ["one two", "    three"]
    assert fold("one two three", 10, least=2) == ["one two", "  three"]
    assert fold("one abcdefgh", 10, hang=4) == ["one", "  abcdefgh"]  # further left rather than in pieces


def test_nothing_is_lost_and_no_row_is_too_wide() -> None:
    words = f"Words of 日本語 and 🚀, with {COMMAND} in them and more words after it. "
    for count in range(1, 5):
        rows = fold(words * count, 70)
        assert " ".join(row.strip() for row in rows) == (words * count).strip()
        assert all(width_of(row) <= 70 for row in rows)
        assert any(COMMAND in row for row in rows)


@each(
    ("text", "cells"),
    [
        ("plain", 5), ("日本語", 6), ("🚀🎉", 4), ("e\u0301", 1), ("ｆｕｌｌ", 8), ("·…–✓", 4),
        ("👩\u200d👧", 4), ("❤\ufe0f", 2),  # as wide as the terminal that draws it widest
    ],
)  # fmt: skip
def test_cells_are_counted_as_terminals_do(text: str, cells: int) -> None:
    assert width_of(text) == cells
    assert padded(text, 20) == text + " " * (20 - cells)


def test_the_environment_then_the_terminal_says_how_large_it_is() -> None:
    above, below = pty.openpty()
    fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    with os.fdopen(below, "w", encoding="utf-8") as stream:
        assert size_of(stream, {}) == (120, 30)
        assert size_of(stream, {"COLUMNS": "90", "LINES": ""}) == (90, 30)
    os.close(above)
    assert size_of(io.StringIO(), {"COLUMNS": "wide"}) == (80, 40)
    assert size_of(io.StringIO(), {}, rows=24) == (80, 24)


def test_a_text_is_cut_by_its_cells() -> None:
    assert cut("one two three", 9) == "one two …"
    assert cut("日本語の文字", 9) == "日本語 …"
    assert cut("short", 5) == "short"


@each("width", range(-20, 8))
def test_however_narrow_it_is_all_is_shown(width: int) -> None:
    for hang in (None, 0, 9):
        rows = fold("  - A table of words, /a/path and `a command`", width, hang=hang)
        assert "".join("".join(rows).split()) == "-Atableofwords,/a/pathand`acommand`"
