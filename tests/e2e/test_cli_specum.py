"""`ralphloop specum new` and `start`: what a spec begins with, and which names it may have."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from e2e.spec_project import INSIDE, SpecProject
from ralphloop.cli import specum
from unit.domain.cases import each

GOAL = "Say \"hi\" to 'them', $(touch x) `y` \\n %s\n\n  ünï — two lines\n## Notes"


@pytest.fixture
def project(tmp_path: Path) -> SpecProject:
    return SpecProject(tmp_path)


def test_new_makes_the_files_of_a_spec(project: SpecProject) -> None:
    told = project.say("new", "login", "Let people log in")
    assert project.state("login") == {
        "source": "spec", "name": "login", "basePath": "./specs/login", "phase": "research",
        "taskIndex": 0, "totalTasks": 0, "taskIteration": 1, "maxTaskIterations": 5,
        "globalIteration": 1, "maxGlobalIterations": 100, "commitSpec": True, "quickMode": False,
        "awaitingApproval": True, "granularity": "fine", "relatedSpecs": [], "schemaVersion": 1,
        "recoveryMode": False, "fixTaskMap": {},
    }  # fmt: skip
    assert project.pointer == "login\n"
    assert "Let people log in" in project.path("login", ".progress.md").read_text()
    assert sorted(os.listdir(project.root / "specs")) == [".current-spec", "login"]
    for said in ("specs/login", "Let people log in", "specs/login/.progress.md", "specs/login/research.md",
                 "`/ralph-specum:requirements`"):  # fmt: skip
        assert said in told


@pytest.mark.parametrize("typed", [True, False])
def test_the_goal_is_kept_byte_by_byte(project: SpecProject, typed: bool) -> None:
    if typed:
        project.prompt("new", f"login {GOAL} --tasks-size coarse")
    else:
        project.say("new", "login", GOAL, "--tasks-size", "coarse")
    notes = project.path("login", ".progress.md").read_bytes()
    assert f"\n\n{GOAL}\n\n".encode() in notes
    assert project.state("login")["granularity"] == "coarse"
    assert not (project.root / "x").exists()


def test_unquoted_words_are_the_goal(project: SpecProject) -> None:
    project.say("new", "login", "Let", "people", "in", "--no-commit-spec")
    assert "\n\nLet people in\n\n" in project.path("login", ".progress.md").read_text()
    assert project.state("login")["commitSpec"] is False


def test_a_goal_that_is_not_utf_8_is_refused(project: SpecProject) -> None:
    done = project.run("specum", "new", "login", os.fsdecode(b"caf\xe9"), env=INSIDE)
    told = "ralphloop: the text is not UTF-8; convert it and type it again.\n"
    assert (done.code, done.out, done.err) == (1, "", told)
    assert not (project.root / "specs").exists()


@each(
    ("name", "hint"),
    [
        ("Login", "how about login?"),
        ("../x", "how about x?"),
        ("..", "login-page would be one."),
        ("a/b", "how about a-b?"),
        ("log_in", "how about log-in?"),
        ("Größe", "how about grosse?"),
        ("x" * 65, "how about " + "x" * 64 + "?"),
        ("", "login-page would be one."),
    ],
)
def test_a_bad_name_is_refused_with_a_better_one(project: SpecProject, name: str, hint: str) -> None:
    assert hint in project.refuse("new", name, "a goal")


def test_a_name_with_a_space_is_refused(project: SpecProject) -> None:
    assert "how about log-in?" in project.refuse("new", "log in", "a goal")


def test_a_quoted_name_that_is_typed_is_one_name(project: SpecProject) -> None:
    project.prompt("new", '"login" Let people in')
    assert project.pointer == "login\n"
    project.type("ralph-specum:new", '"my spec" a goal')
    assert "how about my-spec?" in project.fine("--typed", "specum", "new", env=INSIDE)


@each("text", ["../up", "a/b", "..", "./a", "a.b"])
def test_a_path_alone_is_no_goal(project: SpecProject, text: str) -> None:
    assert f"{text!r} cannot be a spec's name" in project.refuse("start", text)


def test_a_spec_that_exists_is_left_alone(project: SpecProject) -> None:
    project.say("new", "login", "one")
    told = project.refuse("new", "login", "two")
    assert "`/ralph-specum:switch login`" in told
    project.write("specs/cart/notes.txt", "mine")
    told = project.refuse("new", "cart", "two")
    assert "specs/cart exists already; `/ralph-specum:start --fresh cart` makes another." in told


def test_of_two_at_once_one_makes_the_spec(project: SpecProject) -> None:
    argv = project.argv("specum", "new", "login")
    running = [
        subprocess.Popen(
            [*argv, goal], env=project.env(), cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for goal in ("goal-one", "goal-two", "goal-three")
    ]
    told = [process.communicate(timeout=60) for process in running]
    assert sorted(process.returncode for process in running) == [0, 1, 1]
    assert sum(b"exists already" in err for _, err in told) == 2
    winner = next(out for out, err in told if not err)
    kept = project.path("login", ".progress.md").read_text()
    assert [
        goal for goal in ("goal-one", "goal-two", "goal-three") if goal in kept and goal.encode() in winner
    ]
    assert sorted(os.listdir(project.root / "specs")) == [".current-spec", "login"]


def settings(project: SpecProject, *rows: str) -> None:
    project.write(".claude/ralph-specum.local.md", "\n".join(["---", *rows, "---", ""]))


def test_settings_are_the_defaults(project: SpecProject) -> None:
    settings(project, "default_max_iterations: 40", "auto_commit_spec: false", "quick_mode_default: true")
    project.say("new", "login", "x")
    state = project.state("login")
    assert (state["maxGlobalIterations"], state["commitSpec"], state["quickMode"]) == (40, False, True)
    assert state["awaitingApproval"] is False


@pytest.mark.parametrize("value", ["", "false", "maybe", "[]"])
def test_quick_mode_is_off_unless_the_settings_say_true(project: SpecProject, value: str) -> None:
    settings(project, f"quick_mode_default: {value}", f"default_max_iterations: {value}")
    project.say("new", "login", "x")
    state = project.state("login")
    assert (state["quickMode"], state["maxGlobalIterations"]) == (False, 100)


def test_a_spec_goes_to_one_of_the_specs_dirs(project: SpecProject) -> None:
    settings(project, "specs_dirs: [docs/specs, packages/api/specs]")
    project.say("new", "one", "x")
    assert (project.root / "docs/specs/one/.ralph-state.json").exists()
    pointer = project.root / "docs/specs/.current-spec"
    assert pointer.read_text() == "one\n"
    project.say("new", "two", "x", "--specs-dir", "./packages/api/specs/")
    state = json.loads((project.root / "packages/api/specs/two/.ralph-state.json").read_text())
    assert state["basePath"] == "./packages/api/specs/two"
    assert pointer.read_text() == "./packages/api/specs/two\n"
    assert "add it in .claude/ralph-specum.local.md" in project.refuse("new", "three", "--specs-dir", "specs")
    assert "is not one of" in project.refuse("new", "three", "--specs-dir", "../out")
    settings(project, "specs_dirs: [../out]")
    assert "names no folder of this project" in project.refuse("new", "three", "x")


def test_links_out_of_the_project_are_refused(project: SpecProject) -> None:
    outside = project.folder / "outside"
    outside.mkdir()
    (project.root / "specs").symlink_to(outside)
    assert "leads out of the project" in project.refuse("new", "login", "x")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("link", ["specs/login", "specs/login/.ralph-state.json"])
def test_no_phase_writes_through_a_link_out_of_the_project(project: SpecProject, link: str) -> None:
    project.say("new", "login", "x")
    outside = project.folder / "outside"
    (project.root / link).rename(outside)
    (project.root / link).symlink_to(outside)
    before = project.digest()
    assert "leads out of the project" in project.refuse("requirements")
    assert "leads out of the project" in project.refuse("cancel")
    assert project.digest() == before


def test_a_pointer_that_links_out_of_the_project_is_refused(project: SpecProject) -> None:
    outside = project.folder / "pointer"
    outside.write_text("")
    (project.root / "specs").mkdir()
    (project.root / "specs/.current-spec").symlink_to(outside)
    assert "leads out of the project" in project.refuse("new", "login", "x")
    assert outside.read_text() == ""


def test_quick_mode_keeps_the_phases_going(project: SpecProject) -> None:
    told = project.say("new", "login", "x", "--quick")
    assert "Quick mode" in told
    assert "specum requirements`" in told
    state = project.state("login")
    assert (state["quickMode"], state["awaitingApproval"]) == (True, False)
    assert "research phase" in project.stop_of_plugin()
    project.say("requirements")
    assert project.state("login")["awaitingApproval"] is False
    assert "requirements phase" in project.stop_of_plugin()


def test_quick_mode_outside_a_client_waits_for_the_next_session(project: SpecProject) -> None:
    assert "the next session started here" in project.say("new", "login", "x", "--quick", env={})
    assert project.status()["state"] == "armed"


def test_quick_mode_is_refused_for_a_session_with_a_loop(project: SpecProject) -> None:
    project.running("login")
    assert "this session owns a loop already" in project.refuse("new", "cart", "x", "--quick")


def test_a_quick_spec_that_cannot_begin_leaves_nothing(project: SpecProject) -> None:
    project.say("new", "login", "x")
    settings(project, "enabled: false")
    assert "ralph-specum is disabled" in project.refuse("new", "cart", "x", "--quick")


def test_without_a_session_of_quick_mode_stops_are_left_alone(project: SpecProject) -> None:
    project.say("new", "login", "x")
    assert project.stop() is None
    assert not (project.root / ".ralph").exists()


# start


def test_start_says_how_to_begin(project: SpecProject) -> None:
    assert "`/ralph-specum:start WHAT IT SHALL DO`" in project.say("start")


def test_start_says_where_the_spec_stands(project: SpecProject) -> None:
    project.say("new", "login", "Let people in")
    assert "Next: `/ralph-specum:research`" in project.say("start")
    project.doc("login", "research.md")
    told = project.say("start")
    assert "Let people in" in told
    assert "specs/login/research.md" in told
    assert "Next: `/ralph-specum:requirements`" in told


@pytest.mark.parametrize(
    ("text", "name", "goal"),
    [
        ("Let people log in with a key", "let-people-log-in-with", "Let people log in with a key"),
        ("add-cart Let people buy", "add-cart", "Let people buy"),
        ("cart", "cart", ""),
        ("Cart", "cart", "Cart"),
        ("cart for the shop", "cart-for-the-shop", "cart for the shop"),
        ("日本語", "spec", "日本語"),
        ("  Élan\n vital  et ", "elan-vital-et", "Élan\n vital  et"),
    ],
)
def test_start_finds_a_name_for_a_goal(project: SpecProject, text: str, name: str, goal: str) -> None:
    project.prompt("start", text)
    assert project.pointer == name + "\n"
    notes = project.path(name, ".progress.md").read_text()
    assert f"\n\n{goal or '(not said yet)'}\n\n" in notes


def test_a_name_made_of_a_goal_is_a_free_one(project: SpecProject) -> None:
    project.say("start", "Let people in")
    project.say("start", "Let people in")
    assert project.pointer == "let-people-in-2\n"


def test_start_with_the_name_of_a_spec_switches_to_it(project: SpecProject) -> None:
    project.say("new", "login", "one")
    project.say("new", "cart", "two")
    assert "Spec login in specs/login" in project.say("start", "login")
    assert project.pointer == "login\n"


def test_quick_mode_is_for_a_new_spec(project: SpecProject) -> None:
    project.say("new", "login", "one")
    assert "`/ralph-specum:start --fresh login --quick` makes one" in project.refuse(
        "start", "login", "--quick"
    )


def test_start_never_takes_a_name_that_exists_with_another_goal(project: SpecProject) -> None:
    project.say("new", "log-in", "one")
    assert "`/ralph-specum:start --fresh log-in`" in project.refuse("start", "log-in", "again")


def test_fresh_takes_the_next_free_name(project: SpecProject) -> None:
    project.say("new", "cart", "one")
    project.say("start", "--fresh", "cart")
    project.prompt("start", "cart --fresh")
    assert project.pointer == "cart-3\n"
    assert "one" in project.path("cart", ".progress.md").read_text()
    assert "say what the new spec is for" in project.refuse("start", "--fresh")


# help


@each("action", specum.TYPED)
def test_help_is_never_taken_for_a_text(project: SpecProject, action: str) -> None:
    before = project.digest()
    assert "usage: ralphloop specum" in project.prompt(action, "--help")
    assert project.digest() == before
