"""`ralphloop run` against hostile repositories, agents that take the short way, and odd surroundings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from e2e.conftest import git
from e2e.looping import bash, feature_turns
from e2e.running import LOOP, eventually, list_of, running, task_in
from ralphloop.testing.reply import fail, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

AGENT = {"CLAUDECODE": "1"}
HAIKU = "claude-haiku-4-5"


def test_a_folder_that_nobody_trusts_runs_no_program_of_its_own(client_home, project):
    hook = {"hooks": [{"type": "command", "command": "touch $CLAUDE_PROJECT_DIR/pwned"}]}
    brought = {".claude/settings.json": json.dumps({"hooks": {"SessionStart": [hook]}})}
    with running(client_home, project({**list_of({}), **brought}), feature_turns(1, 1)) as stage:
        stage.env()  # makes the home, in which the folder is trusted
        known = client_home.path / ".claude.json"
        known.write_text(known.read_text().replace('"hasTrustDialogAccepted": true', '"x": 1'))
        refused = stage.run()
        assert refused.code == 1
        assert ".claude/settings.json" in refused.stderr
        assert not (stage.root / "pwned").exists()
        assert not (stage.root / ".ralph/run").exists()
        client_home.trust(stage.root)
        assert stage.run().code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--permission-mode", "bypassPermissions"],
        ["--max-iterations", "500"],
        ["--max-cost", "1000"],
    ],
)
def test_an_agent_widens_nothing_by_driving_its_own_loop(client_home, project, words):
    with running(client_home, project(list_of({})), []) as stage:
        begun = stage.command("start", "demo", "--session", "s-1", "--max-cost", "1", "--yes")
        assert begun.code == 0, begun.stderr
        stage.extra = AGENT
        refused = stage.command("run", "demo", "--adopt", "--detach", *words)
        assert refused.code == 1
        assert "in their own terminal" in refused.stderr
        assert stage.processes() == {}


def test_nor_by_the_environment(client_home, project):
    env = {**AGENT, "RALPHLOOP_PERMISSION_MODE": "bypassPermissions"}
    with running(client_home, project(list_of({})), [], env=env) as stage:
        assert stage.command("run", "demo", "--unapproved", "--detach").code == 1
    assert not (stage.root / ".ralph/run").exists()


def test_a_prompt_that_links_out_of_the_project_is_not_sent(client_home, project):
    root = project(list_of({}))
    (client_home.path / "secret").write_text("the combination is 1234")
    (root / LOOP / "RALPH_PROMPT.md").unlink()
    (root / LOOP / "RALPH_PROMPT.md").symlink_to(client_home.path / "secret")
    with running(client_home, root, feature_turns(1, 1)) as stage:
        assert stage.run().code == 0
    assert "1234" not in json.dumps(stage.server.main_requests[0].body["messages"])


def test_a_session_that_cleans_the_tree_loses_no_count(client_home, project):
    def answer(request):
        task = task_in(request)
        if request.body["messages"][-1]["role"] == "user" and "tool_result" in json.dumps(
            request.body["messages"][-1]
        ):
            return text("Done.")
        return bash(f"git clean -fdxq; ralphloop done {task}")

    with running(client_home, project(list_of({}, {}, {})), answer) as stage:
        assert stage.run("--batch", "1").code == 0
    assert set(stage.tasks().values()) == {"unverified"}


def test_a_pipe_in_the_place_of_the_log_is_an_error_and_no_hang(client_home, project):
    with running(client_home, project(list_of({})), [fail(404, "no such model")] * 9) as stage:
        assert stage.run().code == 15
        (log,) = (stage.root / ".ralph/run").glob("*/run.log")
        log.unlink()
        os.mkfifo(log)
        again = stage.run(timeout_s=60)
        assert again.code == 1
        assert "run.log" in again.stderr


def test_closed_streams_are_no_bug(client_home, project):
    with running(client_home, project(list_of({}, {})), feature_turns(1, 2)) as stage:
        words = " ".join(stage.words("run", "demo", "--yes", "--permission-mode", "bypassPermissions"))
        done = subprocess.run(
            ["/bin/sh", "-c", f"{words} <&- >&- 2>&-"],
            cwd=stage.root,
            env=stage.env(),
            timeout=90,
            check=False,
        )
        assert done.returncode == 0
    assert stage.ending == ("ended", "complete")


def test_what_a_run_was_asked_for_holds_when_it_goes_on(client_home, project):
    work, mended = iter(feature_turns(1, 3)), []

    def answer(request):
        return next(work) if mended or task_in(request) == "F1" else fail(404, "no such model")

    with running(client_home, project(list_of({}, {}, {})), answer) as stage:
        assert stage.run("--batch", "1", "--model", HAIKU).code == 15
        mended.append(True)
        assert stage.run().code == 0
    assert {entry["model"] for entry in stage.events("session")} == {HAIKU}
    assert [entry["task"] for entry in stage.events("session")] == ["F1", "F2", "F2", "F3"]


def test_files_of_the_person_are_not_committed_when_a_run_goes_on(client_home, project):
    root = project(list_of({}, {}))
    git(root, "config", "user.name", "Tester")
    git(root, "config", "user.email", "tester@example.invalid")
    work, mended = iter(feature_turns(1, 2)), []

    def answer(request):
        return next(work) if mended or task_in(request) == "F1" else fail(404, "no such model")

    with running(client_home, root, answer) as stage:
        assert stage.run("--commit").code == 15
        (root / ".env").write_text("KEY=1")
        mended.append(True)
        refused = stage.run()
        assert refused.code == 1
        assert ".env" in refused.stderr
        (root / ".env").unlink()
        assert stage.run().code == 0


def test_what_a_killed_run_left_is_its_own_when_the_next_goes_on(client_home, project):
    root = project(list_of({}, {}))
    git(root, "config", "user.name", "Tester")
    git(root, "config", "user.email", "tester@example.invalid")
    work, mood = iter(feature_turns(1, 2)), ["fails"]

    def answer(request):
        if task_in(request) == "F1" or mood[-1] == "works":
            return next(work)
        return bash("touch half; tail -f /dev/null") if mood[-1] == "hangs" else fail(404, "no such model")

    with running(client_home, root, answer) as stage:
        assert stage.run("--commit").code == 15
        mood.append("hangs")
        process = stage.start()
        eventually((root / "half").exists, deadline_s=60)
        for pid in [*stage.pids("supervise"), process.pid]:
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=30)
        eventually(lambda: not stage.processes())
        mood.append("works")
        assert stage.run().code == 0
    assert git(root, "show", "--format=", "--name-only", "HEAD").count("half") == 1


def test_a_guardian_that_was_stopped_does_not_save_its_agent(client_home, project):
    with running(client_home, project(list_of({})), []) as stage:
        stage.env()
        program = client_home.path / "bin/claude"
        program.unlink()
        # Its guardian says first that it has begun.
        program.write_text("#!/bin/sh\nsleep 1\nkill -STOP $PPID\nexec tail -f /dev/null\n")
        program.chmod(0o755)
        process = stage.start()
        eventually(lambda: stage.pids("tail"), deadline_s=60)
        process.send_signal(signal.SIGINT)
        time.sleep(1.0)  # two at once are one
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=90)
        assert len(stage.events("session_end")) == 1
        eventually(lambda: not stage.processes())
