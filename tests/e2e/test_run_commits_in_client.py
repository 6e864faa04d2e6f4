"""`ralphloop run --commit`: one commit per closed task, on the loop's branch."""

from __future__ import annotations

import json
import os
import signal

import pytest

from e2e.conftest import git
from e2e.looping import bash, feature_turns
from e2e.running import list_of, running, task_in
from fakes.patience import eventually
from ralphloop.lab.reply import fail, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

PROVEN = tuple({"verify": f"test -f made-{number}"} for number in (1, 2, 3))


def with_author(root):
    git(root, "config", "user.name", "Tester")
    git(root, "config", "user.email", "tester@example.invalid")
    return root


def log(root, branch: str) -> list[list[str]]:
    """Of each commit since the first: its subject, and the files in it."""
    commits = git(root, "log", "--reverse", "--format=%H", branch).split()[1:]
    return [git(root, "show", "--format=%s", "--name-only", one).split("\n\n", 1) for one in commits]


def are_one_commit_each(stage, root, count: int) -> None:
    """Of the proven tasks, each with its own file and its evidence, on a branch that begins at `main`."""
    commits = log(root, "overnight")
    numbers = range(1, count + 1)
    assert [subject for subject, _ in commits] == [f"F{number}: Make file {number}" for number in numbers]
    for number in numbers:
        held = [f"made-{number}" in files.split() for _, files in commits]
        assert held == [number == other for other in numbers], commits
    told = git(root, "log", "-1", "--format=%(trailers:key=Ralphloop-Evidence,valueonly)", "overnight")
    evidence = stage.command("evidence", f"F{count}").stdout
    assert told.strip()
    assert told.strip().split(",")[0] in evidence
    assert git(root, "rev-parse", "main") == git(root, "rev-parse", f"overnight~{count}")
    assert "ralphloop commits" in str(stage.server.main_requests[0].body["messages"])


def test_each_proven_task_is_one_commit_with_its_evidence(client_home, project):
    root = with_author(project(list_of(*PROVEN[:2])))
    with running(client_home, root, feature_turns(1, 2)) as stage:
        done = stage.run("--commit", "--branch", "overnight", "--batch", "1")
        assert done.code == 0, done.stderr
        are_one_commit_each(stage, root, 2)


def test_tasks_of_one_long_session_are_too_and_a_crash_of_the_client_changes_nothing(client_home, project):
    root = with_author(project(list_of(*PROVEN)))
    crash = bash("touch half-done; kill -9 $CLAUDE_PID")
    with running(client_home, root, [*feature_turns(1, 2), crash, *feature_turns(3, 3)]) as stage:
        done = stage.run("--commit", "--branch", "overnight", "--batch", "0")
        assert done.code == 0, done.stderr
        are_one_commit_each(stage, root, 3)
    assert git(root, "status", "--porcelain") == ""
    assert stage.events("session_end")[0]["signal"] == signal.SIGKILL
    assert stage.loop["attempts"] == {"F3": 1}


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


def test_a_loop_that_goes_on_keeps_its_branch_and_commits_its_own_files_only(client_home, project):
    """The person's file is refused by name; what a killed run has left is the loop's own."""
    root = with_author(project(list_of(*PROVEN[:2])))
    work, mood = iter(feature_turns(1, 2)), ["fails"]

    def answer(request):
        if task_in(request) == "F1" or mood[-1] == "works":
            return next(work)
        return bash("touch half; tail -f /dev/null") if mood[-1] == "hangs" else fail(404, "no such model")

    with running(client_home, root, answer) as stage:
        assert stage.run("--branch", "overnight").code == 15
        other = stage.run("--branch", "elsewhere")
        assert other.code == 1
        assert "commits on overnight" in other.stderr
        (root / ".env").write_text("KEY=1")
        refused = stage.run()
        assert refused.code == 1
        assert ".env" in refused.stderr
        (root / ".env").unlink()

        mood.append("hangs")
        process = stage.start()
        eventually((root / "half").exists, deadline_s=60)
        for pid in [*stage.pids("supervise"), process.pid]:
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=30)
        eventually(lambda: not stage.processes())
        mood.append("works")
        assert stage.run().code == 0
    subjects = [subject for subject, _ in log(root, "overnight")]
    assert subjects == ["F1: Make file 1", "demo: where the list stands", "F2: Make file 2"]
    assert git(root, "show", "--format=", "--name-only", "overnight").count("half") == 1


def test_a_last_commit_that_fails_is_no_success_and_the_next_run_makes_it(client_home, project):
    root = with_author(project(list_of(*PROVEN[:1])))
    lock = root / ".git/refs/heads/overnight.lock"

    def answer(_):
        lock.touch()  # as a git leaves it that was killed
        return next(replies)

    replies = iter([*feature_turns(1, 1), *feature_turns(1, 1)])
    with running(client_home, root, answer) as stage:
        done = stage.run("--commit", "--branch", "overnight", "--json")
        assert done.code == 20, done
        facts = json.loads(done.stdout)
        assert (facts["outcome"], facts["uncommitted"], facts["exit_code"]) == ("complete", ["F1"], 20)
        assert "overnight.lock is in the way" in facts["commit_fault"]
        assert log(root, "overnight") == []
        lock.unlink()
        sessions = len(stage.events("session"))
        assert stage.run().code == 0
        assert len(stage.events("session")) == sessions
        are_one_commit_each(stage, root, 1)


def test_a_lock_that_is_held_for_a_moment_costs_no_commit(client_home, project):
    root = with_author(project(list_of(*PROVEN[:1])))
    lock = root / ".git/refs/heads/overnight.lock"

    def answer(_):
        lock.touch()
        return next(replies)

    replies = iter(feature_turns(1, 1))
    with running(client_home, root, answer) as stage:
        process = stage.start("--commit", "--branch", "overnight")
        eventually(lambda: len(stage.events("commit_failed")) >= 2, deadline_s=60)
        lock.unlink()
        process.communicate(timeout=60)
        assert process.returncode == 0
        are_one_commit_each(stage, root, 1)


def test_a_pause_in_the_turn_that_closes_the_last_task_leaves_a_clean_tree(client_home, project):
    """What the rest and the end say in the list's own files is committed, too."""
    listed = {**list_of(*PROVEN[:2]), ".ralph/loops/demo/progress.txt": "Status: NOT_STARTED\nIteration: 1\n"}
    root = with_author(project(listed))
    slow = bash("touch waits; while [ -e waits ]; do sleep 0.1; done; touch made-2; ralphloop done F2")
    work = iter([*feature_turns(1, 1), slow, text("Done."), text("It is done.")])
    with running(client_home, root, lambda _: next(work)) as stage:
        process = stage.start("--branch", "overnight")
        eventually((root / "waits").exists, deadline_s=60)
        assert "pauses at the end of this turn" in stage.command("pause", "demo").stdout
        (root / "waits").unlink()
        process.communicate(timeout=100)
        assert stage.tasks() == {"F1": "proven", "F2": "proven"}
        assert git(root, "status", "--porcelain") == ""
        done = stage.run()
        assert (done.code, stage.ending) == (0, ("ended", "complete")), done
    assert git(root, "status", "--porcelain") == ""
    assert "COMPLETE" in git(root, "show", "overnight:.ralph/loops/demo/progress.txt")
    git(root, "switch", "--quiet", "main")
