"""A `.git` above both project and state directory voids approvals: it is named, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, PATH, LoopProject, task_id
from hook.proven import checked, cli

CHECK = "test -f made"


@pytest.fixture
def placed(project: ProjectFactory) -> LoopProject:
    """A list with one check, and a state directory beside the project."""
    found = checked(project, "features", CHECK, "", armed=False)
    found.extra_env["XDG_STATE_HOME"] = str(found.base / "state")
    return found


def env(found: LoopProject) -> dict[str, str]:
    return {"XDG_STATE_HOME": found.extra_env["XDG_STATE_HOME"]}


def ran(found: LoopProject, *words: str) -> tuple[int, str]:
    done = cli(found, *words, env=env(found))
    return done.returncode, done.stdout + done.stderr


def git_above(found: LoopProject) -> Path:
    (found.base / ".git").mkdir()
    return found.base / ".git"


def assert_named(text: str, git: Path) -> None:
    assert str(git) in text, text
    assert "do not count" in text
    assert "XDG_STATE_HOME" in text


APPROVING = (
    ("start", "demo", "--yes"),
    ("approve", "demo", "--yes"),
    ("approve", "demo", "--show"),
    ("run", "demo", "--yes"),
)


@pytest.mark.parametrize("words", APPROVING)
def test_whoever_would_approve_is_told_which_git_voids_it(
    placed: LoopProject, words: tuple[str, ...]
) -> None:
    git = git_above(placed)
    program = placed.home / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    done = cli(placed, *words, env={**env(placed), "PATH": f"{program.parent}:{PATH}"})
    assert done.returncode == 1
    assert_named(done.stderr, git)
    assert not (placed.root / ".ralph/run").exists()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_claim_stays_a_claim_and_is_checked_after_the_cure(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, CHECK, "", armed=False)
    found.extra_env["XDG_STATE_HOME"] = str(found.base / "state")
    code, said = ran(found, "approve", "--yes")
    assert code == 0, said
    found.arm(approve=False)
    git = git_above(found)
    (found.root / "made").touch()
    found.close(1)
    answer = found.turn()
    assert not answer.blocks
    assert_named(answer.message, git)
    loop = json.loads(ran(found, "status", "--json")[1])["loops"][0]
    assert (loop["outcome"], loop["tasks"][0]["state"]) == ("needs_approval", "claimed")
    assert found.loop()["attempts"] == {}
    assert_named(ran(found, "status")[1], git)
    git.rmdir()
    assert ran(found, "resume")[0] == 0
    answer = found.turn()
    loop = json.loads(ran(found, "status", "--json")[1])["loops"][0]
    assert loop["tasks"][0]["state"] == "proven", answer


@pytest.mark.parametrize("layout", LAYOUTS)
def test_done_and_verify_name_the_git_and_keep_the_claim(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, CHECK, "", armed=False)
    found.extra_env["XDG_STATE_HOME"] = str(found.base / "state")
    assert ran(found, "approve", "--yes")[0] == 0
    found.arm(approve=False)
    git = git_above(found)
    task = task_id(layout, 1)
    code, said = ran(found, "done", task)
    assert code == 0
    assert_named(said, git)
    assert "claimed" in said
    for words in (("verify", task), ("verify", "--all")):
        code, said = ran(found, *words)
        assert code == 1
        assert_named(said, git)
    assert found.loop()["attempts"] == {}


def test_what_is_typed_in_the_client_is_told_the_same(placed: LoopProject) -> None:
    placed.arm(approve=False)
    git = git_above(placed)
    answer = placed.send("UserPromptSubmit", prompt="/ralphloop:approve")
    assert_named(answer.message, git)


def test_a_spec_that_nobody_ever_approved_goes_on_without_its_checks(project: ProjectFactory) -> None:
    found = checked(project, "specum", CHECK, "", armed=False)
    found.extra_env["XDG_STATE_HOME"] = str(found.base / "state")
    found.arm(approve=False)
    git = git_above(found)
    found.close(1)
    answer = found.turn()
    assert answer.blocks
    assert str(git) in answer.message


def test_started_without_approval_it_says_why_none_would_count(placed: LoopProject) -> None:
    git = git_above(placed)
    code, said = ran(placed, "start", "demo", "--unapproved")
    assert code == 0, said
    assert_named(said, git)
