"""A lock that one process keeps is told from one that many hold in turn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphloop.cli.doctor import remains
from ralphloop.store import files
from ralphloop.store.files import Lock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a lock")


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(remains, "WAIT_S", 0.0)
    return tmp_path / "lock"


def holders(path: Path, *pids: int) -> Iterator[str]:
    """What the system tells of the lock, look by look."""
    inode = path.stat().st_ino
    return iter([f"1: FLOCK  ADVISORY  WRITE {pid} fe:00:{inode} 0 EOF\n" for pid in pids])


def test_one_process_that_holds_it_twice_keeps_it(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lock(str(lock)):
        told = holders(lock, 41, 42, 42)
        monkeypatch.setattr(files, "read_quietly", lambda _: next(told))
        assert remains.held(str(lock)) == (True, 42)


def test_many_that_hold_it_in_turn_do_not_keep_it(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holding = Lock(str(lock))
    with holding:
        told = holders(lock, 41, 42)

    def next_one(_: str) -> str:
        row = next(told)
        if "42" in row:
            holding.__exit__(None, None, None)
        return row

    holding.__enter__()
    monkeypatch.setattr(files, "read_quietly", next_one)
    assert remains.held(str(lock)) == (False, None)


def test_nor_do_they_if_it_never_comes_free(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lock(str(lock)):
        told = holders(lock, *range(41, 41 + remains.LOOKS))
        monkeypatch.setattr(files, "read_quietly", lambda _: next(told))
        assert remains.held(str(lock)) == (False, None)


def test_where_the_system_names_nobody_one_look_must_do(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lock(str(lock)):
        monkeypatch.setattr(files, "read_quietly", lambda _: None)
        assert remains.held(str(lock)) == (True, None)


def test_a_free_one_is_held_by_nobody(lock: Path) -> None:
    assert remains.held(str(lock)) == (False, None)
