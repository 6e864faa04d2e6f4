"""The command `record`: the switch, the list, and a recorded stop that becomes a case of the suite."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from e2e.cli_project import OTHER, SESSION, WIDE
from e2e.doctoring import about, examine
from e2e.recorded import RecordedProject
from unit.domain.cases import each


@pytest.fixture
def project(tmp_path: Path) -> RecordedProject:
    return RecordedProject(tmp_path)


@pytest.fixture
def begun(project: RecordedProject) -> RecordedProject:
    project.begin()
    return project


def test_on_says_where_records_go_and_what_they_hold(project: RecordedProject) -> None:
    project.begin()
    told = project.fine("record", "on")
    assert f"{project.home}/.local/state/ralphloop/by-path{project.root}/@ralph/kept" in told
    assert "Records hold text of the conversation" in told
    project.turn()
    assert "no longer recorded" in project.fine("record", "off")
    project.turn()
    assert len(project.records()) == 1
    assert project.fine("record", "off") == "recording was off.\n"


def test_list_tells_time_session_loop_and_answer(project: RecordedProject) -> None:
    project.begin()
    assert "recording is off" in project.fine("record", "list")
    project.fine("record", "on")
    project.turn()
    project.turn(OTHER)
    first, second = project.records()
    assert (first["number"], first["session"], first["answer"], first["task"]) == (
        1,
        SESSION,
        "continue",
        "F1",
    )
    assert (first["loop"], first["left_alone"]) == (project.status()["id"], False)
    assert (second["session"], second["answer"], second["left_alone"]) == (OTHER, "allow", True)
    told = project.fine("record", "list", env=WIDE)
    assert f"recording is on in {project.root}" in told
    assert "continue (F1)" in told
    assert "(left alone)  allow" in told


def test_show_prints_one_record(project: RecordedProject) -> None:
    project.begin()
    project.fine("record", "on")
    project.turn(last_assistant_message="\x1b]0;owned\x07 the reply")
    told = project.fine("record", "show", "1")
    assert "the reply" in told
    assert "\x1b" not in told
    assert "feature_list.json" in told
    data = json.loads(project.fine("record", "show", "1", "--json"))
    assert data["payload"]["session_id"] == SESSION
    assert data["payload"]["cwd"] == "@ROOT@"


def test_clear_removes_every_record(project: RecordedProject) -> None:
    project.begin()
    project.fine("record", "on")
    project.turn()
    project.turn()
    assert json.loads(project.fine("record", "clear", "--json")) == {"removed": 2}
    assert project.records() == []


def left_by_a_killed_stop(project: RecordedProject) -> Path:
    project.begin()
    project.fine("record", "on")
    project.turn()
    (folder,) = project.home.rglob("records")
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    path = folder / f".0002.json.{gone.pid}.tmp"
    path.write_text("half of what was said", encoding="utf-8")
    os.utime(path, (0, 0))
    return path


def test_clear_removes_what_a_killed_stop_left(project: RecordedProject) -> None:
    path = left_by_a_killed_stop(project)
    assert json.loads(project.fine("record", "clear", "--json")) == {"removed": 1}
    assert not path.exists()


def test_doctor_names_and_removes_what_a_killed_stop_left(project: RecordedProject) -> None:
    path = left_by_a_killed_stop(project)
    ((_, told),) = about(examine(project)[1], "left-over")
    assert str(path) in told
    examine(project, "--fix", "--yes")
    assert not path.exists()
    assert len(project.records()) == 1


@each("words", [["on"], ["off"], ["list"], ["show", "1"], ["case", "1"], ["clear"]], ids=" ".join)
def test_the_agent_may_not(begun: RecordedProject, words: list[str]) -> None:
    told = begun.refused("record", *words, env={"CLAUDECODE": "1"})
    assert "is the person's to decide" in told


@each(
    ("words", "told"),
    [
        (["show"], "needs the number of a record"),
        (["list", "1"], "takes no number"),
        (["show", "7"], "there is no record 7 here; `ralphloop record list`"),
        (["on", "--out", "x"], "--out is for `record case`"),
    ],
)
def test_wrong_use_says_what_to_do(begun: RecordedProject, words: list[str], told: str) -> None:
    assert told in begun.refused("record", *words)


def test_a_damaged_record_is_said_and_the_others_are_listed(project: RecordedProject) -> None:
    project.begin()
    project.fine("record", "on")
    project.turn()
    project.turn()
    first, _ = sorted(project.home.rglob("records/*.json"))
    first.write_text("{", encoding="utf-8")
    assert [row["answer"] for row in project.records()] == ["cannot be read", "continue"]
    assert "is no record of a stop" in project.refused("record", "show", "1")
    assert "is no record of a stop" in project.refused("explain", "--record", "1")


def test_in_a_worktree_the_main_checkouts_loop_is_recorded(project: RecordedProject) -> None:
    project.begin()
    worktree = project.root.parent / "worktree"
    worktree.mkdir()
    link = project.root / ".git" / "worktrees" / "w"
    link.mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {link}\n", encoding="utf-8")
    assert str(project.root) in project.fine("record", "on", cwd=worktree)
    project.turn()
    assert len(project.records()) == 1


def test_a_recorded_stop_becomes_a_case_that_passes_and_with_another_expectation_fails(
    project: RecordedProject,
) -> None:
    project.begin()
    project.fine("record", "on")
    project.asked("please begin")
    project.turn()
    project.turn()
    project.turn(OTHER)
    paths = [project.make_case(number) for number in (1, 2, 3)]
    played = project.play()
    assert (played.code, played.data["passed"], played.data["total"]) == (0, 3, 3), played
    text = paths[1].read_text(encoding="utf-8")
    assert SESSION not in text
    assert str(project.root) not in text
    paths[1].write_text(text.replace('answer = "block"', 'answer = "silent"'), encoding="utf-8")
    played = project.play("stop-2.toml")
    assert (played.code, played.data["failed"]) == (1, 1)
    assert "expected silent, saw block" in played.data["cases"][0]["why"]


def test_a_case_is_never_written_over(project: RecordedProject) -> None:
    project.begin()
    project.fine("record", "on")
    project.turn()
    path = project.make_case(1)
    assert "is there already" in project.refused("record", "case", "1", "--out", str(path))
    assert project.fine("record", "case", "1") == path.read_text(encoding="utf-8")


def test_a_spec_becomes_a_case(project: RecordedProject) -> None:
    project.spec()
    project.fine("start", "login", "--session", SESSION)
    project.fine("record", "on")
    project.turn()
    (project.root / "specs/login/tasks.md").write_text("- [x] 1.1 Form\n- [ ] 1.2 Check\n- [ ] 1.3 Errors\n")
    project.turn()
    for number in (1, 2):
        project.make_case(number)
    played = project.play()
    assert (played.code, played.data["passed"]) == (0, 2), played
    assert [project.again(number)[0] for number in (1, 2)] == [0, 0]
