"""One line of a journal is an entry, or nothing; a journal that moves aside is read whole."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ralphloop.engine import account
from ralphloop.store import files
from ralphloop.store.loop import iso
from ralphloop.views.journal import entry_of, history_of, stretches, work_in, working_s
from unit.domain.cases import each

LINE = '{"at": "2026-01-31T10:00:05.123Z", "event": "stop"}'


@pytest.mark.parametrize("line", [LINE, LINE.encode()])
def test_an_entry_is_read_from_text_and_from_bytes(line: str | bytes) -> None:
    assert entry_of(line) == {"at": "2026-01-31T10:00:05.123Z", "event": "stop"}


@each(
    "line",
    [
        "", "{", "[]", "null", "{}", '{"event": "stop"}', '{"event": "stop", "at": "soon"}', b"\xff",
        LINE.replace('"stop"', "3"), LINE[:-1].encode(),
    ],
)  # fmt: skip
def test_a_line_without_an_event_or_a_time_is_none(line: str | bytes) -> None:
    assert entry_of(line) is None


def test_a_journal_that_moves_aside_meanwhile_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, before, read = tmp_path / "journal.jsonl", tmp_path / "journal.1.jsonl", files.read_quietly
    before.write_text(LINE.replace("stop", "arm") + "\n")
    now.write_text(LINE.replace("stop", "bind") + "\n")

    def read_then_move(path: str) -> str | None:
        found = read(path)
        if now.exists() and "bind" in now.read_text():
            now.replace(before)
            now.write_text(LINE + "\n")
        return found

    monkeypatch.setattr(files, "read_quietly", read_then_move)
    loop: Any = SimpleNamespace(shown=lambda name: str(tmp_path / name))
    assert [entry["event"] for entry in history_of(loop).entries] == ["bind", "stop"]


def test_what_is_written_behind_half_a_line_is_read_and_the_half_is_told(tmp_path: Path) -> None:
    half = LINE[:-9]
    (tmp_path / "journal.jsonl").write_text(LINE.replace("stop", "arm") + "\n" + half + LINE + "\n")
    loop: Any = SimpleNamespace(shown=lambda name: str(tmp_path / name))
    found = history_of(loop)
    assert [entry["event"] for entry in found.entries] == ["arm", "stop"]
    assert found.faults == ("1 of the journal's lines cannot be read",)


def test_work_is_the_same_out_of_parts_and_out_of_stretches() -> None:
    """Stops follow each other, then a rest, and the last part has no end yet."""
    begin = 1_800_000_000.0
    facts: list[tuple[float, str, dict[str, str]]] = [
        (0, "arm", {"session": "s", "task": "F1"}), (10, "stop", {"state": "running"}),
        (25.5, "stop", {"state": "running"}), (40, "pause", {}), (100, "resume", {"session": "s"}),
        (110, "stop", {"state": "paused"}), (130, "stop", {"state": "running"}),
    ]  # fmt: skip
    entries = [{"at": iso(begin + after), "event": event, **more} for after, event, more in facts]
    parts = account.parts(entries, begin=iso(begin), end=account.LAST)
    expected = working_s(stretches(entries, begin=begin, end=begin + 200))
    assert work_in(parts, end=begin + 200) == pytest.approx(expected) == pytest.approx(40 + 10 + 70)
