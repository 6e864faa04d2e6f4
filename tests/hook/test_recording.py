"""Recording in the hook: what one stop leaves behind where the person switched that on."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OTHER, OWNER, LoopProject, stop_here
from hook.lines import text_line, tool_line, user_line
from ralphloop.engine.find import Call
from ralphloop.hook import recording
from ralphloop.hook.main import stop
from ralphloop.hook.stop_files import StopFiles
from ralphloop.store import records

KEY = "sk-ant-api03-" + "Zq7" * 12
PASSWORD = 'hunter2 "quoted" word'


def switch_on(project: LoopProject) -> None:
    records.switch(project.shelf(), on=True)


def recorded(project: LoopProject) -> list[dict[str, Any]]:
    return [records.load(one) for one in records.kept(project.shelf())]


def the_record(project: LoopProject) -> dict[str, Any]:
    (found,) = recorded(project)
    return found


def home_file(found: dict[str, Any], name: str) -> str:
    (text,) = [text for path, text in found["home"].items() if path.endswith("/" + name)]
    assert isinstance(text, str)
    return text


def test_nothing_is_recorded_unless_it_is_switched_on(features: LoopProject) -> None:
    assert features.turn().blocks
    assert recorded(features) == []
    switch_on(features)
    assert features.turn().blocks
    assert len(recorded(features)) == 1
    records.switch(features.shelf(), on=False)
    assert features.turn().blocks
    assert len(recorded(features)) == 1


def test_a_record_has_the_state_before_the_decision_and_the_answer(armed: LoopProject) -> None:
    armed.turn()
    before = {path: (armed.root / path).read_text() for path in (str(armed.own.relative_to(armed.root)),)}
    loop_before = armed.kept("loop.json").read_text()
    switch_on(armed)
    answer = armed.turn("The work goes well.")
    found = the_record(armed)
    assert found["loop"] == armed.loop()["id"]
    assert json.loads(found["answer"]["stdout"]) == json.loads(answer.stdout)
    assert (found["answer"]["stderr"], found["answer"]["broken"], found["rule"]) == ("", False, "go_on")
    for path, text in before.items():
        assert found["files"][path] == text
    kept = json.loads(home_file(found, f"kept/{found['loop']}/loop.json"))
    assert kept["iteration"] == json.loads(loop_before)["iteration"] == armed.loop()["iteration"] - 1
    assert found["payload"]["last_assistant_message"] == "The work goes well."
    assert "The work goes well." in found["transcript"]["new"]
    assert found["duration_ms"] > 0


def test_the_project_and_the_home_have_marks_instead_of_paths(features: LoopProject) -> None:
    switch_on(features)
    features.turn(
        f"See {features.root}/src/a.py, {features.root}. Not {features.root}-old/b, but {features.home}/x."
    )
    text = json.dumps(the_record(features))
    assert str(features.home) not in text
    assert str(features.root) not in text.replace(f"{features.root}-old", "")
    found = the_record(features)
    assert found["payload"]["cwd"] == "@ROOT@"
    assert found["payload"]["transcript_path"] == f"@LOGS@/{features.session}.jsonl"
    said = f"See @ROOT@/src/a.py, @ROOT@. Not {features.root}-old/b, but @HOME@/x."
    assert found["payload"]["last_assistant_message"] == said
    assert all(path.startswith((".local/state/ralphloop/by-path@ROOT@/",)) for path in found["home"])


def test_files_and_folders_of_records_are_the_persons_alone(features: LoopProject) -> None:
    switch_on(features)
    features.turn()
    (one,) = records.kept(features.shelf())
    assert stat.S_IMODE(os.stat(one.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(one.path)).st_mode) == 0o700


def test_no_secret_reaches_a_record(features: LoopProject) -> None:
    features.extra_env = {"SHOP_PASSWORD": PASSWORD, "DEPLOY_TOKEN": "plainlookingvalue"}
    data = json.loads(features.own.read_text())
    data["features"][0]["description"] += f" with {KEY}"
    features.own.write_text(json.dumps(data))
    (features.folder / "progress.txt").write_text("Status: IN_PROGRESS\ntoken plainlookingvalue\n")
    switch_on(features)
    secret_call = {"command": f"curl -u me:'{PASSWORD}' -H 'Authorization: Bearer {'ab12' * 8}'"}
    sent = {"command": f"curl -d '{json.dumps([PASSWORD])}'"}  # JSON in the transcript's JSON
    features.add_lines(user_line(f"my key is {KEY}"), tool_line("Bash", secret_call), tool_line("Bash", sent))
    features.stop(last_assistant_message=f"I used {PASSWORD} and plainlookingvalue.")
    (one,) = records.kept(features.shelf())
    text = Path(one.path).read_text()
    for secret in (KEY, "hunter2", "plainlookingvalue", "ab12ab12", "quoted"):
        assert secret not in text
    found = records.load(one)
    assert found["payload"]["last_assistant_message"] == "I used *** and ***."
    assert "my key is ***" in found["transcript"]["new"]
    assert set(found["env"]) == {"CLAUDE_PROJECT_DIR"}


def test_only_the_tail_of_a_long_transcript_is_kept_from_a_lines_start(features: LoopProject) -> None:
    switch_on(features)
    features.add_lines(*(text_line(f"line {number} " + "x" * 1000) for number in range(600)))
    features.turn("the very last words")
    kept = the_record(features)["transcript"]
    lines = (kept["before"] + kept["new"]).splitlines()
    assert 0 < len(kept["before"]) + len(kept["new"]) <= recording.MOST
    assert kept["skipped"] > 0
    assert all(json.loads(line)["type"] in ("assistant", "user") for line in lines)
    assert "the very last words" in lines[-1]


def test_what_the_loop_had_read_before_is_told_apart(features: LoopProject) -> None:
    features.turn("the first turn")
    switch_on(features)
    features.turn("the second turn")
    kept = the_record(features)["transcript"]
    assert "the first turn" in kept["before"]
    assert "the first turn" not in kept["new"]
    assert "the second turn" in kept["new"]


def test_a_file_that_is_too_large_is_named_and_left_out(features: LoopProject) -> None:
    switch_on(features)
    (features.folder / "progress.txt").write_text("Status: IN_PROGRESS\n" + "x" * (3 << 20))
    assert features.turn().blocks
    found = the_record(features)
    (path,) = found["left_out"]
    assert path.endswith("progress.txt")
    assert path not in found["files"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_stop_that_claims_a_list_is_recorded_as_it_was_before(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    switch_on(found)
    found.write_by_tool(text='{"passes": true}')
    assert found.turn().blocks
    record = the_record(found)
    assert record["loop"] == found.loop()["id"]
    assert not [path for path in record["home"] if "/owned/" in path or path.endswith("loop.json")]
    assert "file_path" in record["transcript"]["new"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_sessions_stop_is_recorded_without_what_it_said(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.arm()
    switch_on(found)
    lines = [
        user_line("a private question"),
        tool_line("Bash", {"command": "echo a private command"}),
        tool_line("Write", {"file_path": str(found.own), "content": "a private text"}),
        text_line("a private answer"),
    ]
    found.add_lines(*lines, path=found.transcript_of(OTHER))
    answer = found.stop(session_id=OTHER, last_assistant_message="a private answer")
    assert answer.silent
    record = the_record(found)
    assert (record["left_alone"], record["loop"], record["session"]) == (True, "", OTHER)
    assert "private" not in json.dumps(record)
    assert found.own.name in record["transcript"]["new"]
    assert [path for path in record["home"] if "/owned/" in path]
    (one,) = records.kept(found.shelf())
    assert one.loop == records.NOBODY


def test_a_stop_in_a_project_without_any_list_leaves_no_record(project: ProjectFactory) -> None:
    found = project("features", {"README.md": "nothing here\n"})
    switch_on(found)
    assert found.turn().silent
    assert recorded(found) == []


def test_a_subagents_stop_is_not_recorded(features: LoopProject) -> None:
    switch_on(features)
    features.stop(agent_id="a1")
    assert recorded(features) == []


def test_a_broken_place_for_records_changes_no_answer(features: LoopProject) -> None:
    switch_on(features)
    (Path(features.shelf().kept(features.loop()["id"])) / "records").write_text("in the way")
    assert features.turn().blocks
    assert recorded(features) == []
    assert "stop not recorded" in (features.run_folder / "hook.log").read_text()


def test_a_bug_of_ours_is_recorded_without_an_answer(
    features: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_on(features)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ralphloop.engine.stop.decide", broken)
    with pytest.raises(ZeroDivisionError):
        stop_here(features)
    assert the_record(features)["answer"] == {"stdout": "", "stderr": "", "broken": True}


def test_a_bug_in_recording_changes_no_answer(features: LoopProject, monkeypatch: pytest.MonkeyPatch) -> None:
    switch_on(features)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("in recording")

    monkeypatch.setattr("ralphloop.hook.stop_files.StopFiles.public", broken)
    assert '"decision": "block"' in stop_here(features)
    assert recorded(features) == []
    assert (
        "stop not recorded: ZeroDivisionError: in recording" in (features.run_folder / "hook.log").read_text()
    )


def test_what_could_not_be_read_before_the_decision_is_not_read_after_it(
    features: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_on(features)
    real = StopFiles.add_loop
    errors = [OSError("for a moment")]

    def broken_once(*words: Any) -> None:
        if errors:
            raise errors.pop()
        real(*words)

    monkeypatch.setattr(StopFiles, "add_loop", broken_once)
    assert '"decision": "block"' in stop_here(features)
    assert recorded(features) == []
    assert "stop not recorded: OSError: for a moment" in (features.run_folder / "hook.log").read_text()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_stop_that_was_left_alone_and_not_recorded_is_told_in_the_log_of_a_loop_here(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    found.arm()
    switch_on(found)
    nobody = Path(found.shelf().kept(records.NOBODY))
    nobody.mkdir(parents=True)
    (nobody / "records").write_text("in the way")
    assert found.stop(session_id=OTHER).silent
    assert recorded(found) == []
    assert (
        "another session's stop not recorded: FileExistsError" in (found.run_folder / "hook.log").read_text()
    )


def test_loops_beyond_the_bound_are_named_and_left_out(
    features: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_on(features)
    monkeypatch.setattr("ralphloop.hook.stop_files.LOOPS_MOST", 0)
    assert stop_here(features, session_id=OTHER) == ""
    found = the_record(features)
    (path,) = found["left_out"]
    assert path.endswith(f"@ralph/owned/{OWNER}.json")
    assert found["left_out"][path] == "one of more than 0 loops"
    assert not [path for path in found["home"] if "/owned/" in path]


def test_a_field_without_end_is_left_out_of_the_record(features: LoopProject) -> None:
    switch_on(features)
    assert features.stop(last_assistant_message="x" * (1 << 20)).blocks
    found = the_record(features)
    assert "last_assistant_message" not in found["payload"]
    assert found["left_out"] == {"payload/last_assistant_message": "too long"}


def test_two_registrations_leave_a_record_each(features: LoopProject) -> None:
    switch_on(features)
    assert features.turn().blocks
    assert features.stop(registration="twin").silent
    first, second = recorded(features)
    assert (first["registration"], second["registration"]) == ("ralphloop", "twin")
    assert second["answer"]["stdout"] == ""


@pytest.mark.parametrize("session", [OWNER, OTHER], ids=["owner", "other"])
def test_a_registration_of_another_layout_records_nothing(features: LoopProject, session: str) -> None:
    """Three plugins that are installed together would fill the ring three times as fast."""
    switch_on(features)
    payload = features.payload(session_id=session)
    for layouts in (("specum",), ("features",)):
        stop(payload, Call(registration="r", layouts=layouts, env=features.env(), cwd=str(features.root)))
    assert the_record(features)["layouts"] == ["features"]


def test_stops_at_once_leave_one_record_each(features: LoopProject) -> None:
    switch_on(features)
    started = []
    for number in range(3):
        data = json.dumps(features.payload(last_assistant_message=f"turn {number}")).encode()
        started.append(features.start(data))
    for process in started:
        features.finish(process)
    found = records.kept(features.shelf())
    assert [one.number for one in found] == [1, 2, 3]
    # each was read under the lock, so each has the state that its decision began with
    states = [json.loads(home_file(records.load(one), "loop.json")) for one in found]
    assert len({state["iteration"] for state in states}) == len(states)
