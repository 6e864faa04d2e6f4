"""Commits when processes are killed in the middle of them, or do the same at once."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.effort import rounds
from fakes.patience import eventually
from hook.branches import commits, driven, git, is_clean, turn
from hook.conftest import ProjectFactory
from hook.harness import LoopProject, feature
from hook.proven import events, known

ROUNDS = rounds(5, soak=20)
CHANCE = random.Random()


def test_a_commit_that_the_ledger_lost_is_not_made_again(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"), feature("F3"))
    turn(found)
    places = [found.kept("ledger.json"), found.run_folder / "ledger.json"]
    found.close(1)
    turn(found)
    (only,) = commits(found)
    for place in places:
        ledger = json.loads(place.read_text())
        del ledger["tasks"]["F1"]["commit"], ledger["tasks"]["F1"]["committed"]
        place.write_text(json.dumps(ledger))
    turn(found, 2)
    assert [commit.task for commit in commits(found)] == ["F1", "F2"]
    assert known(found, "F1")["commit"] == only.sha


def test_stops_at_once_make_one_commit(project: ProjectFactory):
    found = driven(project, *(feature(f"F{n}") for n in range(1, 6)))
    for number in (1, 2, 3):
        found.close(number)
    payload = json.dumps(found.payload()).encode()
    running = [found.start(payload, registration="run") for _ in range(6)]
    for process in running:
        found.finish(process)
    turn(found)
    assert [commit.task for commit in commits(found)] == ["F1", "F2", "F3"]


def children(pid: int) -> list[int]:
    """The process and all that it has started, from the deepest one up."""
    found = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                found += children(int(child))
    return [*found, pid]


def kill(process: subprocess.Popen[bytes], *, whole: bool) -> None:
    for pid in children(process.pid) if whole else [process.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)


def begin_turn(found: LoopProject) -> subprocess.Popen[bytes]:
    return found.start(json.dumps(found.payload()).encode(), registration="run")


def await_index(found: LoopProject, process: subprocess.Popen[bytes]) -> None:
    """Until the files are being looked at."""
    old = set((found.root / ".git").glob("ralphloop-index-*"))
    _meet(process, lambda: not set((found.root / ".git").glob("ralphloop-index-*")) <= old)


def await_commit(found: LoopProject, process: subprocess.Popen[bytes]) -> None:
    """Until the branch has moved: the ledger does not know of it yet."""
    branch = found.root / ".git" / "refs" / "heads" / "work"
    old = branch.read_text()
    _meet(process, lambda: branch.read_text() != old)


def _meet(process: subprocess.Popen[bytes], is_now: Callable[[], bool]) -> None:
    """The instant itself, or a hook that was faster than the look."""
    eventually(lambda: is_now() or process.poll() is not None, deadline_s=60, pause_s=0.0)


def await_chance(found: LoopProject, process: subprocess.Popen[bytes]) -> None:
    time.sleep(CHANCE.uniform(0, 0.3))


def unlock(found: LoopProject) -> None:
    """Take away what a killed git has left, as a person does; all that could still hold it has ended."""
    for name in ("HEAD.lock", "index.lock", "refs/heads/work.lock"):
        (found.root / ".git" / name).unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("whole", [False, True], ids=["the hook", "all of its processes"])
@pytest.mark.parametrize("moment", [await_index, await_commit, await_chance], ids=lambda one: one.__name__)
def test_killed_at_any_instant_every_task_has_one_commit(project: ProjectFactory, moment, whole):
    found = driven(project, *(feature(f"F{n}") for n in range(1, ROUNDS + 2)))
    for number in range(1, ROUNDS + 1):
        (found.root / f"work{number}.txt").write_text("x\n")
        found.close(number)
        process = begin_turn(found)
        moment(found, process)
        kill(process, whole=whole)
        if whole:
            unlock(found)
        settle(found, number)
    assert [commit.task for commit in commits(found)] == [f"F{n}" for n in range(1, ROUNDS + 1)]
    tracked = git(found, "ls-tree", "-r", "--name-only", "work").splitlines()
    assert {f"work{n}.txt" for n in range(1, ROUNDS + 1)} <= set(tracked)
    for number in range(1, ROUNDS + 1):
        assert known(found, f"F{number}")["commit"] == commits(found)[number - 1].sha
    turn(found, ROUNDS + 1)
    assert is_clean(found)
    assert git(found, "fsck", "--connectivity-only", "--no-dangling") == ""


def settle(found: LoopProject, number: int) -> None:
    """Stop until the task's commit is noted: an orphan of the killed hook may be at it for a moment."""

    def is_noted() -> bool:
        turn(found)
        return "commit" in known(found, f"F{number}")

    if "commit" not in known(found, f"F{number}"):
        eventually(is_noted, what=lambda: events(found, "commit_failed"))
