"""Texts by the cells that they take on a screen."""

from __future__ import annotations

import pytest

from ralphloop.views.fold import width_of
from ralphloop.views.live.screen import beside, cut, flow, pad, row, tidy, wrap
from unit.domain.cases import each


@each(
    ("text", "width", "wanted"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("a日", 2, "a…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("", 0, ""),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
    ],
)
def test_a_text_is_cut_to_its_cells(text: str, width: int, wanted: str) -> None:
    assert cut(text, width) == wanted
    assert width_of(pad(text, width)) == width


@pytest.mark.parametrize("text", ["a\u200bb", "a\u200db", "a\ufe0fb", "a\u00adb", "a\U000e0041b", "a\u20e3b"])
def test_what_terminals_do_not_agree_on_is_left_out(text: str) -> None:
    assert tidy(text) == "ab"


@pytest.mark.parametrize(
    ("text", "width", "wanted"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 8, ["one two", "three"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("日本語です", 4, ["日本", "語で", "す"]),
        ("日", 1, ["日"]),
        ("", 5, [""]),
        ("    deep", 20, ["    deep"]),
    ],
)
def test_a_text_is_wrapped_at_words_where_it_can_be(text: str, width: int, wanted: list[str]) -> None:
    assert wrap(text, width) == wanted


def test_wrapping_loses_no_word() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    for width in range(1, 60):
        assert "".join(wrap(text, width)).replace(" ", "") == text.replace(" ", "")


def test_a_row_takes_its_pieces_until_it_is_full() -> None:
    assert row([("abc", "bold"), ("defg", ""), ("h", "")], 5).plain == "abcd…"


def test_two_rows_stand_side_by_side() -> None:
    assert beside(row([("日", "")], 4), row([("x", "")], 4), width=4, between=" | ").plain == "日   | x"


def test_fields_flow_into_the_rows_that_there_are() -> None:
    fields = [[("aaa", "")], [("bbb", "")], [("ccc", "")], [("ddd", "")]]
    shown = ["".join(text for text, _ in line) for line in flow(fields, 9, rows=2, between=" · ")]
    assert shown == ["aaa · bbb", "ccc · ddd"]
    assert len(flow(fields, 5, rows=2, between=" · ")) == 2
