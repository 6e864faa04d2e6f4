"""Nothing that a client started is left: when it ends or is closed, or its holder or guardian is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fakes.effort import rounds
from fakes.patience import eventually
from ralphloop.runner import agent_process
from unit.domain.cases import each
from unit.runner.stage import Stage, a_stage, gone, some, to_the_end, wait_for_line

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

STUBBORN = "sh -c 'trap \"\" TERM INT HUP; echo $$ >> pids; exec sleep 300'"
DAEMON = (
    '"$PYTHON" -c \'import os, time\n'
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    'open("pids", "a").write("%d\\n" % os.getpid())\n'
    "time.sleep(300)'"
)
BARE = "env -i /bin/sh -c 'echo $$ >> pids; exec sleep 300'"  # has no mark
every_kind = each(
    "child", [f"{STUBBORN} &", f"{DAEMON} >/dev/null 2>&1 </dev/null", DAEMON, f"{BARE} &"],
    ids=["ignores signals", "a daemon", "a daemon that holds the output", "another environment"],
    at_once=True,
)  # fmt: skip


def wait_until_empty(stage: Stage) -> None:
    eventually(lambda: not stage.living(), what=stage.living)


@every_kind
def test_what_a_client_leaves_behind_ends_with_it(tmp_path: Path, child: str) -> None:
    with a_stage(tmp_path) as stage:
        agent = stage.shell(f"{child}\nwhile ! [ -s pids ]; do sleep 0.1; done; echo done; exit 2")
        lines, ending = to_the_end(agent)
        assert (lines, ending.code) == ([b"done"], 2)
        assert all(gone(pid) for pid in stage.pids())
        assert stage.living() == []


@every_kind
def test_closing_leaves_nothing(tmp_path: Path, child: str) -> None:
    with a_stage(tmp_path) as stage:
        agent = stage.shell(f"{child}\nsleep 300")
        pids = stage.pids()
        agent.close()
        assert all(gone(pid) for pid in pids)
        assert stage.living() == []


def test_closing_ends_a_client_that_writes_without_end_and_ignores_everything(stage: Stage) -> None:
    agent = stage.shell("trap '' TERM INT HUP PIPE; echo $$ >> pids; while :; do yes; done")
    stage.pids()
    agent.close()
    assert agent.ended is not None
    assert agent.ended.signal == signal.SIGKILL
    assert stage.living() == []


def test_closing_ends_a_client_although_the_guardian_is_stuck(stage: Stage, monkeypatch) -> None:
    monkeypatch.setattr(agent_process, "CLOSING_S", 1.0)
    agent = stage.shell(f"{STUBBORN} & echo $PPID >> pids; sleep 300")
    stage.pids(2)
    os.kill(agent._guardian.pid, signal.SIGSTOP)
    agent.close()
    assert stage.living() == []


@every_kind
def test_a_killed_holder_takes_everything_along(tmp_path: Path, child: str) -> None:
    with a_stage(tmp_path) as stage:
        with stage.holder(f"{child}\necho $$ >> pids; sleep 300") as holder:
            pids = stage.pids(2)
            holder.kill()
            holder.wait()
            wait_until_empty(stage)
        eventually(lambda: all(gone(pid) for pid in pids))


@pytest.mark.slow
def test_a_killed_holder_at_any_instant_leaves_nothing(stage: Stage) -> None:
    chance = random.Random(5)
    for number in range(rounds(12, soak=100)):
        last = STUBBORN if number % 3 == 0 else "sleep 300"
        with stage.holder(f"sleep 300 & {DAEMON}; {last}") as holder:
            time.sleep(chance.uniform(0.0, 0.4))  # from before the guardian to after the daemon
            holder.kill()
            holder.wait()
            wait_until_empty(stage)


@every_kind
def test_a_killed_guardian_is_noticed_and_all_is_ended(tmp_path: Path, child: str) -> None:
    with a_stage(tmp_path) as stage:
        agent = stage.shell(f"echo begun; {child}\necho $$ >> pids; sleep 300")
        pids = stage.pids(2)
        os.kill(agent._guardian.pid, signal.SIGKILL)
        lines, ending = to_the_end(agent)
        assert lines == [b"begun"]
        assert ending[:2] == (None, None)
        assert "watched over the agent was killed" in ending.stderr
        eventually(lambda: all(gone(pid) for pid in pids))
        assert stage.living() == []


def test_a_guardian_that_is_asked_to_end_ends_the_client_and_says_how(stage: Stage) -> None:
    agent = stage.shell("echo $$ >> pids; exec sleep 300")
    stage.pids()
    os.kill(agent._guardian.pid, signal.SIGTERM)
    assert to_the_end(agent)[1][:2] == (None, signal.SIGTERM)


def test_the_client_dies_with_its_guardian_although_nobody_looks(stage: Stage) -> None:
    agent = stage.python(
        "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "print('ready', flush=True); time.sleep(300)"
    )
    wait_for_line(agent, b"ready")
    os.kill(agent._guardian.pid, signal.SIGKILL)
    eventually(lambda: gone(agent.pid))
    agent.close()


@pytest.mark.parametrize("said", [b"", b'{"words": ["touch", "ran"], "cwd": "/"'])
def test_a_guardian_whose_holder_died_before_it_had_said_all_starts_nothing(said: bytes) -> None:
    words = [sys.executable, "-I", "-S", agent_process.GUARDIAN]
    done = subprocess.run(words, input=said, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_number_that_was_given_to_somebody_else_is_left_alone(stage: Stage) -> None:
    other = stage.shell("echo ready; sleep 300")
    wait_for_line(other, b"ready")
    agent_process.end_left(other.pid, born="1", mark="RALPHLOOP_GUARDED=somebody-else")
    some(other)
    assert other.ended is None
    assert not gone(other.pid)
    other.close()
