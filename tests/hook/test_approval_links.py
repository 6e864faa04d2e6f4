"""Approved checks and symbolic links: what a link leads to is judged by its own text and its own place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hook.attack import (
    asked_with_its_prompt,
    checked_files,
    checked_list,
    commands_run,
    leaving,
    mark,
    needs_approval,
    outcome,
    passed_by_its_agent,
    started_without_approval,
)
from hook.conftest import ProjectFactory
from hook.harness import OWN_FILES, LoopProject
from ralphloop.proof import protect

LIST = OWN_FILES["features"]


def hostile(found: LoopProject) -> str:
    return leaving(mark(found), "hostile")


@pytest.fixture
def approved(project: ProjectFactory) -> LoopProject:
    """A project whose only check is approved and leaves nothing behind."""
    found = project("features", checked_files("features", "true"))
    found.approve()
    return found


def claimed(found: LoopProject) -> str:
    """The hostile list, with its first task passed."""
    return checked_list(hostile(found), done=1)


def put_link(place: Path, target: Path) -> None:
    """In the place of whatever is there; that is set aside, never removed."""
    place.rename(place.with_name(place.name + ".before"))
    place.symlink_to(target)


# The list is a link


def test_a_list_that_is_a_link_to_another_is_not_approved_by_its_name(approved: LoopProject) -> None:
    approved.write({"elsewhere/feature_list.json": checked_list(hostile(approved))})
    put_link(approved.own, approved.root / "elsewhere/feature_list.json")
    started_without_approval(approved)
    needs_approval(approved, hostile(approved))
    assert not mark(approved).exists()


def test_a_list_swapped_for_a_link_in_a_running_loop_gets_its_checks_back(approved: LoopProject) -> None:
    approved.arm()
    approved.write({"elsewhere/feature_list.json": claimed(approved)})
    put_link(approved.own, approved.root / "elsewhere/feature_list.json")
    approved.turn()
    assert set(commands_run(approved)) == {"true"}
    assert not mark(approved).exists()


def test_a_list_that_leads_out_of_the_project_is_not_read(approved: LoopProject) -> None:
    approved.arm()
    outside = approved.base / "feature_list.json"
    outside.write_text(claimed(approved))
    put_link(approved.own, outside)
    before = outside.read_bytes()
    approved.turn()
    assert not mark(approved).exists()
    assert outside.read_bytes() == before


def test_a_list_that_leads_out_since_its_check_ran_is_not_written(approved: LoopProject) -> None:
    outside = approved.base / "outside"
    outside.write_text("precious\n")
    approved.write(checked_files("features", f"ln -sf ../../../../outside {LIST}; exit 1"))
    approved.arm()
    approved.close(1)
    assert "the last good copy is back" in approved.turn().message
    assert not approved.own.is_symlink()
    assert outside.read_text() == "precious\n"


def test_a_tasks_file_that_leads_out_of_the_project_is_not_read(project: ProjectFactory) -> None:
    found = project("specum", checked_files("specum", "true"))
    found.arm()
    outside = found.base / "tasks.md"
    command = hostile(found)
    outside.write_text(f"- [x] 1.1 Task number 1\n  - **Verify**: `{command}`\n")
    put_link(found.folder / "tasks.md", outside)
    before = outside.read_bytes()
    found.turn()
    assert not mark(found).exists()
    assert outside.read_bytes() == before


# A folder is a link


@pytest.mark.parametrize("swapped", [".ralph", ".ralph/loops", ".ralph/loops/demo"])
def test_a_loop_folder_swapped_for_another_projects_runs_nothing(
    project: ProjectFactory, approved: LoopProject, swapped: str
) -> None:
    other = project("features", checked_files("features", hostile(approved)))
    other.close(1)
    before = other.digest(other.root)
    approved.arm()
    put_link(approved.root / swapped, other.root / swapped)
    approved.turn()
    assert not mark(approved).exists()
    assert other.digest(other.root) == before


@pytest.mark.parametrize("swapped", [".ralph/loops", ".ralph/loops/demo"])
def test_a_loop_folder_swapped_for_another_one_of_the_project_gets_its_checks_back(
    approved: LoopProject, swapped: str
) -> None:
    approved.arm()
    approved.write({LIST.replace(".ralph", "elsewhere"): claimed(approved)})
    put_link(approved.root / swapped, approved.root / swapped.replace(".ralph", "elsewhere"))
    approved.turn()
    assert set(commands_run(approved)) <= {"true"}
    assert not mark(approved).exists()


def test_a_link_to_an_approved_projects_loops_is_no_loop_of_ones_own(
    project: ProjectFactory, approved: LoopProject
) -> None:
    """The hostile project borrows a list that is approved, and brings the scripts that it runs."""
    script = "sh check.sh"
    approved.write({**checked_files("features", script), "check.sh": "true\n"})
    approved.approve()
    borrowing = project("features", {"check.sh": hostile(approved) + "\n"})
    borrowing.home = approved.home
    (borrowing.root / ".ralph").symlink_to(approved.root / ".ralph")
    before = approved.digest(approved.root)
    passed_by_its_agent(approved)
    shutil.copy(approved.transcript, borrowing.base / "transcript.jsonl")
    approved.close(1, done=False)
    borrowing.add_lines((borrowing.base / "transcript.jsonl").read_bytes())
    assert not borrowing.turn().blocks
    assert not mark(approved).exists()
    assert before.keys() == approved.digest(approved.root).keys()


# The project is reached through a link


def test_a_project_reached_through_a_link_is_the_project(project: ProjectFactory) -> None:
    found = project("features")
    command = leaving(mark(found))
    found.write(checked_files("features", command))
    found.arm()
    found.close(1)
    link = found.base / "link"
    link.symlink_to(found.root)
    found.extra_env["CLAUDE_PROJECT_DIR"] = str(link)
    assert found.turn(cwd=link).blocks
    assert commands_run(found) == [command]


def test_a_link_that_leads_to_another_project_now_brings_no_approval_along(
    project: ProjectFactory, approved: LoopProject
) -> None:
    script = "sh check.sh"
    approved.write({**checked_files("features", script), "check.sh": "true\n"})
    other = project("features", {**checked_files("features", script), "check.sh": hostile(approved) + "\n"})
    other.home = approved.home
    link = approved.base / "link"
    link.symlink_to(approved.root)
    approved.arm()
    assert approved.turn(cwd=link).blocks
    link.unlink()
    link.symlink_to(other.root)
    other.extra_env["CLAUDE_PROJECT_DIR"] = str(link)
    passed_by_its_agent(other)
    answer = other.turn(cwd=link)
    assert "these checks need your approval: `sh check.sh`" in answer.message
    assert not mark(approved).exists()


# A protected file is a link


def protected(found: LoopProject) -> None:
    """An approved check by scripts that no claim may touch, begun as `start` does."""
    listed = checked_files("features", "sh check.sh && sh checks/more.sh", protect=["check.sh", "checks"])
    found.write({**listed, "check.sh": "true\n", "checks/more.sh": "true\n"})
    assert protect.pin(found.arm(), str(found.root)) == 2


def test_a_protected_file_swapped_for_a_link_is_put_back_before_the_check(approved: LoopProject) -> None:
    protected(approved)
    approved.write({"evil.sh": hostile(approved) + "\n"})
    put_link(approved.root / "check.sh", Path("evil.sh"))
    approved.close(1)
    answer = approved.turn()
    assert answer.blocks
    assert "protected files were touched: check.sh (changed)" in answer.reason
    assert not mark(approved).exists()
    assert not (approved.root / "check.sh").is_symlink()
    assert (approved.root / "check.sh").read_text() == "true\n"


def test_a_link_added_to_a_protected_folder_is_taken_out(approved: LoopProject) -> None:
    protected(approved)
    outside = approved.base / "outside.sh"
    outside.write_text(hostile(approved) + "\n")
    (approved.root / "checks/conftest.sh").symlink_to(outside)
    approved.close(1)
    assert "checks/conftest.sh (added)" in approved.turn().reason
    assert not (approved.root / "checks/conftest.sh").is_symlink()
    assert outside.read_text() == hostile(approved) + "\n"


def test_a_protected_folder_swapped_for_a_link_stops_the_check(approved: LoopProject) -> None:
    protected(approved)
    outside = approved.base / "outside"
    outside.mkdir()
    (outside / "more.sh").write_text(hostile(approved) + "\n")
    put_link(approved.root / "checks", outside)
    approved.close(1)
    answer = approved.turn()
    assert "protected files were touched: checks/more.sh (changed)" in answer.reason
    assert not mark(approved).exists()
    assert (outside / "more.sh").read_text() == hostile(approved) + "\n"
    assert outcome(approved) is None


def test_what_a_link_in_a_protected_place_leads_to_is_left_alone(approved: LoopProject) -> None:
    protected(approved)
    outside = approved.base / "outside.sh"
    outside.write_text("somebody else's\n")
    put_link(approved.root / "check.sh", outside)
    approved.close(1)
    approved.turn()
    assert outside.read_text() == "somebody else's\n"


def test_a_loop_that_its_session_began_protects_files_from_its_first_stop_on(approved: LoopProject) -> None:
    approved.write({**checked_files("features", "sh check.sh", protect=["check.sh"]), "check.sh": "exit 1\n"})
    approved.approve()
    asked_with_its_prompt(approved)
    assert approved.turn().blocks
    approved.write({"check.sh": "true\n"})
    approved.close(1)
    approved.turn()
    assert approved.the_loop().load_ledger().tasks.get("F1", {}).get("state") != "proven"


@pytest.mark.parametrize("place", [".ralph", ".ralph/run"])
def test_a_clone_whose_run_folder_is_a_link_runs_and_writes_nothing(
    project: ProjectFactory, place: str
) -> None:
    found = project("features")
    found.write(checked_files("features", hostile(found)))
    outside = found.base / "outside"
    outside.mkdir()
    if place == ".ralph":
        shutil.copytree(found.root / ".ralph", outside / ".ralph")
        put_link(found.root / ".ralph", outside / ".ralph")
    else:
        (found.root / ".ralph/run").symlink_to(outside)
    before = found.digest(outside)
    passed_by_its_agent(found)
    found.close(1, done=False)
    found.turn()
    assert not mark(found).exists()
    assert found.digest(outside).keys() == before.keys()


def test_a_loop_that_waits_for_approval_stays_so_behind_a_link(approved: LoopProject) -> None:
    approved.write({LIST: checked_list(hostile(approved))})
    started_without_approval(approved)
    needs_approval(approved, hostile(approved))
    approved.write({"elsewhere/feature_list.json": checked_list("true", done=1)})
    put_link(approved.own, approved.root / "elsewhere/feature_list.json")
    assert not approved.turn().blocks
    assert outcome(approved) == "needs_approval"
    assert not mark(approved).exists()
