"""The command line inside a plugin: found by any name, needs no installation, and answers prompts in full."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.cli_project import OTHER, SESSION, Project
from e2e.client import REPOSITORY
from e2e.spec_project import INSIDE

PLUGINS = ("ralphloop", "ralph-specum", "ralph-speckit")
TOOL = REPOSITORY / "plugins/ralphloop/bin/ralphloop"
GOAL = 'it\'s "a" $(touch pwned) `id` \\n; ünï\n\tsecond  line'


def call(project: Project, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, cwd=project.root, env=project.env(env), capture_output=True
    )
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def plain_copy(tmp_path: Path) -> Path:
    """A plugin as an installation without file modes leaves it, in a folder with spaces."""
    place = tmp_path / "plug ins" / "ralphloop"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "plugins/ralphloop", place, ignore=ignored)
    for file in place.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
    return place


@pytest.mark.parametrize("plugin", PLUGINS)
def test_each_plugin_brings_the_whole_command_line(project: Project, plugin: str) -> None:
    done = call(project, str(REPOSITORY / "plugins" / plugin / "bin/ralphloop"), "status")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("No loop and no task list here;")


def test_goal_arrives_byte_for_byte(project: Project, plain_copy: Path) -> None:
    project.type("ralphloop:plan", f"--name shop {GOAL}")
    done = call(project, "sh", str(plain_copy / "bin/ralphloop"), "--typed", "plan", **INSIDE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{GOAL}\n" in (project.root / ".ralph/loops/shop/RALPH_PROMPT.md").read_text()
    assert not (project.root / "pwned").exists()
    assert f'`sh "{plain_copy}/bin/ralphloop" plan --show shop`' in done.stdout


@pytest.mark.parametrize(
    ("command", "text", "told"),
    [
        ("plan", "", "ralphloop: plan needs a goal"),
        ("plan", "\ud800", "Created .ralph/loops/plan for this goal"),
        ("plan", None, "ralphloop: plan needs a goal"),
        ("plan", "--help", "usage: ralphloop plan"),
        ("start", "nowhere", "ralphloop: there is no task list nowhere"),
        ("status", "it's", "ralphloop: a quote is not closed"),
        ("status", "--bogus", "ralphloop: `ralphloop status` has no option `--bogus`; "),
        ("status", "--jsn", "did you mean `--json`? `ralphloop status --help`"),
        ("status", "--help", "usage: ralphloop status"),
    ],
)
def test_prompt_gets_errors_on_stdout_and_goes_on(
    project: Project, command: str, text: object, told: str
) -> None:
    """The client drops a prompt whose command fails, and the person would not know why."""
    project.type(f"ralphloop:{command}", text)
    tool = str(TOOL)
    done = call(project, "sh", tool, "--typed", command, **INSIDE)
    assert (done.returncode, done.stderr) == (0, "")
    assert told in done.stdout


@pytest.mark.parametrize(
    "change", ["never typed", "another command", "another session", "taken before", "old"]
)
def test_what_was_not_typed_just_now_is_not_used(project: Project, change: str) -> None:
    """As where hooks are switched off: better a word about it than a command with other arguments."""
    tool = ("sh", str(TOOL), "--typed", "plan")
    if change == "another command":
        project.type("ralphloop:status", "a goal")
        project.type("ralph-specum:start", "a goal")
    if change == "another session":
        project.type("ralphloop:plan", "a goal", OTHER)
    if change in ("taken before", "old"):
        project.type("ralphloop:plan", "a goal")
    if change == "taken before":
        assert "Created" in call(project, *tool, **INSIDE).stdout
    if change == "old":
        kept = project.home / f".local/state/ralphloop/typed/{SESSION}.json"
        kept.write_text(json.dumps({**json.loads(kept.read_text()), "at": 1_700_000_000.0}))
    done = call(project, *tool, **INSIDE)
    assert done.stdout.startswith("ralphloop: what stands behind /ralphloop:plan did not arrive")


def resumed(project: Project) -> str:
    return call(project, "sh", str(TOOL), "--typed", "resume", **INSIDE).stdout


def test_typed_command_is_the_persons_word(project: Project) -> None:
    project.begin("shop", "--max-iterations", "5")
    project.fine("pause")
    project.type("ralphloop:resume", "--max-iterations 50")
    assert "shop goes on (iteration 1 of 50)" in resumed(project)


@pytest.mark.parametrize("way", ["skill", "client", "schedule", "shell"])
def test_what_the_agent_calls_schedules_or_sends_is_not(project: Project, way: str) -> None:
    project.begin("shop", "--max-iterations", "5")
    project.fine("pause")
    raised = "--max-iterations 50"
    if way == "skill":
        given = {"skill": "ralphloop:resume", "args": raised}
        project.hook("ralphloop", "PreToolUse", tool_name="Skill", tool_input=given)
    if way == "client":
        project.type("ralphloop:resume", raised, env={"AI_AGENT": "claude-code_2-1-325_agent"})
    if way == "schedule":
        plan = {"type": "tool_use", "name": "CronCreate", "input": {"prompt": f"/ralphloop:resume {raised}"}}
        log = project.write(
            "log.jsonl", json.dumps({"type": "assistant", "message": {"content": [plan]}}) + "\n"
        )
        project.type("ralphloop:resume", raised, transcript_path=str(log))
    if way == "shell":
        told = call(project, "sh", str(TOOL), "resume", *raised.split(), **INSIDE).stderr
    else:
        told = resumed(project)
    assert "a higher limit (iterations 50 instead of 5) is the person's to decide" in told
    assert project.status()["state"] == "paused"


def test_old_python_of_a_project_is_passed_over(project: Project) -> None:
    old = project.bin / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    (project.bin / "python3.12").symlink_to(
        shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or ""
    )
    done = call(project, "sh", str(TOOL), "--version")
    assert done.stdout.startswith("ralphloop ")


def test_machine_without_python_is_told(project: Project) -> None:
    tool = str(TOOL)
    shell = shutil.which("sh") or "/bin/sh"
    for words, code in ((("--typed", "status"), 0), (("status",), 1)):
        done = call(project, shell, tool, *words, PATH=str(project.bin))
        assert done.returncode == code
        assert done.stdout.startswith("ralphloop: no Python 3.10 or newer is on PATH")


def test_links_of_the_plugins_lead_to_one_source() -> None:
    for plugin in PLUGINS:
        place = REPOSITORY / "plugins" / plugin
        assert os.path.realpath(place / "lib") == str(REPOSITORY / "src/ralphloop")
        assert os.path.realpath(place / "bin") == str(REPOSITORY / "plugins/ralphloop/bin")
