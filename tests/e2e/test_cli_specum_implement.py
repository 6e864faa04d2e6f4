"""`ralphloop specum implement`: the state enters execution, and a loop begins, binds or goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.cli_project import OTHER, SESSION
from e2e.spec_project import BOXES, ELSEWHERE, INSIDE, SpecProject, client
from fakes import warm
from hook.harness import OWNER, LoopProject

CHECKED = BOXES.replace("1.2 Check\n", "1.2 Check\n  - **Verify**: `test -f check`\n")


@pytest.fixture
def project(tmp_path: Path) -> SpecProject:
    return SpecProject(tmp_path)


def test_implement_begins_a_loop_and_gives_the_first_task(project: SpecProject) -> None:
    project.planned()
    told = project.say("implement")
    state = project.state("login")
    assert (state["phase"], state["awaitingApproval"], state["quickMode"]) == ("execution", False, False)
    assert (state["totalTasks"], state["taskIndex"]) == (3, 1)
    assert "3 tasks, 2 open" in told
    assert "at most 100 iterations" in told
    assert "5 attempts at a task" in told
    assert "Continue spec: login (Task 2/3, Iter 1)" in told
    assert "done 1.2`" in told
    loop = project.status()
    assert (loop["state"], loop["owner"]) == ("running", SESSION)
    assert [task["state"] for task in loop["tasks"]] == ["given", "open", "open"]
    assert "Continue spec: login (Task 2/3, Iter 2)" in project.stop_of_plugin()


def test_the_registered_hook_goes_on_after_implement_and_is_silent_after_cancel(tmp_path: Path) -> None:
    project = LoopProject(tmp_path, "specum", {})
    project.is_registered = True

    def run(*words: str) -> None:
        done = warm.run(["specum", *words], cwd=project.root, env={**project.env(), **client(OWNER)})
        assert done.code == 0, done

    run("new", "demo", "Let people in")
    assert project.turn().silent
    project.write({"specs/demo/tasks.md": BOXES})
    run("implement")
    assert "Task 2/3" in project.turn().reason
    run("cancel")
    assert project.turn().silent
    assert project.turn().silent


def test_limits_are_pinned_and_shown_in_the_state(project: SpecProject) -> None:
    project.planned()
    told = project.say(
        "implement", "--max-task-iterations", "2", "--max-global-iterations", "7", "--recovery-mode"
    )
    assert "at most 7 iterations" in told
    assert "2 attempts at a task" in told
    assert "Recovery mode is on" in told
    state = project.state("login")
    assert (state["maxTaskIterations"], state["maxGlobalIterations"], state["recoveryMode"]) == (2, 7, True)
    assert project.status()["limits"]["iterations"]["most"] == 7


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_limit_that_is_no_count_is_wrong_usage(project: SpecProject, value: str) -> None:
    project.planned()
    before = project.digest()
    done = project.run("specum", "implement", f"--max-task-iterations={value}", env=INSIDE)
    assert done.code == 2
    assert "is not a whole number above zero" in done.err
    assert project.digest() == before


def test_unapproved_checks_are_shown_with_the_line_that_allows_them(project: SpecProject) -> None:
    project.planned(boxes=CHECKED)
    told = project.say("implement")
    assert "$ test -f check" in told
    digest = project.status()["digest"]
    assert digest
    assert f"`/ralph-specum:approve {digest}`" in told
    project.fine("approve", "--yes")
    assert "Not approved" not in project.say("implement")


@pytest.mark.parametrize("boxes", ["", "# Tasks\n\nnothing yet\n", "```\n- [ ] 1.1 quoted\n```\n"])
def test_a_list_without_tasks_is_refused(project: SpecProject, boxes: str) -> None:
    project.planned(boxes=boxes)
    assert "specs/login/tasks.md has no task" in project.refuse("implement")


def test_a_spec_without_tasks_is_sent_to_the_phase_that_writes_them(project: SpecProject) -> None:
    project.say("new", "login", "x")
    told = project.refuse("implement")
    assert "specs/login/tasks.md is missing; `/ralph-specum:tasks` writes it" in told


def test_where_all_is_done_nothing_begins(project: SpecProject) -> None:
    project.planned(boxes=BOXES.replace("[ ]", "[x]"))
    before = project.digest()
    assert "Every task of login is done" in project.say("implement")
    assert project.digest() == before


def test_unknown_fields_of_the_state_stay(project: SpecProject) -> None:
    project.planned()
    file = project.state_file("login")
    file.write_text('{"phase": "tasks", "mine": {"a": [1]}, "globalIteration": 90}')
    project.say("implement")
    state = project.state("login")
    assert state["mine"] == {"a": [1]}
    assert state["globalIteration"] == 1
    assert file.read_text().startswith('{"phase": "execution", "mine": {"a": [1]}, ')


def test_a_loop_under_way_is_said_and_goes_on(project: SpecProject) -> None:
    project.running()
    told = project.say("implement")
    assert "is under way already" in told
    assert "Continue spec: login (Task 2/3" in told
    assert len(json.loads(project.fine("status", "--json"))["loops"]) == 1


def test_a_paused_loop_goes_on(project: SpecProject) -> None:
    project.running()
    project.fine("pause")
    assert project.stop() is None
    assert "Continue spec: login" in project.say("implement")
    assert project.status()["state"] == "running"
    assert "Continue spec: login" in project.stop_of_plugin()


def test_a_loop_that_ended_and_can_go_on_does(project: SpecProject) -> None:
    project.planned()
    project.say("implement", "--max-global-iterations", "2")
    assert project.stop() is not None
    assert "ERROR" in project.stop_of_plugin()  # the recovery text of the limit
    assert project.stop_of_plugin() == ""
    assert project.status()["outcome"] == "limit"
    told = project.refuse("implement")
    assert "`ralphloop resume login --max-iterations N`" in told
    assert "is the person's to decide" in project.refuse("implement", "--max-global-iterations", "9")
    assert "Continue spec: login" in project.say(
        "implement", "--max-global-iterations", "9", env={"CLAUDE_CODE_SESSION_ID": SESSION}
    )
    assert project.state("login")["maxGlobalIterations"] == 9
    assert project.status()["limits"]["iterations"]["most"] == 9


def test_a_lower_limit_holds_for_a_loop_under_way(project: SpecProject) -> None:
    project.running()
    assert "at most 4 iterations" in project.say("implement", "--max-global-iterations", "4")
    assert project.status()["limits"]["iterations"]["most"] == 4


def test_another_sessions_loop_is_left_alone(project: SpecProject) -> None:
    project.running()
    told = project.refuse("implement", env=ELSEWHERE)
    assert f"belongs to session {SESSION}" in told
    assert "`ralphloop resume login --adopt`" in told
    project.fine("resume", "login", "--adopt", env=ELSEWHERE)
    assert "Continue spec: login" in project.say("implement", env=ELSEWHERE)
    assert project.status()["owner"] == OTHER


def test_a_session_with_a_loop_cannot_begin_another(project: SpecProject) -> None:
    project.running("login")
    project.planned("cart")
    assert "this session owns a loop already" in project.refuse("implement")


def test_outside_a_client_the_loop_waits_for_the_next_session(project: SpecProject) -> None:
    project.planned()
    told = project.say("implement", env={})
    assert "It binds to the next session started here." in told
    assert project.status()["state"] == "armed"
    assert "is under way already" in project.say("implement", env={})
    project.say("implement")
    loop = project.status()
    assert (loop["state"], loop["owner"]) == ("running", SESSION)


def test_a_loop_that_waits_is_not_for_a_session_with_another(project: SpecProject) -> None:
    project.planned("login")
    project.say("implement", env={})
    project.planned("cart")
    project.say("implement")
    project.say("switch", "login")
    assert "this session has a loop already" in project.refuse("implement")


def test_a_cancelled_spec_begins_anew_with_a_new_state(project: SpecProject) -> None:
    project.running()
    project.say("cancel")
    project.say("implement")
    state = project.state("login")
    assert (state["phase"], state["name"], state["taskIndex"], state["totalTasks"]) == (
        "execution",
        "login",
        1,
        3,
    )
    assert "Continue spec: login" in project.stop_of_plugin()


def test_begun_anew_with_weaker_checks_it_needs_the_person(project: SpecProject) -> None:
    project.running(boxes=CHECKED)
    project.say("cancel")
    project.doc("login", "tasks.md", text=BOXES)
    told = project.refuse("implement")
    assert "a loop over login with other criteria than before is the person's to decide" in told
    assert not project.state_file("login").exists()
    project.say("implement", env={})


def test_quick_mode_enters_execution_with_its_criteria_pinned(project: SpecProject) -> None:
    project.say("new", "login", "x", "--quick")
    project.doc("login", "tasks.md", text=CHECKED)
    told = project.say("implement")
    assert "`/ralph-specum:approve " in told
    assert project.state("login")["quickMode"] is False
    project.doc("login", "tasks.md", text=CHECKED.replace("test -f check", "true"))
    assert "Continue spec: login (Task 2/3" in project.stop_of_plugin()
    assert project.path("login", "tasks.md").read_text() == CHECKED


def test_a_disabled_plugin_begins_no_loop(project: SpecProject) -> None:
    project.planned()
    project.write(".claude/ralph-specum.local.md", "---\nenabled: false\n---\n")
    state = project.state_file("login").read_bytes()
    done = project.run("specum", "implement", env=INSIDE)
    assert (done.code, done.out) == (1, "")
    assert "set `enabled: true`" in done.err
    assert project.state_file("login").read_bytes() == state
    assert json.loads(project.fine("status", "--json"))["loops"] == []


def test_hooks_that_are_off_begin_no_loop(project: SpecProject) -> None:
    project.planned()
    project.write(".claude/settings.json", '{"disableAllHooks": true}')
    assert "remove `disableAllHooks`" in project.refuse("implement")
