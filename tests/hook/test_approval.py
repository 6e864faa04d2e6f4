"""No check runs that the person on this machine did not approve: repositories that bring their own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hook.attack import (
    asked_with_its_prompt,
    checked_files,
    commands_run,
    forge,
    leaving,
    mark,
    needs_approval,
    passed_by_its_agent,
    started_without_approval,
)
from hook.conftest import ProjectFactory
from hook.harness import LoopProject
from ralphloop.store.shelf import Shelf

Way = Callable[[LoopProject], None]


WAYS = (asked_with_its_prompt, passed_by_its_agent, started_without_approval)


def test_an_approved_check_runs(project: ProjectFactory) -> None:
    """What the others of this file are measured by: the mark does appear."""
    found = project("features")
    found.write(checked_files("features", leaving(mark(found))))
    found.arm()
    found.close(1)
    assert found.turn().blocks
    assert mark(found).read_text() == "run\n"


# A repository that comes with loop files


@pytest.fixture
def cloned(project: ProjectFactory) -> LoopProject:
    """A clone of a repository whose author committed everything: list, state, ledger and evidence."""
    author = project("features")
    victim = project("features", {})
    author.write(checked_files("features", leaving(mark(victim)), leaving(mark(victim))))
    author.arm()
    author.close(1)
    author.turn()
    assert mark(victim).exists()
    mark(victim).unlink()
    said = {**author.loop(), "unapproved": False, "approved": commands_run(author), "owner": victim.session}
    (author.run_folder / "loop.json").write_text(json.dumps(said))
    author.git("init", "--quiet")
    author.git("add", "--all", "--force")
    author.git("commit", "--quiet", "--message=everything")
    victim.root.rmdir()
    subprocess.run(["git", "clone", "--quiet", str(author.root), str(victim.root)], check=True)
    assert list(victim.root.glob(".ralph/run/*/evidence/*.json"))
    return victim


@pytest.mark.parametrize("way", WAYS)
def test_a_cloned_repository_runs_nothing(cloned: LoopProject, way: Way) -> None:
    way(cloned)
    needs_approval(cloned, leaving(mark(cloned)))
    assert not mark(cloned).exists()
    assert commands_run(cloned) == []


def test_the_authors_own_session_id_is_nobodys_here(cloned: LoopProject) -> None:
    before = cloned.digest()
    assert cloned.turn().silent
    assert not mark(cloned).exists()
    after = cloned.digest(cloned.root)
    assert after == {path: facts for path, facts in before.items() if path in after}


# An approval that comes with the repository


def forged(root: Path, *commands: str) -> str:
    """The approval as this machine would have written it, the folder's identity included."""
    entries = {command: {"at": "2026-01-01T00:00:00.000Z", "by": "terminal"} for command in commands}
    return json.dumps({"folder": str(os.stat(root).st_ino), "commands": entries}) + "\n"


PLACES = (
    "approved.json",
    ".ralph/approved.json",
    ".ralph/loops/demo/approved.json",
    ".ralph/run/approved.json",
    ".ralph/run/{id}/approved.json",
    ".ralph/@ralph/approved.json",
    "@ralph/approved.json",
    ".claude/approved.json",
    ".local/state/ralphloop/by-path{root}/@ralph/approved.json",
)


def test_an_approval_file_in_the_repository_approves_nothing(project: ProjectFactory) -> None:
    found = project("features")
    command = leaving(mark(found))
    found.write(checked_files("features", command))
    started_without_approval(found)
    for place in PLACES:
        path = place.format(id=found.run_folder.name, root=found.root)
        found.write({path: forged(found.root, command)})
    needs_approval(found, command)
    assert not mark(found).exists()


STATE_DIRECTORIES = (
    ("{root}/.state", "{root}/.state"),
    ("{root}/.ralph", "{root}/.ralph"),
    ("{root}/.state", "/proc/self/cwd/.state"),
    ("{root}/.state", "{base}/link"),
    ("{root}/.state", "{root}/../my project (1)/.state"),
)


@pytest.mark.parametrize(("real", "named"), STATE_DIRECTORIES)
def test_a_state_directory_in_the_project_approves_nothing(
    project: ProjectFactory, real: str, named: str
) -> None:
    """The client passes on the `env` of the project's settings."""
    found = project("features")
    command = leaving(mark(found))
    found.write(checked_files("features", command))
    real, named = (text.format(root=found.root, base=found.base) for text in (real, named))
    Path(real).mkdir(exist_ok=True)
    (found.base / "link").symlink_to(real)
    found.extra_env["XDG_STATE_HOME"] = real
    found.approve()
    found.arm(approve=False)
    forge(Shelf(str(found.root), found.extra_env), command)
    found.extra_env["XDG_STATE_HOME"] = named
    found.close(1)
    answer = found.turn()
    assert not answer.blocks
    assert "approvals in it do not count" in answer.message
    assert found.loop()["outcome"] == "needs_approval"
    assert not mark(found).exists()


def test_the_approval_of_another_project_on_this_machine_is_not_this_ones(project: ProjectFactory) -> None:
    other, found = project("features"), project("features")
    other.home = found.home
    command = leaving(mark(found))
    for each in (other, found):
        each.write(checked_files("features", command))
    other.approve()
    started_without_approval(found)
    needs_approval(found, command)
    assert not mark(found).exists()
