"""The phases of `ralphloop specum` before execution: what each needs, says and changes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.spec_project import INSIDE, SpecProject
from ralphloop.cli import specum
from unit.domain.cases import each


@pytest.fixture
def project(tmp_path: Path) -> SpecProject:
    return SpecProject(tmp_path)


@pytest.fixture
def planned(project: SpecProject) -> SpecProject:
    project.planned()
    return project


def test_each_phase_names_what_to_read_and_write(project: SpecProject) -> None:
    project.say("new", "login", "Let people in")
    told = project.say("research", "look", "at", "the old code")
    assert "Write: specs/login/research.md" in told
    assert "The person says: look at the old code" in told
    project.doc("login", "research.md")
    told = project.say("requirements")
    assert "Read: specs/login/.progress.md, specs/login/research.md\n" in told
    assert "Write: specs/login/requirements.md (commit this file alone when it is written)\n" in told
    assert "`/ralph-specum:design`" in told
    project.doc("login", "requirements.md")
    assert "Write: specs/login/design.md" in project.say("design")
    project.doc("login", "design.md")
    told = project.say("tasks")
    assert "specs/login/design.md" in told
    assert "Write: specs/login/tasks.md (fine tasks; commit this file alone when it is written)\n" in told
    assert "`/ralph-specum:implement`" in told
    state = project.state("login")
    assert (state["phase"], state["awaitingApproval"]) == ("tasks", True)


def test_a_phase_without_its_documents_names_who_writes_them(project: SpecProject) -> None:
    project.say("new", "login", "x")
    assert "research.md is missing: go on without it" in project.say("requirements")
    assert "specs/login/requirements.md is missing; `/ralph-specum:requirements`" in project.refuse("design")
    assert "specs/login/design.md is missing; `/ralph-specum:design` writes it" in project.refuse("tasks")


@each("action", [*specum.KIND.steps, "implement", "cancel"])
def test_without_a_spec_each_action_says_how_to_begin(project: SpecProject, action: str) -> None:
    assert "there is no current spec here; `/ralph-specum:start" in project.refuse(action)


def test_a_pointer_to_nowhere_is_told(project: SpecProject) -> None:
    project.write("specs/.current-spec", "gone\n")
    assert "the current spec specs/gone is gone; `/ralph-specum:switch NAME`" in project.refuse("design")


def test_a_phase_changes_only_its_fields(project: SpecProject) -> None:
    project.say("new", "login", "x")
    file = project.state_file("login")
    text = '{ "phase":"research",\r\n  "mine": [1,2], "awaitingApproval" : false , "taskIndex": 3}'
    file.write_bytes(text.encode())
    project.say("requirements")
    wanted = text.replace('"research"', '"requirements"').replace("false", "true")
    assert file.read_bytes() == wanted.encode()


def test_what_the_person_chose_for_the_documents_is_said(project: SpecProject) -> None:
    told = project.say("new", "login", "x", "--no-commit-spec", "--tasks-size", "coarse")
    assert "Write: specs/login/research.md\n" in told
    project.doc("login", "design.md")
    assert "Write: specs/login/tasks.md (coarse tasks)\n" in project.say("tasks")


def test_going_back_is_allowed_and_said(project: SpecProject) -> None:
    project.planned()
    project.say("tasks")
    told = project.say("design")
    assert "Back from tasks to design" in told
    assert "tasks.md" in told.split("\n")[0]
    assert "Write: specs/login/design.md (it exists: revise it" in told
    assert project.state("login")["phase"] == "design"


def test_a_cancelled_spec_goes_on_with_any_phase(project: SpecProject) -> None:
    project.planned()
    project.say("cancel")
    project.say("design")
    state = project.state("login")
    assert (state["phase"], state["name"], state["schemaVersion"]) == ("design", "login", 1)


def test_no_phase_begins_while_the_tasks_run(project: SpecProject) -> None:
    project.running()
    told = project.refuse("design")
    assert "`/ralph-specum:cancel` ends it" in told
    assert "`ralphloop pause login`" in told
    project.fine("pause")
    assert "Back from execution to design" in project.say("design")


def test_a_phase_waits_for_a_stop_that_is_being_decided(project: SpecProject) -> None:
    project.say("new", "login", "x", "--quick")
    with project.the_loop().lock():
        assert "is busy with a stop; try again" in project.refuse("requirements")


@each(
    ("text", "told"),
    [
        ('{"phase": "research", "schemaVersion": 2}', "update the plugin ralph-specum"),
        ('{"phase": "prototype"}', "update the plugin ralph-specum"),
        ('{"phase": ["execution"]}', "is corrupt (`phase` is no text)"),
        ('{"phase": "research"', "is corrupt"),
        ("[]", "is corrupt"),
        ("", "is corrupt"),
    ],
)
def test_a_state_that_is_not_ours_to_change_is_left_alone(planned: SpecProject, text: str, told: str) -> None:
    planned.state_file("login").write_text(text)
    assert told in planned.refuse("requirements")


def test_no_action_changes_such_a_state(planned: SpecProject) -> None:
    planned.state_file("login").write_text("{")
    for action in ("design", "implement", "start", "switch login", "start login"):
        assert "is corrupt" in planned.refuse(*action.split()), action


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_state_that_is_no_file_is_told(project: SpecProject, make: Callable[[str], None]) -> None:
    project.planned()
    project.state_file("login").unlink()
    make(str(project.state_file("login")))
    for action in ("start", "implement"):
        done = project.run("specum", action, env=INSIDE)
        assert (done.code, done.out) == (1, "")
        assert "specs/login/.ralph-state.json cannot be read" in done.err
        assert "move it away" in done.err


@pytest.mark.parametrize("name", [".progress.md", "requirements.md", "tasks.md"])
def test_a_document_that_links_out_of_the_project_is_refused(planned: SpecProject, name: str) -> None:
    document = planned.path("login", name)
    document.rename(planned.folder / "outside")
    document.symlink_to(planned.folder / "outside")
    for action in ("design", "implement", "start", "switch login"):
        assert f"specs/login/{name} leads out of the project" in planned.refuse(*action.split()), action


def test_outside_git_nothing_is_to_be_committed(project: SpecProject) -> None:
    shutil.rmtree(project.root / ".git")
    assert "Write: specs/login/research.md\n" in project.say("new", "login", "x")


def test_a_spec_is_found_from_below(project: SpecProject) -> None:
    project.say("new", "login", "x")
    below = project.root / "src" / "deep"
    below.mkdir(parents=True)
    assert "Write: ../../specs/login/requirements.md" in project.say("requirements", cwd=below)
    project.say("new", "cart", "x", cwd=below)
    assert project.pointer == "cart\n"


def test_a_worktree_sees_the_spec_of_the_main_checkout_and_keeps_its_own(project: SpecProject) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"]
        argv = ["git", *identity, *words]
        subprocess.run(argv, cwd=project.root, env=project.env(), check=True, capture_output=True)

    git("commit", "--quiet", "--allow-empty", "--message=start")
    tree = project.folder / "tree"
    git("worktree", "add", str(tree))
    project.say("new", "login", "x")
    assert f"{project.root.name}/specs/login/requirements.md" in project.say("requirements", cwd=tree)
    project.say("new", "cart", "x", cwd=tree)
    assert (tree / "specs/.current-spec").read_text() == "cart\n"
    assert project.pointer == "login\n"
    assert "Spec cart in specs/cart" in project.say("start", cwd=tree)
