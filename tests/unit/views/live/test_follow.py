"""A growing file: every whole line once, whatever happens to the file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ralphloop.views.live import feed
from ralphloop.views.live.feed import Tail


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lines"


def add(file: Path, data: bytes) -> None:
    with file.open("ab") as out:
        out.write(data)


def test_whole_lines_come_once_and_a_half_one_when_it_is_whole(file: Path) -> None:
    tail = Tail(str(file))
    assert tail.lines() == []
    add(file, b"a\nb\nc")
    assert tail.lines() == [b"a", b"b"]
    assert tail.lines() == []
    add(file, b"c")
    assert tail.lines() == []
    add(file, b"c\nd\n")
    assert tail.lines() == [b"ccc", b"d"]


def test_the_first_look_takes_the_end_of_a_long_file(file: Path) -> None:
    add(file, b"".join(b"line %d\n" % number for number in range(1000)))
    tail = Tail(str(file), first_max=20)
    assert tail.lines() == [b"line 998", b"line 999"]
    add(file, b"next\n")
    assert tail.lines() == [b"next"]


def test_a_file_that_goes_and_comes_back_begins_again(file: Path) -> None:
    add(file, b"old\n")
    tail = Tail(str(file))
    tail.lines()
    kept = file.rename(file.with_name("kept"))  # its number is not given to the next file
    assert tail.lines() == []
    add(file, b"new\nlines\n")
    assert tail.lines() == [b"new", b"lines"]
    assert kept.exists()


def test_a_file_that_was_cut_begins_again(file: Path) -> None:
    add(file, b"one\ntwo\n")
    tail = Tail(str(file))
    tail.lines()
    file.write_bytes(b"x\n")
    assert tail.lines() == [b"x"]


def test_a_file_that_was_cut_and_has_grown_beyond_that_place_begins_again(file: Path) -> None:
    add(file, b"one\n")
    tail = Tail(str(file))
    tail.lines()
    file.write_bytes(b"longer than before\n")
    assert tail.lines() == [b"longer than before"]


def test_a_line_that_is_too_long_is_left_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "LINE_MAX", 10)
    tail = Tail(str(file))
    add(file, b"a\n" + b"x" * 11)
    assert tail.lines() == [b"a"]
    add(file, b"x" * 11 + b"\nb\n")
    assert tail.lines() == [b"b"]


def test_much_at_once_comes_in_steps_and_nothing_is_lost(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "STEP_MAX", 7)
    wanted = [b"line %d" % number for number in range(20)]
    add(file, b"\n".join(wanted) + b"\n")
    tail, found = Tail(str(file)), []
    for _ in range(100):
        found += tail.lines()
    assert found == wanted


@pytest.mark.timeout(10)
@pytest.mark.parametrize("kind", ["pipe", "folder", "nothing", "bad path"])
def test_what_is_no_file_has_no_lines(file: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    assert Tail("a\0b" if kind == "bad path" else str(file)).lines() == []


def test_a_file_that_moved_aside_is_read_to_its_end_first(file: Path) -> None:
    older = file.with_name("lines.1")
    tail = Tail(str(file), older=str(older))
    add(file, b"one\n")
    assert tail.lines() == [b"one"]
    add(file, b"two\n")
    file.rename(older)
    assert tail.lines() == [b"two"]
    add(file, b"three\n")
    assert tail.lines() == [b"three"]
    add(file, b"four\n")
    file.rename(older)
    add(file, b"five\n")
    assert tail.lines() == [b"four", b"five"]
    assert tail.lines() == []


def test_the_first_look_begins_with_the_older_file(file: Path) -> None:
    older = file.with_name("lines.1")
    add(older, b"one\n")
    add(file, b"two\n")
    tail = Tail(str(file), older=str(older))
    assert tail.lines() == [b"one", b"two"]
    file.unlink()
    assert tail.lines() == []
    add(file, b"three\n")
    assert tail.lines() == [b"three"]


def test_of_an_older_file_that_has_no_end_only_the_end_is_read(file: Path) -> None:
    older = file.with_name("lines.1")
    with older.open("wb") as out:
        out.truncate(1 << 40)  # all of it a hole
    add(older, b"\nlast\n")
    add(file, b"next\n")
    assert Tail(str(file), first_max=sys.maxsize, older=str(older)).lines() == [b"last", b"next"]


def test_what_is_left_of_a_line_is_dropped_where_the_older_file_is_not_read_on(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = file.with_name("lines.1")
    tail = Tail(str(file), older=str(older))
    add(file, b"one\nhalf")
    assert tail.lines() == [b"one"]
    add(file, b" a line\n" + b"two\n" * 10)
    file.rename(older)
    monkeypatch.setattr(feed, "OLDER_MAX", 6)
    assert tail.lines() == [b"two"]
