"""The ring of records: numbers, bounds, and what is removed first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphloop.errors import BusyError
from ralphloop.store import records
from ralphloop.store.shelf import Shelf


@pytest.fixture
def here(tmp_path: Path) -> Shelf:
    return Shelf(str(tmp_path / "project"), {"HOME": str(tmp_path)})


def test_switching_on_and_off_is_seen_by_the_shelf(here: Shelf) -> None:
    assert not here.records_stops
    records.switch(here, on=True)
    assert here.records_stops
    records.switch(here, on=False)
    records.switch(here, on=False)
    assert not here.records_stops


def test_numbers_are_counted_through_the_project(here: Shelf) -> None:
    told = [records.keep(here, loop, {"loop": loop}) for loop in ("one", "two", records.NOBODY, "one")]
    assert told == [1, 2, 3, 4]
    found = records.kept(here)
    assert [(one.number, one.loop) for one in found] == [(1, "one"), (2, "two"), (3, "nobody"), (4, "one")]
    assert records.load(found[1]) == {"loop": "two"}


def test_only_the_newest_of_each_loop_stay(here: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST", 3)
    for _ in range(5):
        records.keep(here, "one", {})
    records.keep(here, "two", {})
    assert [(one.number, one.loop) for one in records.kept(here)] == [
        (3, "one"), (4, "one"), (5, "one"), (6, "two"),
    ]  # fmt: skip


def test_the_size_of_a_loops_records_is_bounded_but_the_last_one_stays(
    here: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", 5000)
    for _ in range(4):
        records.keep(here, "one", {"text": "x" * 2000})
    assert [one.number for one in records.kept(here)] == [3, 4]
    records.keep(here, "one", {"text": "x" * 9000})
    assert [one.number for one in records.kept(here)] == [5]


def test_a_writer_that_never_lets_go_holds_nobody_up(here: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    records.keep(here, "one", {})
    monkeypatch.setattr(records, "WAIT_S", 0.0)
    with records._lock(here):
        for work in (lambda: records.keep(here, "one", {}), lambda: records.clear(here)):
            with pytest.raises(BusyError):
                work()
    assert [one.number for one in records.kept(here)] == [1]


def test_numbers_beyond_four_digits_still_sort(here: Shelf) -> None:
    records.keep(here, "one", {})
    (one,) = records.kept(here)
    os.rename(one.path, os.path.join(os.path.dirname(one.path), "9999.json"))
    assert records.keep(here, "one", {}) == 10_000
    assert [one.number for one in records.kept(here)] == [9999, 10_000]


def test_other_files_beside_records_are_left_alone(here: Shelf) -> None:
    records.keep(here, "one", {})
    folder = Path(records.kept(here)[0].path).parent
    (folder / "notes.json").write_text("mine")
    assert records.clear(here) == 1
    assert [path.name for path in folder.iterdir()] == ["notes.json"]
    assert records.clear(here) == 0


def test_what_a_killed_record_left_goes_with_the_next_one_of_its_loop(here: Shelf) -> None:
    records.keep(here, "one", {})
    folder = Path(records.kept(here)[0].path).parent
    (folder / ".0002.json.77.tmp").write_text("half")
    records.keep(here, "two", {})
    assert (folder / ".0002.json.77.tmp").exists()
    records.keep(here, "one", {})
    assert sorted(path.name for path in folder.iterdir()) == ["0001.json", "0003.json"]


def test_what_killed_records_left_is_cleared_also_where_no_record_is(here: Shelf) -> None:
    left = [Path(here.kept(loop)) / "records" / ".0001.json.77.tmp" for loop in ("one", records.NOBODY)]
    for path in left:
        path.parent.mkdir(parents=True)
        path.write_text("half")
    assert records.clear(here) == 0
    assert [path for path in left if path.exists()] == []


def test_a_record_that_is_no_json_is_an_error(here: Shelf) -> None:
    records.keep(here, "one", {})
    (one,) = records.kept(here)
    Path(one.path).write_text("{")
    with pytest.raises(ValueError, match="line 1"):
        records.load(one)
