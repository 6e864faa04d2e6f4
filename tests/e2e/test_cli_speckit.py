"""`ralphloop speckit`: a numbered feature from its constitution to the loop over its tasks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from e2e.cli_project import SESSION
from e2e.spec_project import ELSEWHERE, SpecProject
from ralphloop.cli import speckit
from unit.domain.cases import each

LOGIN = "001-login"
BOXES = (
    "## Phase 1\n\n- [x] T001 Set up\n- [ ] T002 [P] [US1] Form\n- [ ] T003 [P] [US1] Check\n- [ ] T004 End\n"
)


@pytest.fixture
def project(tmp_path: Path) -> SpecProject:
    return SpecProject(tmp_path, "speckit")


def planned(project: SpecProject, boxes: str = BOXES) -> Path:
    project.say("specify", "login")
    project.doc(LOGIN, "spec.md", "plan.md")
    project.doc(LOGIN, "tasks.md", text=boxes)
    return project.path(LOGIN)


def test_specify_makes_a_numbered_feature(project: SpecProject) -> None:
    told = project.prompt("specify", 'Let "people" in\n$(now)')
    name = "001-let-people-in-now"
    assert project.state(name) == {
        "featureId": "001", "name": "let-people-in-now", "basePath": f".specify/specs/{name}",
        "phase": "specify", "taskIndex": 0, "totalTasks": 0, "taskIteration": 1, "maxTaskIterations": 5,
        "globalIteration": 1, "maxGlobalIterations": 100, "awaitingApproval": True, "schemaVersion": 1,
        "recoveryMode": False, "fixTaskMap": {},
    }  # fmt: skip
    assert project.pointer == name + "\n"
    assert '\n\nLet "people" in\n$(now)\n\n' in project.path(name, ".progress.md").read_text()
    assert not project.path(name, "spec.md").exists()
    assert f"Write: .specify/specs/{name}/spec.md" in told
    assert "`/ralph-speckit:plan`" in told
    assert "`/ralph-speckit:constitution` writes" in told


def test_numbers_go_up(project: SpecProject) -> None:
    project.say("specify", "one-thing", "first")
    project.say("specify", "one-thing", "again")
    project.write(".specify/specs/041-old/spec.md", "old")
    project.say("specify", "Another thing")
    names = sorted(path.name for path in (project.root / ".specify/specs").iterdir())
    assert names == ["001-one-thing", "002-one-thing", "041-old", "042-another-thing"]


def test_after_the_last_number_nothing_is_made(project: SpecProject) -> None:
    project.write(".specify/specs/999-last/spec.md", "last")
    done = project.run("speckit", "specify", "more")
    assert (done.code, done.out) == (1, "")
    assert "the last number; move old ones away" in done.err
    assert [path.name for path in (project.root / ".specify/specs").iterdir()] == ["999-last"]


def test_features_made_at_once_get_numbers_of_their_own(project: SpecProject) -> None:
    running = [
        subprocess.Popen(
            project.argv("speckit", "specify", f"thing-{letter}", "x"),
            env=project.env(), cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for letter in "abcd"
    ]  # fmt: skip
    for process in running:
        process.communicate(timeout=60)
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    names = sorted(path.name for path in (project.root / ".specify/specs").iterdir())
    assert [name[:3] for name in names] == ["001", "002", "003", "004"]


def test_specify_without_a_text_is_about_the_current_feature(project: SpecProject) -> None:
    assert "say what the feature shall do" in project.refuse("specify")
    planned(project)
    project.say("plan")
    told = project.say("specify")
    assert "Back from plan to specify" in told
    assert "Write: .specify/specs/001-login/spec.md (it exists: revise it)" in told


def test_the_constitution_has_its_place(project: SpecProject) -> None:
    before = project.digest()
    told = project.say("constitution", "test", "first")
    assert "Write: .specify/memory/constitution.md\n" in told
    assert "The person says: test first" in told
    assert project.digest() == before
    project.write(".specify/memory/constitution.md", "# Test first\n")
    assert "(it exists: revise it)" in project.say("constitution")
    told = project.say("specify", "login")
    assert "Read: .specify/memory/constitution.md, " in told
    assert "is missing" not in told


def test_a_constitution_that_links_out_of_the_project_is_refused(project: SpecProject) -> None:
    (project.root / ".specify").mkdir()
    (project.root / ".specify/memory").symlink_to(project.folder)
    assert "leads out of the project" in project.refuse("constitution")


def test_each_step_names_what_to_read_and_write(project: SpecProject) -> None:
    folder = ".specify/specs/001-login"
    project.say("specify", "login")
    project.doc(LOGIN, "spec.md")
    before = project.state(LOGIN)
    assert f"Write: {folder}/spec.md" in project.say("clarify")
    assert f"Write: {folder}/checklists/user-experience.md" in project.say("checklist", "User experience")
    assert f"Write: {folder}/checklists/requirements.md" in project.say("checklist")
    assert project.state(LOGIN) == before
    told = project.prompt("plan", "SQLite, no framework")
    assert f"Write: {folder}/plan.md" in told
    assert "The person says: SQLite, no framework" in told
    assert project.state(LOGIN)["phase"] == "plan"
    project.doc(LOGIN, "plan.md")
    told = project.say("tasks")
    assert f"Read: {folder}/.progress.md, {folder}/plan.md, {folder}/spec.md\n" in told
    assert f"Write: {folder}/tasks.md" in told
    assert (project.state(LOGIN)["phase"], project.state(LOGIN)["awaitingApproval"]) == ("tasks", True)
    project.doc(LOGIN, "tasks.md", text=BOXES)
    digest = project.digest()
    told = project.say("analyze")
    assert "Change no file." in told
    assert "`/ralph-speckit:implement`" in told
    assert project.digest() == digest


def test_a_step_without_its_documents_names_who_writes_them(project: SpecProject) -> None:
    planned(project)
    for action, document, writer in (
        ("clarify", "spec.md", "specify"),
        ("checklist", "spec.md", "specify"),
        ("plan", "spec.md", "specify"),
        ("tasks", "plan.md", "plan"),
        ("analyze", "tasks.md", "tasks"),
        ("implement", "tasks.md", "tasks"),
    ):
        away = project.path(LOGIN, document).rename(project.folder / "away")
        told = project.refuse(action)
        assert f"{LOGIN}/{document} is missing; `/ralph-speckit:{writer}` writes it" in told, action
        away.rename(project.path(LOGIN, document))


def test_implement_begins_a_loop(project: SpecProject) -> None:
    planned(project)
    told = project.say("implement", "--max-task-iterations", "2")
    assert "4 tasks, 3 open" in told
    assert "Continue feature: 001-login (Task 2/4, Iter 1)" in told
    assert "These 2 tasks are marked [P]" in told
    state = project.state(LOGIN)
    assert (state["phase"], state["taskIndex"], state["totalTasks"], state["maxTaskIterations"]) == (
        "execution",
        1,
        4,
        2,
    )
    assert "quickMode" not in state
    assert "Continue feature: 001-login (Task 2/4, Iter 2)" in project.stop_of_plugin()
    assert "is running its tasks" in project.refuse("plan")
    assert "--adopt" in project.refuse("implement", env=ELSEWHERE)


def test_cancel_ends_the_loop_and_keeps_the_documents(project: SpecProject) -> None:
    folder = planned(project)
    project.say("implement")
    told = project.say("cancel")
    assert "`/ralph-speckit:implement` begins again" in told
    assert sorted(path.name for path in folder.iterdir()) == [
        ".progress.md",
        "plan.md",
        "spec.md",
        "tasks.md",
    ]
    assert project.stop() is None
    project.say("implement")
    assert project.state(LOGIN)["featureId"] == "001"
    assert "Continue feature" in project.stop_of_plugin()


def test_a_feature_is_known_by_number_name_and_path(project: SpecProject) -> None:
    project.say("specify", "login")
    project.say("specify", "cart")
    for name in ("001", "001-login", "login", "./.specify/specs/001-login"):
        assert project.pointer == "002-cart\n", name
        assert "Feature 001-login" in project.say("switch", name), name
        assert project.pointer == "001-login\n", name
        assert "Feature 001-login" in project.say("start", name), name
        project.say("switch", "cart")


def test_a_name_that_two_features_have_needs_a_path(project: SpecProject) -> None:
    project.say("specify", "login")
    project.say("specify", "login")
    told = project.refuse("switch", "login")
    assert "./.specify/specs/001-login or ./.specify/specs/002-login" in told
    assert "there is no feature 003 here; known here: 001-login, 002-login." in project.refuse(
        "switch", "003"
    )


def test_start_says_what_comes_next(project: SpecProject) -> None:
    told = project.say("start")
    assert "`/ralph-speckit:specify WHAT IT SHALL DO`" in told
    assert "`/ralph-speckit:constitution`" in told
    project.prompt("start", "Let people log in")
    assert project.pointer == "001-let-people-log-in\n"
    assert "Next: `/ralph-speckit:specify`" in project.say("start")
    project.doc("001-let-people-log-in", "spec.md")
    assert "Next: `/ralph-speckit:plan`" in project.say("start")


def test_status_shows_every_feature(project: SpecProject) -> None:
    assert "There is no feature here yet" in project.say("status")
    planned(project)
    project.say("implement")
    project.say("specify", "cart")
    lines = project.say("status").splitlines()
    assert lines == [
        "  001-login  execution  1/4 tasks  loop running  .specify/specs",
        "* 002-cart  specify  .specify/specs",
        "Next: `/ralph-speckit:specify`",
    ]
    found = json.loads(project.say("status", "--json"))["features"]
    assert [row["name"] for row in found] == ["001-login", "002-cart"]
    assert found[0]["loop"]["owner"] == SESSION


@pytest.mark.parametrize("text", ['{"phase": "specify", "schemaVersion": 2}', '{"phase": "research"}', "{"])
def test_a_state_that_is_not_ours_to_change_is_left_alone(project: SpecProject, text: str) -> None:
    planned(project)
    project.state_file(LOGIN).write_text(text)
    assert ("is corrupt" if text == "{" else "update the plugin ralph-speckit") in project.refuse("plan")


def test_no_action_changes_such_a_state(project: SpecProject) -> None:
    planned(project)
    project.state_file(LOGIN).write_text("{")
    for action in ("implement", "specify", "start", "switch 001"):
        assert "is corrupt" in project.refuse(*action.split()), action


def test_a_path_alone_is_no_description(project: SpecProject) -> None:
    assert "cannot be a feature's name" in project.refuse("specify", "../up")


@pytest.mark.parametrize("command", [["speckit", "implement"], ["start", LOGIN]])
def test_no_setting_limits_the_iterations_however_the_loop_begins(
    project: SpecProject, command: list[str]
) -> None:
    project.write(".claude/ralph-speckit.local.md", "---\ndefault_max_iterations: 7\n---\n")
    planned(project)
    state = {**project.state(LOGIN), "phase": "execution", "totalTasks": 4}
    project.state_file(LOGIN).write_text(json.dumps(state))
    project.fine(*command)
    assert project.status()["limits"]["iterations"]["most"] == state["maxGlobalIterations"] == 100


def test_a_checklist_leads_to_what_comes_next_anyway(project: SpecProject) -> None:
    planned(project)
    assert "`/ralph-speckit:plan`" in project.say("checklist")
    project.say("plan")
    assert "`/ralph-speckit:tasks`" in project.say("checklist")
    project.say("tasks")
    assert "`/ralph-speckit:implement`" in project.say("checklist")


@each("action", speckit.TYPED)
def test_help_is_never_taken_for_a_text(project: SpecProject, action: str) -> None:
    before = project.digest()
    assert "usage: ralphloop speckit" in project.prompt(action, "--help")
    assert project.digest() == before
