"""Reports as Markdown: whatever a task is called, it is text."""

from __future__ import annotations

import re

import pytest

from ralphloop.views.report_section import Code, Section
from ralphloop.views.report_text import _cell, _item, _section


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain · words_with_lines and 3 % (of 7)", "plain · words_with_lines and 3 % (of 7)"),
        ("<script>alert(1)</script>", "\\<script\\>alert(1)\\</script\\>"),
        ("a | b", "a \\| b"),
        ("[link](there)", "\\[link\\](there)"),
        ("*bold* _and_ __init__", "\\*bold\\* \\_and\\_ \\_\\_init\\_\\_"),
        ("back\\slash `code`", "back\\\\slash \\`code\\`"),
        ("R&D &lt; &#60;", "R&D \\&lt; \\&#60;"),
        ("two\nlines\t\x1b[31m", "two lines \ufffd\\[31m"),
    ],
)
def test_a_text_has_no_markup(text: str, shown: str) -> None:
    assert _cell(text) == shown


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("make test", "`make test`"),
        ("a | b", "`a | b`"),
        ("echo `date`", "`` echo `date` ``"),
        ("`a`", "`` `a` ``"),
        ("<b>", "`<b>`"),
        ("", ""),
    ],
)
def test_a_command_is_code_that_it_cannot_leave(command: str, shown: str) -> None:
    assert _cell(Code(command)) == shown


def test_a_bar_would_end_a_cell_of_a_table_even_in_code() -> None:
    section = Section("k", "Title", ("one", "two"), ((Code("a | b"), "c"),))
    assert list(_section(section))[-1] == "| `a \\| b` | c |"


def test_what_is_too_wide_for_a_table_is_a_list() -> None:
    long = "a title that goes on - and on # and 12. on, as far as one could want, and further"
    rows = (("F1", "open", long, "–", Code("a | b; " * 20)), ("F2", "proven", "Short", "2", ""))
    section = Section("k", "Title", ("task", "state", "title", "attempts", "command"), rows)
    assert list(_section(section))[2:] == [
        "- **F1** · open · a title that goes on - and on # and 12. on, as far as one",
        "  could want, and further · command:",
        f"  `{('a | b; ' * 20).strip()}`",
        "- **F2** · proven · Short · attempts: 2",
    ]


@pytest.mark.parametrize("lead", ["-", "+", "#", "##", "---", "===", "12.", "3)"])
def test_no_row_of_an_item_begins_as_markup(lead: str) -> None:
    for words in range(20):
        _, *rest = _item("word " * (12 + words) + f"{lead} and what follows it, in many more words than fit")
        assert not any(re.match(r"  (?:[-+#=]|\d+[.)] )", row) for row in rest), rest
        assert all(len(row) <= 80 for row in rest)


def test_a_section_is_a_table_and_its_notes() -> None:
    section = Section("k", "Title", ("one", "two"), (("a", "b|c"),), ("a note",))
    assert list(_section(section)) == [
        "## Title",
        "",
        "| one | two |",
        "|---|---|",
        "| a | b\\|c |",
        "",
        "- a note",
    ]
