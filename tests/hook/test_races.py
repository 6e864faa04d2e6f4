"""Many processes at one loop: every answer counts, one session owns it, a cancel holds, a kill is no harm."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OTHER, OWNER, LoopProject, stop_here
from hook.lines import now_iso, tool_line, user_line
from ralphloop.store import files
from ralphloop.store.loop import CANCEL, PAUSE

AT_ONCE = 20


def busy_payload(project: LoopProject, number: int) -> bytes:
    """A stop that looks like progress whichever comes first: a transcript of its own, all tool calls."""
    transcript = project.base / f"stop-{number}.jsonl"
    project.add_lines(*[tool_line("Bash", {}) for _ in range(number % 50 + 1)], path=transcript)
    said = f"Stop {number} is done, {random.random()}."
    fields = {"transcript_path": str(transcript), "last_assistant_message": said}
    return json.dumps(project.payload(**fields)).encode()


def torn_files(project: LoopProject) -> list[Path]:
    return [path for path in (*project.root.rglob("*.json*"), *project.state_home.rglob("*.json*"))
            if path.is_file() and not parses(path)]  # fmt: skip


def parses(path: Path) -> bool:
    text = path.read_text()
    try:
        for part in filter(None, text.split("\n")) if path.suffix == ".jsonl" else [text]:
            json.loads(part)
    except ValueError:
        return False
    return True


def spare_files(project: LoopProject) -> list[Path]:
    return [*project.root.rglob("*.tmp"), *project.state_home.rglob("*.tmp")]


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_twenty_stops_at_once_are_all_counted(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.arm(max_iterations=10**6)
    for number in range(3):
        running = [found.start(busy_payload(found, number * AT_ONCE + at)) for at in range(AT_ONCE)]
        answers = [found.finish(process) for process in running]
        assert [answer.blocks for answer in answers] == [True] * AT_ONCE
        assert found.loop()["iteration"] == 1 + (number + 1) * AT_ONCE
        assert torn_files(found) == []
    iterations = [row["iteration"] for row in found.journal() if row["event"] == "stop"]
    assert sorted(iterations) == list(range(2, 2 + 3 * AT_ONCE))
    assert spare_files(found) == []


def test_two_registrations_at_once_give_one_answer_per_stop(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(max_iterations=10**6)
    for number in range(10):
        if number % 4 == 0:
            found.edit_loop(pending="")
            found.new_prompt()
        data = busy_payload(found, number)
        running = [found.start(data, registration=name) for name in ("ralphloop", "settings")]
        assert sorted(found.finish(process).blocks for process in running) == [False, True]
    assert found.loop()["iteration"] == 11


def test_two_sessions_racing_for_one_armed_loop_have_one_winner(project: ProjectFactory) -> None:
    for number in range(6):
        found = project(LAYOUTS[number % 3])
        found.arm(session=None)
        payloads = []
        for session in (OWNER, OTHER):
            found.add_lines(user_line("go", timestamp=now_iso(1)), path=found.transcript_of(session))
            payloads.append(json.dumps(found.payload(session_id=session)).encode())
        running = [found.start(data) for data in payloads]
        blocks = [found.finish(process).blocks for process in running]
        assert sorted(blocks) == [False, True]
        assert found.loop()["owner"] == (OWNER, OTHER)[blocks.index(True)]
        assert len(list(found.state_home.rglob("owned/*.json"))) == 1


def test_two_stops_racing_to_claim_begin_one_loop(project: ProjectFactory) -> None:
    found = project("specum")
    found.write_by_tool()
    data = json.dumps(found.payload()).encode()
    running = [found.start(data) for _ in range(2)]
    answers = [found.finish(process) for process in running]
    assert any(answer.blocks for answer in answers)
    assert len(found.runs()) == 1
    assert len(list(found.state_home.rglob("owned/*.json"))) == 1


def cancel(project: LoopProject) -> None:
    """As the command does it: the flag first, then the state under the lock, then the record."""
    loop = project.the_loop()
    loop.ask_for(CANCEL)
    with loop.lock():
        state = loop.load()
        assert state is not None
        state.state, state.outcome, state.detail = "ended", "cancelled", "cancelled by the person"
        loop.rest(state)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cancel_during_stops_holds_at_the_next_one(project: ProjectFactory, layout: str) -> None:
    for number in range(4):
        found = project(layout)
        found.arm(max_iterations=10**6)
        found.turn()
        running = [found.start(busy_payload(found, at)) for at in range(5)]
        time.sleep(0.02 * number)
        cancel(found)
        for process in running:
            found.finish(process)
        assert not found.turn().blocks
        loop = found.loop()
        assert (loop["state"], loop["outcome"]) == ("ended", "cancelled")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cancel_with_the_file_removed_brings_nothing_back(project: ProjectFactory, layout: str) -> None:
    for number in range(4):
        found = project(layout)
        found.arm(max_iterations=10**6)
        found.turn()
        running = [found.start(busy_payload(found, at)) for at in range(4)]
        time.sleep(0.02 * number)
        cancel(found)
        found.own.unlink()
        for process in running:
            found.finish(process)
        for _ in range(2):
            assert not found.turn().blocks
        assert not found.own.exists()


def test_a_pause_during_a_stop_holds(project: ProjectFactory) -> None:
    found = project("features")
    found.arm()
    running = [found.start(busy_payload(found, at)) for at in range(4)]
    found.the_loop().ask_for(PAUSE)
    for process in running:
        found.finish(process)
    assert not found.turn().blocks
    assert found.loop()["state"] == "paused"


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_kill_at_any_instant_leaves_a_loop_that_goes_on(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.arm(max_iterations=10**6)
    lottery = random.Random(7)
    for number in range(20):
        process = found.start(busy_payload(found, number))
        time.sleep(lottery.uniform(0.0, 0.06))
        process.send_signal(signal.SIGKILL)
        kill_quietly(process)
        json.loads((found.run_folder / "loop.json").read_text())
        json.loads(found.own.read_text())
        assert [path for path in torn_files(found) if path.suffix == ".json"] == []
    assert found.run(busy_payload(found, 99)).blocks


def kill_quietly(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate(timeout=60)


@pytest.mark.slow
def test_a_kill_while_claiming_leaves_a_list_that_can_be_claimed(project: ProjectFactory) -> None:
    lottery = random.Random(11)
    for _ in range(8):
        found = project("specum")
        found.write_by_tool()
        process = found.start(json.dumps(found.payload()).encode())
        time.sleep(lottery.uniform(0.0, 0.06))
        kill_quietly(process)
        assert found.stop(stop_hook_active=False).blocks


# The lock


class Held:
    """A lock that somebody else holds."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.handle, fcntl.LOCK_EX)

    def release(self) -> None:
        os.close(self.handle)


def test_a_lock_held_past_the_deadline_lets_the_stop_through_and_is_journaled(
    features: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = features.loop()
    held = Held(features.kept("lock"))
    monkeypatch.setattr("ralphloop.store.loop.Lock", short_lock)
    try:
        assert stop_here(features) == ""
    finally:
        held.release()
    assert features.journal()[-1]["event"] == "busy"
    assert features.loop() == before
    assert json.loads(stop_here(features))["decision"] == "block"


def test_a_shelf_locked_past_the_deadline_lets_the_stop_through(
    unarmed: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    unarmed.arm(session=None)
    unarmed.add_lines(user_line("go", timestamp=now_iso(1)))
    held = Held(Path(unarmed.shelf().folder) / "lock")
    monkeypatch.setattr("ralphloop.store.shelf.Lock", short_lock)
    try:
        said = json.loads(stop_here(unarmed))
    finally:
        held.release()
    assert said == {"continue": True, "systemMessage": said["systemMessage"]}
    assert "others were at work here for too long" in said["systemMessage"]
    assert json.loads(stop_here(unarmed))["decision"] == "block"


def short_lock(path: str, *, wait_s: float = 0.0) -> files.Lock:
    return files.Lock(path, wait_s=0.1)


def test_a_lock_that_comes_free_in_time_is_waited_for(features: LoopProject) -> None:
    held = Held(features.kept("lock"))
    timer = threading.Timer(0.5, held.release)
    timer.start()
    answer = features.turn()
    timer.join()
    assert answer.blocks


def test_a_dead_holder_does_not_hold_the_lock(features: LoopProject) -> None:
    code = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 66), 2); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(features.kept("lock"))], check=False)
    assert features.turn().blocks
