"""The command line inside a plugin: found by any name, needs no installation, and answers prompts in full."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.cli_project import Project
from e2e.client import REPOSITORY

PLUGINS = ("ralphloop", "ralph-specum", "ralph-speckit")
GOAL = 'it\'s "a" $(touch pwned) `id` \\n; ünï\n\tsecond  line'


def call(project: Project, *words: str, typed: bytes = b"", **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(words, input=typed, cwd=project.root, env=project.env(env), capture_output=True)
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
    assert done.stdout.startswith("No loop and no task list here.")


def test_goal_arrives_byte_for_byte(project: Project, plain_copy: Path) -> None:
    words = ("sh", str(plain_copy / "bin/ralphloop"), "--typed", "plan")
    done = call(project, *words, typed=f"--name shop {GOAL}\n".encode(), CLAUDECODE="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{GOAL}\n" in (project.root / ".ralph/loops/shop/RALPH_PROMPT.md").read_text()
    assert not (project.root / "pwned").exists()
    assert f'`sh "{plain_copy}/bin/ralphloop" plan --show shop`' in done.stdout


@pytest.mark.parametrize(
    ("words", "typed", "told"),
    [
        (("plan",), b"", "ralphloop: plan needs a goal"),
        (("plan",), b"\xff\xfe", "ralphloop: what you typed is not UTF-8 text"),
        (("start",), b"nowhere", "ralphloop: there is no task list nowhere"),
        (("status",), b"it's", "ralphloop: a quote is not closed"),
        (("status",), b"--bogus", "ralphloop: unrecognized arguments: --bogus; usage: ralphloop status"),
        (("status",), b"--help", "usage: ralphloop status"),
    ],
)
def test_prompt_gets_errors_on_stdout_and_goes_on(
    project: Project, words: tuple[str, ...], typed: bytes, told: str
) -> None:
    """The client drops a prompt whose command fails, and the person would not know why."""
    done = call(
        project, "sh", str(REPOSITORY / "plugins/ralphloop/bin/ralphloop"), "--typed", *words, typed=typed
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert told in done.stdout


def test_old_python_of_a_project_is_passed_over(project: Project) -> None:
    old = project.bin / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    (project.bin / "python3.12").symlink_to(
        shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or ""
    )
    done = call(project, "sh", str(REPOSITORY / "plugins/ralphloop/bin/ralphloop"), "--version")
    assert done.stdout.startswith("ralphloop ")


def test_machine_without_python_is_told(project: Project) -> None:
    tool = str(REPOSITORY / "plugins/ralphloop/bin/ralphloop")
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
