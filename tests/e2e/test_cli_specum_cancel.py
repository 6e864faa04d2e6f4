"""`ralphloop specum cancel`: the loop ends, its state is put away, everything else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.cli_project import OTHER
from e2e.spec_project import ELSEWHERE, INSIDE, SpecProject


@pytest.fixture
def project(tmp_path: Path) -> SpecProject:
    return SpecProject(tmp_path)


def test_cancel_ends_the_loop_and_keeps_what_was_written(project: SpecProject) -> None:
    folder = project.running()
    state = project.state_file("login").read_bytes()
    told = project.say("cancel")
    assert sorted(path.name for path in folder.iterdir()) == [
        ".progress.md", "design.md", "requirements.md", "research.md", "tasks.md",
    ]  # fmt: skip
    assert project.pointer == "login\n"
    assert "`/ralph-specum:implement` begins again" in told
    (kept,) = (project.root / ".ralph/run").glob("*/cancelled/.ralph-state.json")
    assert str(kept.relative_to(project.root)) in told
    assert kept.read_bytes() == state
    loop = project.status()
    assert (loop["state"], loop["outcome"]) == ("ended", "cancelled")
    assert project.stop() is None
    assert not project.state_file("login").exists()


def test_cancel_without_a_loop_keeps_a_copy_of_the_state(project: SpecProject) -> None:
    project.say("new", "login", "x")
    state = project.state_file("login").read_bytes()
    told = project.say("cancel")
    kept = Path(told.partition("a copy is kept: ")[2].split("\n")[0])
    assert kept.is_relative_to(project.home)
    assert kept.read_bytes() == state
    assert "`/ralph-specum:research` begins again" in told
    project.say("research")
    again = project.say("cancel")
    assert Path(again.partition("a copy is kept: ")[2].split("\n")[0]) != kept
    assert kept.read_bytes() == state


def test_cancel_takes_a_name(project: SpecProject) -> None:
    project.running("login")
    project.say("new", "cart", "x")
    project.say("cancel", "login")
    assert not project.state_file("login").exists()
    assert project.state_file("cart").exists()
    assert "there is no spec shop here" in project.refuse("cancel", "shop")


def test_cancel_of_a_paused_loop_is_final(project: SpecProject) -> None:
    project.running()
    project.fine("pause")
    project.say("cancel")
    assert project.status()["outcome"] == "cancelled"


def test_cancel_twice_says_that_there_is_nothing(project: SpecProject) -> None:
    project.running()
    project.say("cancel")
    before = project.digest()
    assert "nothing to cancel" in project.say("cancel")
    assert project.digest() == before


@pytest.mark.slow
def test_cancel_during_a_stop_holds_and_keeps_the_state_until_then(project: SpecProject) -> None:
    project.running()
    with project.the_loop().lock():
        told = project.say("cancel")
    assert "holds when it is answered" in told
    assert "`/ralph-specum:cancel login` again" in told
    assert project.state_file("login").exists()
    assert project.stop() is None
    assert project.status()["outcome"] == "cancelled"
    assert "The state of login is removed" in project.say("cancel")


@pytest.mark.parametrize(
    ("documents", "following"),
    [
        ((), "research"),
        (("research.md",), "requirements"),
        (("requirements.md",), "design"),
        (("requirements.md", "design.md"), "tasks"),
    ],
)
def test_after_a_cancel_the_spec_goes_on_behind_its_last_document(
    project: SpecProject, documents: tuple[str, ...], following: str
) -> None:
    project.say("new", "login", "x")
    project.doc("login", *documents)
    assert f"`/ralph-specum:{following}` begins again" in project.say("cancel")


def kept(project: SpecProject) -> Path:
    (found,) = (project.root / ".ralph/run").glob("*/cancelled/.ralph-state.json")
    return found


@pytest.mark.parametrize(
    "state",
    [b'{"phase": "execution", "schemaVersion": 2}', b'{"phase": ["execution"]}', b"{", b"\xff\x00", b""],
)
def test_cancel_ends_the_loop_whatever_its_state_says(project: SpecProject, state: bytes) -> None:
    project.running()
    project.state_file("login").write_bytes(state)
    assert "is cancelled" in project.say("cancel")
    assert project.status()["outcome"] == "cancelled"
    assert kept(project).read_bytes() == state
    assert not project.state_file("login").exists()
    assert project.stop() is None


def test_cancel_moves_away_what_is_no_file(project: SpecProject) -> None:
    project.running()
    project.state_file("login").unlink()
    project.state_file("login").mkdir()
    project.doc("login", ".ralph-state.json/mine", text="mine")
    assert "is cancelled" in project.say("cancel")
    assert (kept(project) / "mine").read_text() == "mine"
    assert not project.state_file("login").exists()


def test_cancel_ends_the_loop_and_leaves_a_state_that_links_out(project: SpecProject) -> None:
    project.running()
    outside = project.folder / "outside"
    project.state_file("login").rename(outside)
    project.state_file("login").symlink_to(outside)
    done = project.run("specum", "cancel", env=INSIDE)
    assert (done.code, "leads out of the project" in done.err) == (1, True)
    assert project.status()["outcome"] == "cancelled"
    assert outside.exists()


def test_a_complete_loop_stays_complete(project: SpecProject) -> None:
    project.running(boxes="- [ ] 1.1 One\n")
    project.fine("done", "1.1", env=INSIDE)
    assert project.stop() is None
    before = project.digest()
    assert "The loop over login is complete, and stays so" in project.say("cancel")
    assert project.digest() == before
    assert project.status()["outcome"] == "complete"
    assert "cannot be read" not in project.fine("status")


def test_another_sessions_loop_is_the_persons_to_cancel(project: SpecProject) -> None:
    project.running()
    told = project.refuse("cancel", env=ELSEWHERE)
    assert "belongs to session" in told
    assert "The person may end it: `ralphloop cancel login` in a terminal." in told
    project.type("ralph-specum:cancel", "", session=OTHER)
    assert "is cancelled" in project.fine("--typed", "specum", "cancel", env=ELSEWHERE)


def test_the_person_cancels_any_loop_in_a_terminal(project: SpecProject) -> None:
    project.running()
    assert "is cancelled" in project.say("cancel", env={})


def test_after_a_cancel_by_name_the_way_back_is_told(project: SpecProject) -> None:
    project.running("login")
    project.say("new", "cart", "x")
    told = project.say("cancel", "login")
    assert "`/ralph-specum:implement` begins again after `/ralph-specum:switch login`" in told
