"""Reports as Markdown: whatever a task is called, it is text."""

from __future__ import annotations

import pytest

from ralphloop.views.report_section import Code, Section
from ralphloop.views.report_text import _cell, _section


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
        ("a | b", "`a \\| b`"),
        ("echo `date`", "`` echo `date` ``"),
        ("`a`", "`` `a` ``"),
        ("<b>", "`<b>`"),
        ("", ""),
    ],
)
def test_a_command_is_code_that_it_cannot_leave(command: str, shown: str) -> None:
    assert _cell(Code(command)) == shown


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
