"""How `ralphloop run` comes to its end when somebody or something breaks in."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import threading
import uuid
from pathlib import Path

import pytest

from e2e.looping import SPECKIT_STATE, SPECUM_STATE, bash, box_turns, feature_turns
from e2e.running import list_of, running, task_in
from fakes.patience import eventually
from ralphloop.lab.reply import fail, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

HANG = "tail -f /dev/null"  # the client refuses a long sleep
SONNET = "claude-sonnet-4-5"


def hangs_once(count: int):
    """The first command hangs; whatever comes after that works through the tasks."""
    first, work = iter([bash(HANG)]), iter(feature_turns(1, count))
    return lambda _: next(first, None) or next(work, text("Nothing is left to be said."))


def at_a_command(stage) -> None:
    eventually(lambda: [pid for pid, words in stage.processes().items() if words[0] == "tail"])


def completes(stage) -> None:
    """The loop goes on where it was."""
    done = stage.run()
    assert done.code == 0, done
    assert stage.ending == ("ended", "complete")
    assert stage.processes() == {}


def test_a_pause_from_another_terminal_lets_the_turn_finish(client_home, project):
    """`run` goes on where it was, with or without a `resume` before it; sessions that clean the tree lose no
    count."""
    first, second = threading.Event(), threading.Event()
    work = [
        reply
        for number in (1, 2, 3)
        for reply in (bash(f"git clean -fdxq; ralphloop done F{number}"), text(f"Feature {number} is made."))
    ]
    replies = iter([work[0].held(first), work[1], work[2].held(second), *work[3:]])
    root = project(list_of({}, {}, {}))
    with running(client_home, root, lambda _: next(replies, text("Over."))) as stage:
        for place, held in enumerate((first, second)):
            process = stage.start()
            stage.server.wait_for_requests(2 * place + 1, deadline_s=60)
            assert stage.command("pause", "demo").code == 0
            held.set()
            process.communicate(timeout=60)
            assert process.returncode == 17, place
            assert stage.ending == ("paused", "interrupted"), place
            states = ["unverified"] * (place + 1) + ["open"] * (2 - place)
            assert stage.tasks() == dict(zip(("F1", "F2", "F3"), states, strict=True))
        assert stage.command("resume", "demo").code == 0
        completes(stage)
    assert set(stage.tasks().values()) == {"unverified"}


def test_a_cancel_ends_a_long_wait(client_home, project):
    limited = fail(429, "This request would exceed your rate limit. Please retry after 3000 seconds.")
    with running(client_home, project(list_of({})), lambda _: limited) as stage:
        process = stage.start()
        eventually(lambda: stage.events("wait"))
        assert stage.command("cancel", "demo").code == 0
        process.communicate(timeout=60)  # the wait itself is 50 minutes
        assert process.returncode == 16
        assert stage.ending == ("ended", "cancelled")
        assert stage.processes() == {}


def test_time_that_is_used_up_ends_a_turn_in_the_middle(client_home, project):
    with running(client_home, project(list_of({})), lambda _: bash(HANG)) as stage:
        done = stage.run("--max-time", "6s")
    assert done.code == 10, done
    assert stage.ending == ("ended", "limit")
    assert stage.processes() == {}


def test_dollars_that_are_used_up_end_a_turn_in_the_middle(client_home, project):
    spending = bash("true").using(output_tokens=100_000)
    with running(client_home, project(list_of({}, model=SONNET)), lambda _: spending) as stage:
        done = stage.run("--max-cost", "2")
    assert done.code == 11, done
    assert stage.ending == ("ended", "budget")
    assert len(stage.server.main_requests) < 5
    assert stage.processes() == {}


def test_without_a_client_nothing_is_armed(client_home, project):
    root = project(list_of({}))
    (client_home.path / "bin").mkdir()
    with running(client_home, root, []) as stage:
        done = stage.run()
    assert done.code == 1
    assert "`claude` is not on PATH" in done.stderr
    assert not (root / ".ralph/run").exists()


def test_with_hooks_switched_off_nothing_is_armed(client_home, project):
    root = project({**list_of({}), ".claude/settings.json": '{"disableAllHooks": true}'})
    with running(client_home, root, []) as stage:
        done = stage.run()
    assert done.code == 1
    assert "disableAllHooks" in done.stderr
    assert not (root / ".ralph/run").exists()


def test_checks_that_nobody_approved_arm_nothing(client_home, project):
    root = project(list_of({"verify": "test -f made-1"}))
    with running(client_home, root, []) as stage:
        process = stage.popen("run", "demo")
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "nothing is approved" in stderr
    assert "`ralphloop run demo --yes`" in stderr
    assert not (root / ".ralph/run").exists()


def test_the_loop_of_a_session_in_the_terminal_is_taken_only_when_asked(client_home, project):
    with running(client_home, project(list_of({})), feature_turns(1, 1)) as stage:
        session = str(uuid.uuid4())
        assert stage.command("start", "demo", "--session", session).code == 0
        refused = stage.run()
        assert refused.code == 1
        assert session in refused.stderr
        assert "--adopt" in refused.stderr
        assert stage.events("session") == []
        done = stage.run("--adopt")
    assert done.code == 0, done
    assert stage.ending == ("ended", "complete")


def spec(layout: str) -> tuple[dict[str, str], Path]:
    """The files of a spec in execution, and its tasks."""
    if layout == "specum":
        folder, pointer, state, begun = "specs/demo", "specs/.current-spec", ".ralph-state.json", SPECUM_STATE
    else:
        folder, pointer = ".specify/specs/001-demo", ".specify/.current-feature"
        state, begun = ".speckit-state.json", SPECKIT_STATE
    files = {
        pointer: Path(folder).name + "\n",
        f"{folder}/tasks.md": "# Tasks\n\n- [ ] 1.1 First\n- [ ] 1.2 Second\n",
        f"{folder}/{state}": json.dumps({**begun, "totalTasks": 2}),
    }
    return files, Path(folder, "tasks.md")


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_a_spec_is_driven_task_by_task(client_home, project, layout):
    files, tasks = spec(layout)
    with running(client_home, project(files), box_turns(tasks, "1.1", "1.2")) as stage:
        process = stage.popen("run", "--batch", "1", "--permission-mode", "bypassPermissions")
        stdout, stderr = process.communicate(timeout=100)
    assert process.returncode == 0, stdout + stderr
    assert stage.ending == ("ended", "complete")
    assert [entry["task"] for entry in stage.events("session")] == ["1.1", "1.2"]
    assert stage.processes() == {}


def test_a_question_waits_for_its_answer(client_home, project):
    def answer(request):
        if task_in(request) == "F1":
            return next(asking, text("I asked."))
        return next(work, text("Over."))

    asking = iter([bash("ralphloop ask F1 'Red or blue?'")])
    work = iter(feature_turns(2, 2))
    with running(client_home, project(list_of({}, {})), answer) as stage:
        done = stage.run()
        assert done.code == 13, done
        assert stage.ending == ("paused", "needs_input")
        assert "Red or blue?" in done.stdout
        assert stage.command("answer", "F1", "Blue.").code == 0
        asking = iter(feature_turns(1, 1))
        completes(stage)
        asked = [str(request.body["messages"]) for request in stage.server.main_requests]
    assert "Blue." in asked[-2]


def test_a_disk_that_takes_nothing_more_ends_the_run_and_loses_nothing(client_home, project):
    with running(client_home, project(list_of({})), hangs_once(1)) as stage:
        process = stage.start()
        at_a_command(stage)
        (supervisor,) = stage.pids("supervise")
        resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (0, 0))
        for pid in [pid for pid, words in stage.processes().items() if "--session-id" in words]:
            os.kill(pid, signal.SIGKILL)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode != 0
        assert "the supervisor broke off" in stderr
        assert "`ralphloop run demo` goes on" in stderr
        assert stage.processes() == {}
        completes(stage)


def test_a_disk_that_takes_nothing_at_all_is_said_at_once_and_closed_streams_are_no_bug(client_home, project):
    with running(client_home, project(list_of({})), feature_turns(1, 1)) as stage:
        words = stage.words("run", "demo", "--yes", "--permission-mode", "bypassPermissions")
        options = {"cwd": stage.root, "env": stage.env(), "check": False, "timeout": 90}
        shell = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *words]
        done = subprocess.run(shell, capture_output=True, text=True, **options)
        assert done.returncode == 1, done
        assert "File too large" in done.stderr
        assert stage.processes() == {}
        closed = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words], **options)
        assert closed.returncode == 0
    assert stage.ending == ("ended", "complete")
