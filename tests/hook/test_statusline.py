"""The status line: what it shows of a loop in each state, and that it touches nothing."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import (
    LAYOUTS,
    OTHER,
    OWN_FILES,
    POINTERS,
    SEQUENTIAL,
    SETTINGS,
    LoopProject,
    feature,
    feature_list,
    loop_files,
    task_id,
)
from hook.lines import interrupt_line
from hook.proven import checked, cli, list_file, listed
from hook.statuslines import COMMAND, DEMO, MOST, bare, by_hand, payload, printed, shown
from hook.test_failures_budget import denied_turn
from ralphloop.domain.finding import IDLE, WEAK, Finding
from ralphloop.domain.model import LoopState
from ralphloop.hook import statusline
from ralphloop.proof import proof_record
from ralphloop.proof.proof_record import ProofRecord


def test_a_running_loop_shows_its_tally_turn_task_and_figures(armed: LoopProject) -> None:
    armed.turn()
    name, most = DEMO[armed.layout], MOST[armed.layout]
    assert shown(armed, real=True) == shown(armed)
    assert shown(armed) == (
        f"ralphloop {name} · 0/3 done · iteration 2/{most} · next {task_id(armed.layout, 1)}"
        " · context 41 % · $1.20"
    )


def test_proven_tasks_are_told_from_others(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "", "true")
    for number in (1, 2):
        found.close(number)
    found.turn()
    assert bare(found)[1:] == ["1/3 proven (+ 1 unverified)", "iteration 2/15", "next F3"]


def test_a_claim_shows_before_the_next_stop(armed: LoopProject) -> None:
    armed.close(1)
    parts = bare(armed)
    assert parts[1] == "1/3 done"
    assert parts[-1] == "next " + task_id(armed.layout, 2)


def test_a_parallel_group_is_named_whole(project: ProjectFactory) -> None:
    files = loop_files("specum")
    files["specs/demo/tasks.md"] = "- [ ] 1.1 [P] One\n- [ ] 1.2 [P] Two\n- [ ] 1.3 Three\n"
    found = project("specum", files)
    found.arm()
    assert bare(found)[-1] == "next 1.1, 1.2"


def test_a_phase_before_execution_is_named(project: ProjectFactory) -> None:
    found = project("specum", loop_files("specum", phase="design", quickMode=True))
    found.arm()
    assert bare(found) == ["ralphloop demo", "phase design", "iteration 1/100"]


def test_it_is_found_from_a_folder_below(features: LoopProject) -> None:
    below = features.root / "src"
    below.mkdir()
    assert "next F1" in shown(features, real=True, start_in=below)
    assert "next F1" in shown(features, real=True, start_in=below, cwd=str(below))


# Nothing is touched


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_is_written(project: ProjectFactory, layout: str) -> None:
    """Not even where a stop would restore, mark or count something."""
    for change in ("none", "claim", "criteria", "damage", "request"):
        found = project(layout)
        found.arm()
        found.turn()
        harm(found, change)
        before = found.digest()
        assert shown(found).startswith("ralphloop "), change
        assert found.digest() == before, change


def harm(found: LoopProject, change: str) -> None:
    place = list_file(found)
    if change == "claim":
        found.close(1)
    elif change == "criteria":
        place.write_text(place.read_text().replace("Do F2", "Skip F2").replace("number 2", "nothing"))
    elif change == "damage":
        found.own.write_text("{")
        os.utime(found.own, (1, 1))
    elif change == "request":
        found.the_loop().ask_for("pause")


def test_a_foreign_session_gets_nothing(features: LoopProject) -> None:
    before = features.digest()
    assert shown(features, session_id=OTHER) == ""
    assert features.digest() == before


def test_another_client_gets_nothing(features: LoopProject) -> None:
    features.extra_env["GEMINI_SESSION_ID"] = "x"
    assert shown(features) == ""


def test_a_loop_that_waits_for_a_session_is_told_and_not_bound(any_project: LoopProject) -> None:
    any_project.arm(session=None)
    before = any_project.digest()
    assert shown(any_project) == f"ralphloop {DEMO[any_project.layout]} waits for a session"
    assert any_project.digest() == before


def test_loop_files_that_nobody_armed_show_nothing_and_are_not_claimed(any_project: LoopProject) -> None:
    """Even where the transcript would make them the session's own at a stop."""
    any_project.write_by_tool(text=any_project.own.read_text())
    before = any_project.digest()
    assert shown(any_project) == ""
    assert any_project.digest() == before


def test_without_a_loop_no_python_is_started(project: ProjectFactory) -> None:
    found = project("features", {"README.md": "x"})
    mark, tools = found.base / "started", found.base / "bin"
    tools.mkdir()
    (tools / "python3").write_text(f"#!/bin/sh\necho \"$@\" > '{mark}'\n")
    (tools / "python3").chmod(0o755)
    found.extra_env["PATH"] = str(tools)
    assert shown(found, real=True) == ""
    assert not mark.exists()
    found.write(loop_files("features"))
    shown(found, real=True)
    assert mark.read_text().split()[-4:] == ["statusline", *LAYOUTS]


@pytest.mark.parametrize("registration", ["settings", "ralphloop", "statusline"])
def test_its_payload_is_never_taken_for_a_stop(features: LoopProject, registration: str) -> None:
    command = COMMAND.replace("rl_as=statusline", f"rl_as={registration}")
    before = features.digest()
    said = printed(features, json.dumps(payload(features)).encode(), command=command, real=True)
    assert bool(said) == (registration == "statusline")
    assert features.digest() == before


def test_a_stop_sent_under_its_name_decides_nothing(features: LoopProject) -> None:
    before = features.digest()
    said = printed(features, json.dumps(features.payload()).encode())
    assert said.startswith("ralphloop demo · ")
    assert features.digest() == before


# A list that did not change is not read again


SETTLED_AFTER_S = 2.2  # a younger list is read anew


def settle(path: Path) -> None:
    while time.time() - max(path.stat().st_mtime, path.stat().st_ctime) < SETTLED_AFTER_S:
        time.sleep(0.1)


def test_a_list_that_did_not_change_since_the_last_stop_is_not_read_again(project: ProjectFactory) -> None:
    many = [feature(f"F{number}") for number in range(1, 2001)]
    found = project("features", {OWN_FILES["features"]: feature_list(*many)})
    found.arm()
    settle(found.own)
    found.turn()
    cursor = json.loads(found.kept("cursor.json").read_text())
    cursor["work"]["next"][0]["id"] = "out of the cursor"
    found.kept("cursor.json").write_text(json.dumps(cursor))
    assert "next out of the cursor" in bare(found)
    found.close(1)
    assert "next F2" in bare(found)


# Loops that rest


def test_a_paused_loop_says_how_it_goes_on(features: LoopProject) -> None:
    features.turn()
    assert cli(features, "pause").returncode == 0
    assert bare(features)[1] == "paused (interrupted): ralphloop resume"
    assert cli(features, "resume").returncode == 0
    assert bare(features)[1] == "0/3 done"


def test_a_pause_that_waits_for_the_next_stop_is_told(features: LoopProject) -> None:
    features.turn()
    features.the_loop().ask_for("pause")
    assert bare(features)[1:3] == ["a pause holds at the next stop", "0/3 done"]


def test_an_interrupted_loop_is_paused(features: LoopProject) -> None:
    features.turn()
    features.add_lines(interrupt_line())
    features.new_prompt()
    features.send("UserPromptSubmit", prompt="what now?")
    assert bare(features)[1] == "paused (interrupted): ralphloop resume"


def test_a_waiting_loop_says_so(features: LoopProject) -> None:
    features.turn(background_tasks=[{"type": "subagent", "status": "running", "description": "x"}])
    assert bare(features)[1:3] == ["waiting", "0/3 done"]


def test_a_loop_that_waits_for_plan_mode_says_so(features: LoopProject) -> None:
    features.turn(permission_mode="plan")
    assert bare(features)[1:3] == ["waits for plan mode to end", "0/3 done"]


def test_a_question_names_its_task(project: ProjectFactory) -> None:
    found = listed(project, feature("F1", needs_human="which key?"))
    found.turn()
    assert bare(found)[1] == "paused (needs_input): ralphloop answer F1 TEXT"


def test_a_denied_tool_points_at_the_permissions(features: LoopProject) -> None:
    for _ in range(3):
        denied_turn(features)
    hint = "allow the tool in /permissions, then send any message"
    assert bare(features)[1] == f"paused (needs_input): {hint}"


HINTS = [
    ("complete", None, ""),
    ("cancelled", None, ""),
    ("limit", None, "ralphloop resume with a higher limit"),
    ("budget", None, "ralphloop resume with a higher limit"),
    ("stalled", None, "ralphloop resume"),
    ("failed", None, "repair the list, ralphloop resume"),
    ("awaiting_approval", None, "goes on after the approval"),
    ("rate_limited", None, "goes on at your next message"),
    ("rate_limited", 500.0, "goes on at your next message"),
    ("rate_limited", 90_000.0, "goes on at your next message after " + time.strftime(
        "%H:%M", time.localtime(90_000.0))),
    ("needs_input", None, "send any message"),
]  # fmt: skip


def test_each_outcome_has_its_hint() -> None:
    for outcome, resume_at, told in HINTS:
        state = LoopState(id="x", state="paused", outcome=outcome, resume_at=resume_at)
        assert statusline.how_to_go_on(state, None, now=1000.0) == told, (outcome, resume_at)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_ended_loop_of_this_session_shows_its_outcome(project: ProjectFactory, layout: str) -> None:
    found = project(layout, loop_files(layout, total=1))
    found.arm()
    found.close(1)
    found.turn()
    assert found.loop()["outcome"] == "complete"
    before = found.digest()
    line = by_hand(found, json.dumps(payload(found, cost=..., context_window=...)))
    assert line == f"ralphloop {DEMO[layout]} · complete · 1/1 done · iteration 1/{MOST[layout]}\n"
    assert by_hand(found, json.dumps(payload(found, session_id=OTHER))) == ""
    assert found.digest() == before
    found.extra_env["CLAUDE_CODE_SESSION_ID"] = found.session
    assert bare(found, real=True)[1] == "complete"
    found.extra_env["CLAUDE_CODE_SESSION_ID"] = OTHER
    assert shown(found, real=True, session_id=OTHER) == ""
    shutil.rmtree(found.folder)  # as a plugin tidies up
    (found.root / POINTERS.get(layout, "none")).unlink(missing_ok=True)
    assert " · complete" in by_hand(found, json.dumps(payload(found)))


def test_a_complete_loop_says_how_many_doubts_there_are(project: ProjectFactory) -> None:
    found = project("features", loop_files("features", total=1))
    found.arm()
    found.close(1)
    found.turn()
    found.extra_env["CLAUDE_CODE_SESSION_ID"] = found.session
    loop = found.the_loop()
    doubt = Finding(IDLE, said="F1 is green without the work", task="F1")
    note = Finding(WEAK, said="F1 has a weak check", task="F1")
    for findings, told in (((note,), "complete"), ((note, doubt, doubt), "complete, 2 doubts")):
        proof_record.save(loop, ProofRecord(findings))
        assert bare(found, real=True)[1] == told
    with open(os.path.join(loop.kept, "proof.json"), "w") as file:
        file.write('{"findings": 3}')
    assert bare(found, real=True)[1] == "complete"


def test_the_newest_of_several_ended_loops_is_shown(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(max_iterations=1)
    found.turn()
    found.arm(max_iterations=1)
    assert cli(found, "cancel").returncode == 0
    assert [loop["outcome"] for loop in map(read_loop, found.runs())] == ["limit", "cancelled"]
    assert "ralphloop demo · cancelled · " in by_hand(found, json.dumps(payload(found)))


def read_loop(folder: Path) -> dict[str, Any]:
    value = json.loads((folder / "loop.json").read_text())
    assert isinstance(value, dict)
    return value


def test_a_loop_that_waits_comes_before_one_that_is_over(project: ProjectFactory) -> None:
    found = project("features")
    found.arm()
    assert cli(found, "cancel").returncode == 0
    found.arm(session=None)
    assert shown(found) == "ralphloop demo waits for a session"


# Checks that nobody approved


@pytest.mark.parametrize("layout", LAYOUTS)
def test_checks_that_wait_are_told_with_what_to_type(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, "test -f one", "test -f two", armed=False)
    found.arm(approve=False)
    before = found.digest()
    told = bare(found)[1]
    assert found.digest() == before
    assert told.startswith("2 checks wait: /ralph")
    answer = found.send("UserPromptSubmit", prompt=told.partition(": ")[2])
    assert "2 checks of" in answer.message
    assert bare(found)[1] == "0/2 proven"


def test_a_loop_that_paused_for_an_approval_says_what_to_type(project: ProjectFactory) -> None:
    found = checked(project, "features", "test -f one", armed=False)
    found.arm(approve=False)
    found.turn()
    assert bare(found)[1].startswith("paused (needs_approval): 1 check waits: /ralphloop:approve ")


def test_the_check_of_an_added_task_waits_once_it_is_claimed(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "")
    added = json.loads(found.own.read_text())["features"]
    added.append(feature("F3", passes=True, verify="test -d ."))
    found.own.write_text(feature_list(*added))
    found.turn()
    assert bare(found)[1].startswith("1 check waits: /ralphloop:approve ")


# Bad files


@pytest.mark.parametrize(("damage", "told"), [("{", "cannot be read"), (None, "is gone")])
def test_a_list_without_tasks_to_show_is_told(features: LoopProject, damage: str | None, told: str) -> None:
    features.turn()
    features.own.unlink()
    if damage is not None:
        features.own.write_text(damage)
    assert bare(features) == ["ralphloop demo", f"the task list {told}", "iteration 2/15"]


def test_a_lost_state_is_told(features: LoopProject) -> None:
    kept = features.kept("loop.json")
    kept.unlink()
    (features.run_folder / "loop.json").unlink()
    assert bare(features) == ["ralphloop demo", "its loop.json is lost"]


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_spec_whose_plugin_is_off_shows_nothing(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.arm()
    assert shown(found) != ""
    found.write({SETTINGS[layout]: "---\nenabled: false\n---\n"})
    assert shown(found) == ""
    (found.root / SETTINGS[layout]).unlink()
    (found.root / POINTERS[layout]).write_text("other\n")
    assert shown(found) != "", "its loop goes on"
    found.write({SETTINGS[layout]: "---\nenabled: false\n---\n"})
    assert shown(found) == ""
