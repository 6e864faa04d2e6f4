"""`ralphloop run --commit`: one commit per closed task, on the loop's branch."""

from __future__ import annotations

import pytest

from e2e.conftest import git
from e2e.looping import bash, feature_turns
from e2e.running import list_of, running, task_in
from ralphloop.testing.reply import fail, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

PROVEN = ({"verify": "test -f made-1"}, {"verify": "test -f made-2"})


def with_author(root):
    git(root, "config", "user.name", "Tester")
    git(root, "config", "user.email", "tester@example.invalid")
    return root


def log(root, branch: str) -> list[list[str]]:
    """Of each commit since the first: its subject, and the files in it."""
    commits = git(root, "log", "--reverse", "--format=%H", branch).split()[1:]
    return [git(root, "show", "--format=%s", "--name-only", one).split("\n\n", 1) for one in commits]


@pytest.mark.parametrize("batch", ["1", "0"])
def test_each_proven_task_is_one_commit_with_its_evidence(client_home, project, batch):
    root = with_author(project(list_of(*PROVEN)))
    with running(client_home, root, feature_turns(1, 2)) as stage:
        done = stage.run("--commit", "--branch", "overnight", "--batch", batch)
    assert done.code == 0, done.stderr
    commits = log(root, "overnight")
    assert [subject for subject, _ in commits] == ["F1: Make file 1", "F2: Make file 2"]
    assert ["made-1" in files for _, files in commits] == [True, False]
    assert ["made-2" in files for _, files in commits] == [False, True]
    told = git(root, "log", "-1", "--format=%(trailers:key=Ralphloop-Evidence,valueonly)", "overnight")
    evidence = stage.command("evidence", "F2").stdout
    assert told.strip()
    assert told.strip().split(",")[0] in evidence
    assert git(root, "rev-parse", "main") == git(root, "rev-parse", "overnight~2")
    assert "ralphloop commits" in str(stage.server.main_requests[0].body["messages"])


def test_a_dirty_tree_is_refused_by_name_and_nothing_is_armed(client_home, project):
    root = with_author(project(list_of({})))
    (root / "half-done.txt").write_text("x")
    with running(client_home, root, []) as stage:
        done = stage.run("--commit")
    assert done.code == 1
    assert "half-done.txt (untracked)" in done.stderr
    assert not (root / ".ralph/run").exists()
    assert stage.server.requests == []


def test_the_branch_is_not_switched_without_consent(client_home, project):
    root = with_author(project(list_of(*PROVEN)))
    with running(client_home, root, []) as stage:
        process = stage.popen("run", "demo", "--commit", "--branch", "overnight")
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "ralphloop run demo --yes" in stderr
    assert git(root, "branch", "--show-current").strip() == "main"


def test_a_loop_that_goes_on_keeps_its_branch(client_home, project):
    root = with_author(project(list_of(*PROVEN)))
    turns, mended = iter(feature_turns(1, 2)), []

    def answer(request):
        return next(turns) if mended or task_in(request) == "F1" else fail(404, "no such model")

    with running(client_home, root, answer) as stage:
        assert stage.run("--branch", "overnight").code == 15
        mended.append(True)
        other = stage.run("--branch", "elsewhere")
        assert other.code == 1
        assert "commits on overnight" in other.stderr
        assert stage.run().code == 0
    assert [subject for subject, _ in log(root, "overnight")] == ["F1: Make file 1", "F2: Make file 2"]


def test_a_run_that_was_cut_short_goes_on_committing(client_home, project):
    root = with_author(project(list_of(*PROVEN)))
    turns = [
        bash("touch made-1 half; ralphloop done F1"),
        text("One."),
        bash("touch half-two; kill -9 $CLAUDE_PID"),
    ]
    with running(client_home, root, [*turns, *feature_turns(2, 2)]) as stage:
        assert stage.run("--commit").code == 0
    assert [subject for subject, _ in log(root, "main")] == ["F1: Make file 1", "F2: Make file 2"]
    assert git(root, "status", "--porcelain") == ""
