"""The bell: it rings in a terminal of ours, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphloop.errors import NotSentError
from ralphloop.notify import bell
from unit.notify.pseudo import Terminal


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def test_it_rings_in_the_terminal_of_a_process(terminal: Terminal) -> None:
    assert bell.ring({}, pid=terminal.process.pid) == terminal.path
    assert terminal.heard() == b"\a"


def test_it_rings_in_the_terminal_above_a_process_that_has_none(terminal: Terminal) -> None:
    assert bell.ring({}, pid=terminal.below) == terminal.path
    assert terminal.heard() == b"\a"


def test_the_client_in_the_environment_is_such_a_process(terminal: Terminal) -> None:
    assert terminal.path in bell.terminals({"CLAUDE_PID": str(terminal.process.pid)})


@pytest.mark.parametrize("client", ["", "x", "-1", "0", "1", "99999999"])
def test_a_client_that_is_none_is_no_obstacle(client: str) -> None:
    assert all(path.startswith("/dev/") for path in bell.terminals({"CLAUDE_PID": client}))


def test_nothing_but_a_terminal_is_written_to(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    link = tmp_path / "link"
    link.symlink_to(terminal.path)
    for path in (file, link, tmp_path, tmp_path / "gone", Path("/dev/null")):
        assert not bell._ring_at(str(path))
    assert file.read_bytes() == b""
    assert bell._ring_at(terminal.path)
    assert terminal.heard() == b"\a"  # one, and not a second one through the link


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a terminal away")
def test_a_terminal_of_somebody_else_is_left_alone(terminal: Terminal) -> None:
    os.chown(terminal.path, 12345, -1)
    assert not bell._ring_at(terminal.path)


def test_without_a_terminal_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "_look", lambda pid: ("", 0))
    with pytest.raises(NotSentError, match="no terminal"):
        bell.ring({}, pid=os.getpid())
