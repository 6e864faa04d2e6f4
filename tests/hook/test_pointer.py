"""A pointer that moves, or a phase that is set back, under a loop in execution: it goes on and says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hook.conftest import ProjectFactory
from hook.harness import POINTERS, SEQUENTIAL, SETTINGS, LoopProject, loop_files

MOVES: dict[str, Callable[[LoopProject], object]] = {
    "removed": lambda found: (found.root / POINTERS[found.layout]).unlink(),
    "emptied": lambda found: (found.root / POINTERS[found.layout]).write_text(""),
    "moved": lambda found: (found.root / POINTERS[found.layout]).write_text("another\n"),
    "led out": lambda found: (found.root / POINTERS[found.layout]).write_text("../../outside\n"),
}


@pytest.fixture(params=SEQUENTIAL)
def running(request: pytest.FixtureRequest, project: ProjectFactory) -> LoopProject:
    found = project(request.param)
    found.arm()
    assert found.turn().blocks
    return found


@pytest.mark.parametrize("move", MOVES)
def test_a_loop_goes_on_without_its_pointer_and_says_so_once(running: LoopProject, move: str) -> None:
    MOVES[move](running)
    said = running.turn()
    assert said.blocks
    assert "pointer" in said.message
    assert "pointer" in said.reason
    assert "1.1" in said.reason
    again = running.turn()
    assert again.blocks
    assert "pointer" not in again.message + again.reason
    assert running.loop()["state"] == "running"


@pytest.mark.usefixtures("as_registered")
def test_a_removed_pointer_starts_the_hook_all_the_same(running: LoopProject) -> None:
    MOVES["removed"](running)
    assert running.turn().blocks


def test_a_plugin_that_is_switched_off_is_silent_without_a_pointer_too(running: LoopProject) -> None:
    running.write({SETTINGS[running.layout]: "---\nenabled: false\n---\n"})
    for move in MOVES.values():
        move(running)
        before = running.digest(running.root)
        assert running.turn().silent
        assert running.digest(running.root) == before
        running.write({POINTERS[running.layout]: running.folder.name + "\n"})


def test_a_loop_that_rests_says_nothing_about_its_pointer(running: LoopProject) -> None:
    running.edit_loop(state="paused", outcome="interrupted")
    MOVES["removed"](running)
    assert running.turn().silent


def test_quick_mode_is_left_alone_where_another_spec_is_the_current_one(project: ProjectFactory) -> None:
    """The command that it would name is about the current spec."""
    found = project("specum", loop_files("specum", phase="design", quickMode=True))
    found.arm()
    assert found.turn().blocks
    MOVES["moved"](found)
    assert found.turn().silent


@pytest.mark.parametrize("phase", ["tasks", "dreaming", "", None, 7])
def test_a_phase_that_is_set_back_is_put_right_and_told(running: LoopProject, phase: object) -> None:
    good = running.state()
    running.edit_state(phase=phase)
    said = running.turn()
    assert said.blocks
    assert "1.1" in said.reason
    assert "phase" in said.message
    assert "last good copy is back" in said.message
    assert running.state()["phase"] == good["phase"] == "execution"
    assert len(running.rejected()) == 1
    assert "phase" not in running.turn().message


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_phase_that_is_set_back_before_the_first_stop_is_put_right_too(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    found.arm()
    found.edit_state(phase="tasks")
    assert found.turn().blocks
    assert found.state()["phase"] == "execution"


def test_quick_mode_in_the_state_does_not_hide_a_phase_that_was_set_back(project: ProjectFactory) -> None:
    found = project("specum")
    found.arm()
    found.turn()
    found.edit_state(phase="design", quickMode=True)
    assert "1.1" in found.turn().reason
    assert found.state()["phase"] == "execution"


def test_a_phase_that_is_set_back_while_the_loop_rests_is_the_persons(running: LoopProject) -> None:
    running.edit_loop(state="paused", outcome="interrupted")
    running.edit_state(phase="tasks")
    assert running.turn().silent
    assert running.state()["phase"] == "tasks"


def test_a_state_that_goes_together_with_its_pointer_is_a_cancel(running: LoopProject) -> None:
    MOVES["removed"](running)
    running.own.unlink()
    assert running.turn().silent
    assert (running.loop()["state"], running.loop()["outcome"]) == ("ended", "cancelled")
    assert "its pointer" in running.loop()["detail"]
    assert not running.own.exists()
