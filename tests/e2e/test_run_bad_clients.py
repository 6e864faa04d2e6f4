"""`ralphloop run` with a client that does not behave: it fails, will not end, or writes without end."""

from __future__ import annotations

import json
import os
import signal
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from e2e.looping import feature_turns
from e2e.running import list_of, running
from fakes.patience import eventually

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

KEY = "sk-ant-api03-" + "Z" * 40
STUBBORN = "trap '' INT TERM; while :; do sleep 1; done"
TELLING = """
trap 'echo INT >> "$HOME/heard"' INT
trap 'echo TERM >> "$HOME/heard"' TERM
while :; do sleep 1; done
"""
GARBAGE = """
cd "$HOME"
[ -e line ] && exec tail -f /dev/null
[ -e lines ] && { touch line; exec cat /dev/zero; }
touch lines; exec yes garbage
"""


def put_in_place_of_the_client(home, script: str) -> None:
    """`claude` on PATH is a shell script; `$REAL` is the real one."""
    folder = home.path / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text(f"#!/bin/sh\nREAL='{home.binary}'\n{script}\n")
    program.chmod(0o755)


def memory_mb(pid: int) -> float:
    """The most that the process ever had in memory."""
    for line in Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"{pid} is gone")


def seconds_between(stage, *kinds: str) -> list[float]:
    at = [datetime.fromisoformat(entry["at"].replace("Z", "+00:00")) for entry in stage.events(*kinds)]
    return [(later - sooner).total_seconds() for sooner, later in pairwise(at)]


def test_a_client_that_fails_at_once_fails_the_loop_after_a_few_tries(client_home, project):
    said = f"no licence for this seat with {KEY}"
    put_in_place_of_the_client(client_home, f"cat >/dev/null; echo '{said}' >&2; exit 3")
    with running(client_home, project(list_of({})), []) as stage:
        done = stage.run()
    assert done.code == 15, done
    assert stage.ending == ("ended", "failed")
    assert "no licence for this seat" in stage.loop["detail"]
    assert "no licence for this seat" in done.stdout
    assert KEY not in f"{done}{stage.loop}{stage.events('session_end', 'wait')}"
    assert len(stage.events("session")) == 5
    assert len(stage.events("wait")) == 3
    # the first failure may be an accident; then each wait is longer than the one before
    gaps = seconds_between(stage, "session")[1:]
    assert all(gap >= least for gap, least in zip(gaps, (1, 2, 4), strict=True)), gaps
    assert stage.processes() == {}


def test_a_client_that_will_not_end_is_killed_and_the_task_tried_again(client_home, project):
    again = f'[ -e "$HOME/tried" ] && exec "$REAL" "$@"; touch "$HOME/tried"; {STUBBORN}'
    put_in_place_of_the_client(client_home, again)
    root = project(list_of({}))
    client_home.trust(root)
    with running(client_home, root, feature_turns(1, 1)) as stage:
        done = stage.run("--idle-timeout", "4s")
    assert done.code == 0, done
    first, _ = stage.events("session_end")
    assert (first["reason"], first["signal"]) == ("idle", signal.SIGKILL)
    assert stage.processes() == {}


def test_a_second_interrupt_kills_at_once(client_home, project):
    put_in_place_of_the_client(client_home, TELLING)
    heard = client_home.path / "heard"
    with running(client_home, project(list_of({})), []) as stage:
        process = stage.start()
        eventually(lambda: stage.pids("claude"))
        process.send_signal(signal.SIGINT)
        eventually(lambda: heard.read_text() == "INT\n")
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
    assert heard.read_text() == "INT\n", "the polite way, which asks once more before it kills"
    assert [entry["signal"] for entry in stage.events("session_end")] == [signal.SIGKILL]
    assert process.returncode == 17
    assert stage.ending == ("paused", "interrupted")
    assert "`ralphloop run demo` goes on" in stdout
    assert stage.processes() == {}


def test_a_killed_supervisor_takes_along_a_client_that_will_not_end(client_home, project):
    """The detached run had told which process to look for."""
    put_in_place_of_the_client(client_home, STUBBORN)
    with running(client_home, project(list_of({})), []) as stage:
        told = json.loads(stage.run("--detach", "--json").stdout)
        eventually(lambda: stage.pids("claude"))
        (supervisor,) = stage.pids("supervise")
        assert (told["name"], told["process"]) == ("demo", supervisor)
        began = time.monotonic()
        os.kill(supervisor, signal.SIGKILL)
        eventually(lambda: not stage.processes(), deadline_s=20)
        print(f"gone after {time.monotonic() - began:.1f} s")


def test_garbage_without_end_is_no_sign_of_life(client_home, project):
    """Lines without end at first, then one line without end, then nothing."""
    put_in_place_of_the_client(client_home, f"echo 'cannot find my words' >&2; {GARBAGE}")
    with running(client_home, project(list_of({})), []) as stage:
        process = stage.start("--idle-timeout", "2s")
        (supervisor,) = eventually(lambda: stage.pids("supervise"))
        most = 0.0
        while process.poll() is None:
            try:
                most = max(most, memory_mb(supervisor))
            except (OSError, AssertionError):
                break
            time.sleep(0.1)
        stdout, stderr = process.communicate(timeout=100)
    assert process.returncode == 15, stdout + stderr
    assert stage.ending == ("ended", "failed")
    assert "silent for too long: cannot find my words" in stage.loop["detail"]
    assert len(stage.events("session")) == 5
    assert (client_home.path / "line").exists()
    assert 10 < most < 150
    print(f"the supervisor had {most:.0f} MB at most")
