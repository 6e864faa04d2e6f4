"""An approval holds for one folder in one place: not for another one there, nor for this one elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hook.attack import (
    asked_with_its_prompt,
    checked_files,
    commands_run,
    leaving,
    mark,
    needs_approval,
    outcome,
    passed_by_its_agent,
)
from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, SEQUENTIAL, LoopProject
from hook.proven import cli

CHECK = "sh check.sh"


def with_script(found: LoopProject, script: str) -> None:
    found.write({**checked_files(found.layout, CHECK), "check.sh": script + "\n"})


@pytest.fixture
def running(project: ProjectFactory) -> LoopProject:
    """A loop whose check is a script of the project, approved."""
    found = project("features")
    with_script(found, leaving(mark(found), "approved"))
    found.arm()
    return found


def hostile_in_place(found: LoopProject) -> Path:
    """The project's folder is renamed, and one with the same commands and other scripts takes its place."""
    away = found.base / "away"
    found.root.rename(away)
    found.root.mkdir()
    with_script(found, leaving(mark(found), "hostile"))
    return away


def test_a_hostile_folder_in_the_place_of_an_approved_one_runs_nothing(running: LoopProject) -> None:
    hostile_in_place(running)
    running.close(1)
    needs_approval(running, CHECK)
    assert not mark(running).exists()


def test_a_hostile_folder_that_brings_the_loops_own_files_runs_nothing(running: LoopProject) -> None:
    away = hostile_in_place(running)
    shutil.copytree(away / ".ralph", running.root / ".ralph", dirs_exist_ok=True)
    running.close(1)
    needs_approval(running, CHECK)
    assert not mark(running).exists()


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_hostile_spec_in_the_place_of_an_approved_one_runs_nothing(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    with_script(found, "true")
    found.arm()
    hostile_in_place(found)
    found.close(1)
    assert found.turn().blocks
    assert not mark(found).exists()
    assert found.the_loop().load_ledger().tasks["1.1"]["state"] == "unverified"


@pytest.mark.parametrize("words", [("done", "F1"), ("verify", "F1"), ("verify", "--all")])
def test_no_command_runs_the_checks_of_a_hostile_folder(running: LoopProject, words: tuple[str, ...]) -> None:
    hostile_in_place(running)
    cli(running, *words)
    assert not mark(running).exists()


def test_the_folder_that_was_approved_is_approved_when_it_is_back(running: LoopProject) -> None:
    away = hostile_in_place(running)
    running.root.rename(running.base / "hostile")
    away.rename(running.root)
    running.close(1)
    assert running.turn().blocks
    assert mark(running).read_text() == "approved\n"


def test_what_the_person_approves_there_now_replaces_what_was(running: LoopProject) -> None:
    away = hostile_in_place(running)
    running.approve()
    running.root.rename(running.base / "second")
    away.rename(running.root)
    running.close(1)
    needs_approval(running, CHECK)
    assert not mark(running).exists()


def moved(found: LoopProject) -> None:
    """The project's folder has another name now, and the client runs in it."""
    there = found.base / "moved"
    found.root.rename(there)
    found.root = there


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_project_that_was_moved_is_nobodys(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    with_script(found, leaving(mark(found)))
    found.arm()
    moved(found)
    found.close(1)
    before = found.digest()
    assert found.turn().silent
    assert not mark(found).exists()
    assert found.digest(found.root) == {
        path: facts for path, facts in before.items() if path.startswith(str(found.root))
    }


@pytest.mark.parametrize("way", [asked_with_its_prompt, passed_by_its_agent])
def test_a_project_that_was_moved_is_approved_anew(
    running: LoopProject, way: Callable[[LoopProject], None]
) -> None:
    moved(running)
    way(running)
    needs_approval(running, CHECK)
    assert not mark(running).exists()


def test_a_copy_of_an_approved_project_is_not_approved(running: LoopProject) -> None:
    copy = running.base / "copy"
    shutil.copytree(running.root, copy, symlinks=True)
    running.root = copy
    passed_by_its_agent(running)
    needs_approval(running, CHECK)
    assert not mark(running).exists()


def test_a_loop_in_the_folder_above_lends_no_approval(project: ProjectFactory) -> None:
    """A project within a project is one of its own."""
    found = project("features")
    with_script(found, "true")
    found.approve()
    outer = found.root
    found.root = outer / "vendor" / "inner"
    found.root.mkdir(parents=True)
    with_script(found, leaving(mark(found)))
    passed_by_its_agent(found)
    needs_approval(found, CHECK)
    assert not mark(found).exists()
    assert outcome(found) == "needs_approval"
    assert commands_run(found) == []
