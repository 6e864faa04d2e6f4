"""The command `start`: what it arms, what it checks first, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import OTHER, PACKAGE, SESSION, Project, unfolded
from e2e.doctoring import plugin
from ralphloop.agents.claude import program as claude
from unit.domain.cases import each


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def checks(told: str) -> dict[str, bool]:
    return {check["name"]: check["fine"] for check in json.loads(told)["checks"]}


def test_start_arms_a_loop_for_the_session(project: Project) -> None:
    project.new()
    told = json.loads(project.fine("start", "--session", SESSION, "--json"))
    assert told["id"].startswith("features-shop-")
    assert (told["state"], told["owner"], told["max_iterations"], told["total"]) == (
        "running",
        SESSION,
        15,
        3,
    )
    answer = project.stop()
    assert answer is not None
    assert answer["systemMessage"] == "ralphloop · iteration 2/15 · 0/3 done · next F1"


def test_the_session_comes_from_the_client_if_it_says_so(project: Project) -> None:
    project.new()
    assert f"It belongs to session {OTHER}." in project.fine("start", env={"CLAUDE_CODE_SESSION_ID": OTHER})
    assert project.status()["owner"] == OTHER


def test_without_a_session_the_loop_waits_for_the_next_one(project: Project) -> None:
    project.new()
    told = project.fine("start")
    assert "It binds to the next session started here" in told
    assert ".ralph/loops/shop/RALPH_PROMPT.md" in told
    loop = project.status()
    assert (loop["state"], loop["owner"]) == ("armed", None)


def test_what_was_done_before_the_start_is_given(project: Project) -> None:
    project.fine("new", "shop", "--from", "-", stdin=b"- [x] a\n- b\n")
    project.fine("start")
    assert [task["state"] for task in project.status()["tasks"]] == ["given", "open"]


@pytest.mark.parametrize("words", [["--max-iterations", "7"], ["--max-iterations=7"]])
def test_the_limit_is_taken_in_both_spellings(project: Project, words: list[str]) -> None:
    project.begin("shop", *words)
    assert project.status()["max_iterations"] == 7


def test_the_next_task_can_be_sent_as_context(project: Project) -> None:
    project.begin("shop", "--continue-with", "context")
    answer = project.stop()
    assert answer is not None
    assert "decision" not in answer
    assert "go on with task F1" in answer["hookSpecificOutput"]["additionalContext"]


def test_the_interpreter_is_recorded_for_the_shell_guard(project: Project) -> None:
    project.begin()
    recorded = (project.home / ".local/state/ralphloop/python").read_text(encoding="utf-8")
    assert recorded == os.path.realpath(sys.executable) + "\n"


def test_progress_says_that_it_runs(project: Project) -> None:
    folder = project.begin()
    assert (folder / "progress.txt").read_text(encoding="utf-8").startswith("Status: IN_PROGRESS\n")


def test_every_layout_can_be_started(project: Project) -> None:
    project.spec("login")
    project.write(".specify/.current-feature", "cart\n")
    project.write(".specify/specs/cart/.speckit-state.json", '{"phase": "execution", "taskIndex": 0}')
    project.write(".specify/specs/cart/tasks.md", "- [ ] T001 First\n")
    documented = '[{"description": "old place"}]'
    project.write(".claude/data/ralph-loops/current/feature_list.json", documented)
    for number, (name, layout) in enumerate(
        [("login", "specum"), ("cart", "speckit"), ("current", "features")]
    ):
        told = json.loads(project.fine("start", name, "--session", f"s{number}", "--json"))
        assert told["layout"] == layout


def test_a_spec_that_is_still_planned_can_be_started(project: Project) -> None:
    project.spec("login", phase="requirements", tasks="")
    project.fine("start", "login")


def test_without_a_name_the_only_list_with_work_left_is_started(project: Project) -> None:
    project.fine("new", "old", "--from", "-", stdin=b"- [x] a\n")
    project.new("shop")
    assert "Loop features-shop-" in project.fine("start")


def test_the_folder_named_by_the_environment_belongs_to_the_project(project: Project) -> None:
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "feature_list.json").write_text('[{"id": "A"}]', encoding="utf-8")
    below = project.root / "src"
    below.mkdir()
    env = {"RALPH_LOOP_DIR": str(elsewhere)}
    told = json.loads(project.fine("start", "--session", SESSION, "--json", env=env, cwd=below))
    assert told["root"] == str(project.root)
    assert project.status()["next"] == "A"


def test_no_list_names_new(project: Project) -> None:
    assert "; `ralphloop new NAME` makes a task list, and `ralphloop run` begins" in project.refused("start")
    assert "`ralphloop new cart` creates one" in project.refused("start", "cart")


def test_among_several_lists_one_must_be_named(project: Project) -> None:
    project.new("one")
    project.new("two")
    assert "name one of: one, two" in project.refused("start")
    assert f"no task list three in {project.root}; known here: one, two" in project.refused("start", "three")


def test_two_lists_of_one_name_are_told_apart_by_layout(project: Project) -> None:
    project.new("login")
    project.spec("login")
    assert "name one of: features:login, specum:login" in project.refused("start", "login")
    assert "Loop specum-login-" in project.fine("start", "specum:login")


@each(
    ("text", "told"),
    [
        ('{"features": [\n  {"id" 1}\n]}', "line 2 column 9"),
        ('{"features": {}}', 'no array "features"'),
        ('{"features": []}', "has no tasks; write some into"),
        ('[{"id": "A", "passes": true}]', "every task of shop is done"),
    ],
)
def test_a_list_without_work_is_refused(project: Project, text: str, told: str) -> None:
    project.write(".ralph/loops/shop/feature_list.json", text)
    assert told in project.refused("start")


def test_a_second_loop_over_one_list_is_refused_and_names_the_first(project: Project) -> None:
    """Failure 8: two loops took one slot."""
    project.begin()
    told = project.refused("start", "shop", "--session", OTHER)
    assert f"{project.status()['id']} (session {SESSION})" in told
    assert "`ralphloop cancel shop` ends it" in told


def test_a_second_loop_of_one_session_is_refused(project: Project) -> None:
    project.begin("one")
    project.new("two")
    told = project.refused("start", "two", "--session", SESSION)
    assert "this session owns a loop already: features-one-" in told


def test_a_disabled_plugin_is_refused(project: Project) -> None:
    project.spec()
    project.write(".claude/ralph-specum.local.md", "---\nenabled: false\n---\n")
    assert "set `enabled: true` in .claude/ralph-specum.local.md" in project.refused("start")


def test_two_starts_at_once_arm_one_loop(project: Project) -> None:
    project.new()
    racers = [
        subprocess.Popen(
            project.argv("start", "--session", f"s{number}"),
            env=project.env(),
            cwd=project.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in range(6)
    ]
    assert sorted(racer.wait(timeout=60) for racer in racers) == [0, 1, 1, 1, 1, 1]
    project.status()


def hook(command: str) -> dict[str, Any]:
    return {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}


PLUGIN = {"enabledPlugins": {"ralphloop@ralphloop": True}}


@pytest.mark.parametrize(
    ("settings", "fine"),
    [
        ({}, False),
        (hook("echo done"), False),
        (hook(claude.hook_command(str(PACKAGE))), True),
        (hook(claude.hook_command(str(PACKAGE), layouts=("specum",))), False),
        (hook("echo; " + claude.hook_command(str(PACKAGE))), False),
        (claude.hook_settings(claude.hook_command("/gone/ralphloop")), False),
        (PLUGIN, False),
    ],
)
def test_the_hook_must_be_registered_for_the_layout(
    project: Project, settings: dict[str, Any], fine: bool
) -> None:
    project.write(".claude/settings.local.json", json.dumps(settings))
    project.new()
    assert checks(project.fine("start", "--json"))["hook"] is fine


def test_settings_that_are_broken_register_nothing(project: Project) -> None:
    (project.home / ".claude").mkdir()
    (project.home / ".claude/settings.json").write_text('{"hooks": [', encoding="utf-8")
    project.write(".claude/settings.json", '{"hooks": {"Stop": [1, {"hooks": [2]}]}, "env": 3}')
    project.new()
    assert checks(project.fine("start", "--json"))["hook"] is False


def test_the_users_own_settings_count(project: Project) -> None:
    plugin(project, "ralphloop")
    (project.home / ".claude/settings.json").write_text(json.dumps(PLUGIN), encoding="utf-8")
    project.new()
    assert checks(project.fine("start", "--json"))["hook"] is True


def test_without_the_hook_it_says_how_to_get_it(project: Project) -> None:
    project.new()
    told = unfolded(project.fine("start"))
    assert "run `ralphloop install`, use --launch, or install the plugin ralphloop." in told


def test_a_missing_client_is_named_with_what_to_do(project: Project) -> None:
    project.new()
    cure = "install it with `npm install -g @anthropic-ai/claude-code`, or add its folder to PATH."
    assert f"! `claude` is not on PATH; {cure}" in " ".join(project.fine("start").split())


def test_a_list_below_the_clients_folder_is_named(project: Project) -> None:
    """Fact 72: the agent may edit nothing there."""
    project.write(".claude/data/ralph-loops/current/feature_list.json", '[{"id": "A"}]')
    told = project.fine("start", "--session", SESSION)
    assert "! Claude Code lets the agent edit nothing below .claude/: it claims tasks with" in told
    assert "A is marked done" in project.fine("done", "A")


@pytest.mark.parametrize(("cap", "fine"), [("", True), ("0", True), ("7", False), ("8", True), ("x", True)])
def test_a_cap_is_named_only_if_it_is_too_low(project: Project, cap: str, fine: bool) -> None:
    project.new()
    env = {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": cap} if cap else {}
    assert ("Claude Code ends a turn after" not in project.fine("start", env=env)) is fine


def test_the_cap_in_the_settings_wins_over_the_environment(project: Project) -> None:
    project.write(".claude/settings.json", '{"env": {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "1"}}')
    project.new()
    env = {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0"}
    assert checks(project.fine("start", "--json", env=env))["cap"] is False


RECORDER = """#!{python}
import json, os, sys
with open({path!r}, "w") as file:
    json.dump([sys.argv[1:], os.getcwd()], file)
"""


def recorder(project: Project) -> Path:
    path = project.folder / "argv.json"
    project.program("claude", RECORDER.format(python=sys.executable, path=str(path)))
    return path


def test_launch_starts_the_client_on_the_prompt_with_our_hooks(project: Project) -> None:
    recorded = recorder(project)
    folder = project.new()
    told = project.fine("start", "shop", "--launch")
    assert "✓ The Stop hook is passed to the client." in told
    words, cwd = json.loads(recorded.read_text(encoding="utf-8"))
    assert (words[0], words[2], cwd) == ("--session-id", "--settings", str(project.root))
    assert project.status()["owner"] == words[1]
    assert json.loads(words[3]) == claude.hook_settings(claude.hook_command(str(PACKAGE)))
    assert words[4:] == [(folder / "RALPH_PROMPT.md").read_text(encoding="utf-8")]


def test_launch_passes_no_settings_where_a_hook_is_registered(project: Project) -> None:
    recorded = recorder(project)
    project.write(".claude/settings.json", json.dumps(PLUGIN))
    project.new()
    project.fine("start", "shop", "--launch")
    assert "--settings" in json.loads(recorded.read_text(encoding="utf-8"))[0], "not installed"
    project.fine("cancel")
    plugin(project, "ralphloop")
    project.fine("start", "shop", "--launch")
    assert "--settings" not in json.loads(recorded.read_text(encoding="utf-8"))[0]


def test_launch_of_a_spec_sends_its_first_task(project: Project) -> None:
    recorded = recorder(project)
    project.spec()
    project.fine("start", "login", "--launch")
    words, _ = json.loads(recorded.read_text(encoding="utf-8"))
    assert words[-1].startswith("Continue spec: login (Task 1/3, Iter 1)")


def test_launch_hands_over_a_long_prompt_by_its_path(project: Project) -> None:
    recorded = recorder(project)
    folder = project.new()
    (folder / "RALPH_PROMPT.md").write_text("Do it. " * 200_000, encoding="utf-8")
    project.fine("start", "shop", "--launch")
    words, _ = json.loads(recorded.read_text(encoding="utf-8"))
    assert words[-1] == f"Read {folder}/RALPH_PROMPT.md and do what it says."


def test_launch_without_a_client_is_refused_before_arming(project: Project) -> None:
    project.new()
    told = project.refused("start", "--launch")
    assert "`claude` is not on PATH, and --launch starts it; install it with `npm " in told
    assert "or add its folder to PATH, or start without --launch." in told


def test_launch_inside_a_client_is_refused(project: Project) -> None:
    recorder(project)
    project.new()
    told = project.refused("start", "--launch", env={"CLAUDECODE": "1"})
    assert "needs a terminal of your own, and this runs inside Claude Code" in told


def test_a_client_that_does_not_start_leaves_no_loop_behind(project: Project) -> None:
    project.program("claude", "#!/no/such/interpreter\n")
    project.new()
    done = project.run("start", "--launch")
    assert done.code == 1
    assert done.err.startswith("ralphloop: `claude` does not start")
    assert project.status()["outcome"] == "cancelled"


def test_the_settings_run_the_guard_from_a_path_with_spaces_and_quotes(tmp_path: Path) -> None:
    folder = tmp_path / "it's a $(place)" / "hook"
    folder.mkdir(parents=True)
    (folder / "guard.sh").write_text('echo "$rl_as:$rl_layouts"', encoding="utf-8")
    settings = claude.hook_settings(claude.hook_command(str(folder.parent)))
    assert list(settings["hooks"]) == [
        "Stop",
        "SubagentStop",
        "SessionStart",
        "UserPromptSubmit",
        "StopFailure",
        "SessionEnd",
    ]
    for (group,) in settings["hooks"].values():
        (entry,) = group["hooks"]
        out = subprocess.run(["sh", "-c", entry["command"]], capture_output=True, check=True).stdout
        assert out == b"settings:features specum speckit\n"


def test_a_loop_that_no_hook_can_drive_is_not_started(project: Project) -> None:
    project.write(".claude/settings.local.json", json.dumps({**PLUGIN, "disableAllHooks": True}))
    project.new()
    before = project.digest()
    assert "remove `disableAllHooks`" in project.refused("start")
    assert project.digest() == before


def test_a_list_in_which_no_task_can_run_is_refused(project: Project) -> None:
    waiting = [
        {"id": "A", "description": "a", "depends_on": ["B"]},
        {"id": "B", "description": "b", "depends_on": ["A"]},
    ]
    project.write(".ralph/loops/shop/feature_list.json", json.dumps(waiting))
    before = project.digest()
    circle = 'A → B → A wait for each other in a circle and can never run: take one out of "depends_on"'
    assert f"can run. {circle}. Repair " in project.refused("start")
    assert circle in json.loads(project.fine("plan", "--show", "--json"))["doubts"]
    assert project.digest() == before


def test_a_permission_mode_needs_a_launch(project: Project) -> None:
    project.new()
    assert "add --launch" in project.refused("start", "--permission-mode", "acceptEdits")
