"""What a terminal would obey never gets through."""

from __future__ import annotations

import pytest

from ralphloop.domain.model import Task
from ralphloop.domain.prompt import TURNS, plain
from ralphloop.hook import statusline
from ralphloop.proof import commit
from unit.domain.cases import each


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain · ☐ é 日本 🚀", "plain · ☐ é 日本 🚀"),
        ("a\nb\r\nc\td", "a b  c d"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("\x00\x07\x7f\x80\x9b\x9f", "\ufffd" * 6),
        ("line\u2028para\u2029", "line para "),
        ("abc\u202ecba\u2066x", "abc\ufffdcba\ufffdx"),
        ("caf\udce9", "caf?"),
    ],
)
def test_plain_text_has_nothing_that_a_terminal_obeys(text: str, shown: str) -> None:
    assert plain(text) == shown


@each("mark", TURNS)
def test_no_mark_that_turns_the_reading_direction_is_shown_anywhere(mark: str) -> None:
    about = commit.trailers_of("F1", loop_id="L1", evidence="e")
    message = commit.message(Task("F1", f"a{mark}b"), about)
    assert mark not in plain(mark) + statusline.fit(f"a{mark}b", "80") + message
