"""`explain --record`: a recorded stop decided again elsewhere, and compared with what was answered."""

from __future__ import annotations

import json
import re
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import OTHER, SESSION
from e2e.recorded import RecordedProject

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> RecordedProject:
    return RecordedProject(tmp_path)


@pytest.fixture
def looped(project: RecordedProject) -> RecordedProject:
    project.begin()
    project.fine("record", "on")
    return project


def record_file(project: RecordedProject, number: int) -> Path:
    (path,) = project.home.rglob(f"records/{number:04}.json")
    return path


def decider(told: dict[str, Any]) -> str:
    return str(told["rules"][-1]["rule"])


def test_the_same_answer_comes_out_long_after(looped: RecordedProject) -> None:
    looped.turn()
    looped.turn()
    looped.fine("done", "F1")
    looped.fine("cancel")
    code, told = looped.again(2)
    assert (code, told["record"]["same"], told["decision"], told["task"]) == (0, True, "continue", "F1")
    assert decider(told) == told["record"]["rule"] == "go_on"
    assert str(tempfile.gettempdir()) not in json.dumps(told["rules"])
    assert "the answer is the same." in looped.fine("explain", "--record", "2")


def test_another_answer_is_said_with_what_differs(looped: RecordedProject) -> None:
    looped.turn()
    path = record_file(looped, 1)
    data = json.loads(path.read_text())
    data["answer"]["stdout"] = ""
    path.write_text(json.dumps(data))
    done = looped.run("explain", "--record", "1")
    assert done.code == 1
    assert "the answer is different: blocks, reason, message" in done.out
    code, told = looped.again(1)
    assert (code, told["record"]["differs"]) == (1, ["blocks", "reason", "message"])


def test_a_record_can_come_from_a_file_of_elsewhere(looped: RecordedProject, tmp_path: Path) -> None:
    looped.turn()
    sent = tmp_path / "sent.json"
    sent.write_bytes(record_file(looped, 1).read_bytes())
    (tmp_path / "else").mkdir()
    other = RecordedProject(tmp_path / "else")
    assert other.again(str(sent))[0] == 0


def test_a_stall_is_seen_again(looped: RecordedProject) -> None:
    while looped.turns < 10 and not (looped.turns and looped.records()[-1]["outcome"]):
        looped.turn(works=False)
    last = looped.records()[-1]
    assert (last["outcome"], last["rule"]) == ("stalled", "limits")
    code, told = looped.again(last["number"])
    assert code == 0, told
    assert "stalled" in told["systemMessage"]


def test_a_list_that_was_damaged_is_restored_there_and_not_here(looped: RecordedProject) -> None:
    looped.turn()
    path = looped.root / ".ralph/loops/shop/feature_list.json"
    path.write_text("{", encoding="utf-8")
    answer = looped.turn()
    assert answer is not None
    assert "the last good copy is back" in answer["systemMessage"]
    code, told = looped.again(2)
    assert code == 0, told
    assert "the last good copy is back" in told["systemMessage"]


def test_a_clock_that_has_run_on_trips_no_limit(looped: RecordedProject) -> None:
    looped.turn()
    looped.turn()
    path = record_file(looped, 2)
    path.write_text(earlier(path.read_text(), days=30))
    first, second = looped.records()
    assert second["at"] < first["at"]
    code, told = looped.again(2)
    assert (code, told["decision"]) == (0, "continue"), told


def earlier(text: str, *, days: int) -> str:
    """The record as it would be if it were that much older."""
    back = timedelta(days=days)

    def moment(found: re.Match[str]) -> str:
        then = datetime.fromisoformat(found[0].replace("Z", "+00:00")) - back
        return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    older = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", moment, text)
    seconds = back.total_seconds()
    return re.sub(r'(_at\\": )(\d{10}\.\d+)', lambda found: f"{found[1]}{float(found[2]) - seconds}", older)


@pytest.mark.parametrize("green", [True, False], ids=["green", "red"])
def test_checks_are_not_run_again_but_what_they_came_to_counts(project: RecordedProject, green: bool) -> None:
    ran = project.folder / "ran"
    task = {
        "id": "F1",
        "description": "one",
        "passes": False,
        "verify": f"echo once >> {ran}; {str(green).lower()}",
    }
    listed = {"features": [task, {"id": "F2", "description": "two", "passes": False}]}
    path = project.write(".ralph/loops/shop/feature_list.json", json.dumps(listed))
    project.fine("start", "shop", "--session", SESSION, "--yes")
    project.fine("record", "on")
    project.turn()
    path.write_text(json.dumps(listed).replace('"passes": false', '"passes": true', 1), encoding="utf-8")
    answer = project.turn()
    assert answer is not None
    assert ("The claim of task F1 is refused" in answer["reason"]) is not green
    assert ran.read_text() == "once\n"
    code, told = project.again(2)
    assert (code, told["task"]) == (0, "F2" if green else "F1"), told
    assert ran.read_text() == "once\n"


def test_checks_that_did_not_run_then_are_told_and_not_run(project: RecordedProject) -> None:
    ran = project.folder / "ran"
    task = {"id": "F1", "description": "one", "passes": False, "verify": f"echo once >> {ran}"}
    path = project.write(".ralph/loops/shop/feature_list.json", json.dumps({"features": [task]}))
    project.fine("start", "shop", "--session", SESSION, "--yes")
    project.fine("record", "on")
    path.write_text(path.read_text().replace('"passes": false', '"passes": true'), encoding="utf-8")
    project.turn()
    found = record_file(project, 1)
    found.write_text(json.dumps({**json.loads(found.read_text()), "checks": []}))
    ran.unlink()
    code, told = project.again(1)
    assert (code, told["decision"]) == (1, "after the checks")
    assert "checks" in told["record"]["differs"]
    assert not ran.exists()


def test_a_foreign_session_and_a_claim_are_decided_again(project: RecordedProject) -> None:
    folder = project.new()
    project.fine("record", "on")
    project.asked("what is this folder about?", OTHER)
    assert project.turn(OTHER) is None
    project.asked((folder / "RALPH_PROMPT.md").read_text(encoding="utf-8"))
    assert project.turn() is not None
    for number, rule in ((1, "ownership"), (2, "go_on")):
        code, told = project.again(number)
        assert (code, decider(told)) == (0, rule), told
        project.make_case(number)
    played = project.play()
    assert (played.code, played.data["passed"]) == (0, 2), played


def test_a_session_in_a_folder_below_a_link_with_its_state_elsewhere(looped: RecordedProject) -> None:
    state = looped.folder / "state"
    (looped.home / ".local/state").rename(state)
    (looped.root / "deep").mkdir()
    link = looped.folder / "link"
    link.symlink_to(looped.root)
    environment = looped.env({"XDG_STATE_HOME": str(state)})
    looped.env = lambda extra=None: {**environment, **(extra or {})}  # type: ignore[method-assign]
    answer = looped.turn(cwd=str(link / "deep"))
    assert answer is not None
    (path,) = state.rglob("records/0001.json")
    data = json.loads(path.read_text())
    assert data["payload"]["cwd"] == "@ROOT@/deep"
    assert str(looped.folder) not in json.dumps({**data, "command": "", "answer": ""})
    assert looped.again(1)[0] == 0
    looped.make_case(1)
    played = looped.play()
    assert (played.code, played.data["passed"]) == (0, 1), played


def test_a_second_registration_is_silent_again(looped: RecordedProject) -> None:
    looped.turn()
    path = record_file(looped, 1)
    data = json.loads(path.read_text())
    for place in ("files", "home"):
        texts = {
            name: text.replace('"served": []', '"served": ["p1", "other"]')
            for name, text in data[place].items()
        }
        data[place] = texts
    data["answer"]["stdout"] = ""
    path.write_text(json.dumps(data))
    code, told = looped.again(1)
    assert (code, decider(told)) == (0, "served")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no record of a stop"),
        ("{}", "is no record that this version of ralphloop can read"),
        ('{"format": 1}', "is damaged: version, at,"),
    ],
)
def test_what_is_no_record_is_refused(looped: RecordedProject, text: str, told: str) -> None:
    looped.write("some.json", text)
    assert told in looped.refused("explain", "--record", "some.json")


def test_a_path_in_a_record_leads_nowhere_else(looped: RecordedProject) -> None:
    looped.turn()
    path = record_file(looped, 1)
    data = json.loads(path.read_text())
    data["files"]["../../escaped.txt"] = "out"
    path.write_text(json.dumps(data))
    assert "lies outside the project and the home" in looped.refused("explain", "--record", "1")


def led_out(data: dict[str, Any], how: str, victim: Path) -> None:
    """Turn a record into one whose decision would be about the victim's files."""
    if how == "variable":
        data["env"]["RALPH_LOOP_DIR"] = str(victim)
    elif how == "folder":
        data["payload"]["cwd"] = str(victim)
    elif how == "record":
        armed = {path: text for path, text in data["home"].items() if "/owned/" in path}
        inside = "@ROOT@/.ralph/loops/shop"
        data["home"].update({path: text.replace(inside, str(victim)) for path, text in armed.items()})
    else:
        data["files"][".git"] = f"gitdir: {victim}/.git/worktrees/w\n"


@pytest.mark.parametrize("how", ["variable", "folder", "record", "worktree"])
def test_a_hostile_record_reaches_nothing_outside(looped: RecordedProject, how: str) -> None:
    looped.turn()
    victim = looped.folder / "victim"
    victim.mkdir()
    listed = victim / "feature_list.json"
    listed.write_text('{"features": [{"id": "F1", "description": "weaker", "passes": true}]}')
    path = record_file(looped, 1)
    data = json.loads(path.read_text())
    led_out(data, how, victim)
    path.write_text(json.dumps(data))
    assert f"leads out of its project, to {victim}" in looped.refused("explain", "--record", "1")
    assert [found.name for found in victim.iterdir()] == ["feature_list.json"]
    assert "weaker" in listed.read_text()


def test_a_file_and_a_record_are_one_too_many(looped: RecordedProject) -> None:
    assert "not both" in looped.refused("explain", "stop.json", "--record", "1")
