"""One line of a journal is an entry, or nothing."""

from __future__ import annotations

import pytest

from ralphloop.views.history import entry_of

LINE = '{"at": "2026-01-31T10:00:05.123Z", "event": "stop"}'


@pytest.mark.parametrize("line", [LINE, LINE.encode()])
def test_an_entry_is_read_from_text_and_from_bytes(line: str | bytes) -> None:
    assert entry_of(line) == {"at": "2026-01-31T10:00:05.123Z", "event": "stop"}


@pytest.mark.parametrize(
    "line",
    [
        "", "{", "[]", "null", "{}", '{"event": "stop"}', '{"event": "stop", "at": "soon"}', b"\xff",
        LINE.replace('"stop"', "3"), LINE[:-1].encode(),
    ],
)  # fmt: skip
def test_a_line_without_an_event_or_a_time_is_none(line: str | bytes) -> None:
    assert entry_of(line) is None
