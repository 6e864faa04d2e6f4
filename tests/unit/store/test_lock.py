"""One lock per loop: exclusive, with a deadline, gone with its holder."""

from __future__ import annotations

import os
import signal

import pytest

from ralphloop.errors import BusyError
from ralphloop.store.files import Lock, is_locked


def held_by_a_child(path: str) -> int:
    """The id of a process that holds the lock until it is killed."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        with Lock(path):
            os.write(writes, b"!")
            signal.pause()
        os._exit(0)
    os.read(reads, 1)
    os.close(reads)
    os.close(writes)
    return child


def test_a_held_lock_is_busy_at_the_deadline_and_free_when_its_holder_dies(tmp_path):
    path = str(tmp_path / "lock")
    child = held_by_a_child(path)
    try:
        with pytest.raises(BusyError), Lock(path, wait_s=0.05):
            pytest.fail("two holders")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with Lock(path, wait_s=0.05):
        pass


def test_a_lock_is_free_after_its_block_even_if_that_raised(tmp_path):
    path = str(tmp_path / "lock")
    for _ in range(2):
        with pytest.raises(KeyError), Lock(path, wait_s=0.05):
            raise KeyError
    with Lock(path, wait_s=0.05):
        pass


def test_a_refused_lock_leaves_no_file_open(tmp_path):
    path = str(tmp_path / "lock")
    with Lock(path):
        before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        for _ in range(3):
            with pytest.raises(BusyError):
                Lock(path, wait_s=0.0).__enter__()
        after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


def test_updates_under_the_lock_are_never_lost(tmp_path):
    path, count = str(tmp_path / "lock"), tmp_path / "count"
    count.write_text("0")
    children = []
    for _ in range(6):
        child = os.fork()
        if not child:
            for _ in range(30):
                with Lock(path):
                    count.write_text(str(int(count.read_text()) + 1))
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    assert count.read_text() == "180"


@pytest.mark.timeout(20)
def test_a_pipe_in_the_place_of_a_lock_holds_nobody_up(tmp_path):
    path = str(tmp_path / "lock")
    os.mkfifo(path)
    assert not is_locked(path)
    with Lock(path):
        assert is_locked(path)
        with pytest.raises(BusyError), Lock(path, wait_s=0.05):
            pytest.fail("two holders")
    assert not is_locked(path)
