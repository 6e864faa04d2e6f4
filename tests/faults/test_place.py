"""A state directory that cannot be locked, written or filled: one sentence with its cure, nothing lost."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from faults.ground import Ground
from hook.harness import feature, feature_list
from ralphloop.lab.faults import FULL, NO_LOCKS, READ_ONLY, Fault

CURES = {
    NO_LOCKS: ("cannot be locked (No locks available)", "set XDG_STATE_HOME to its new place"),
    READ_ONLY: ("Read-only file system", "writable for you"),
    FULL: ("No space left on device", "MB free in "),
}
LIST = ".ralph/loops/demo/feature_list.json"


@pytest.fixture(params=CURES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path, "features", {LIST: feature_list(feature("F1"), feature("F2"))})


def assert_told(text: str, kind: str) -> None:
    for words in CURES[kind]:
        assert words in text, text
    assert "Traceback" not in text
    assert "bug" not in text


@pytest.mark.parametrize("words", [("start", "demo", "--yes"), ("done", "F1"), ("pause",)])
def test_a_command_says_what_the_disk_refuses_and_the_cure(
    ground: Ground, kind: str, words: tuple[str, ...]
) -> None:
    if words[0] != "start":
        ground.arm()
    ground.fault = Fault(1, kind)
    began = time.monotonic()
    ended = ground.cli(*words)
    assert time.monotonic() - began < 8  # a lock that is held would be waited for
    assert ended.code == 1, ended
    assert_told(ended.stderr, kind)
    ground.fault = Fault()
    assert ground.cli(*words).code == 0
    assert not list(ground.troubles())


def test_a_stop_is_allowed_and_says_so_and_the_next_one_goes_on(ground: Ground, kind: str) -> None:
    ground.arm()
    assert ground.turn().blocks
    before = ground.loop()["iteration"]
    ground.fault = Fault(1, kind)
    began = time.monotonic()
    answer = ground.turn()
    assert time.monotonic() - began < 8
    assert not answer.blocks
    assert "so the stop is allowed" in answer.message
    assert_told(answer.message, kind)
    ended = ground.cli("status", "--json")
    assert ended.code == 0, ended
    assert json.loads(ended.stdout)["loops"][0]["state"] == "running"
    ground.fault = Fault()
    assert ground.loop()["iteration"] == before
    assert ground.turn().blocks


def test_the_first_message_of_a_session_tells_of_it(ground: Ground, kind: str) -> None:
    ground.arm(session=None)
    ground.fault = Fault(1, kind)
    assert_told(ground.send("SessionStart", source="startup").message, kind)
    ground.fault = Fault()
    assert "owns the loop" in ground.send("SessionStart", source="startup").message


@pytest.mark.parametrize("kind", [NO_LOCKS, READ_ONLY], indirect=True)
def test_doctor_names_it_before_the_night(ground: Ground, kind: str) -> None:
    ground.arm()
    ground.fault = Fault(1, kind)
    ended = ground.cli("doctor", "--no-live", "--json")
    found = [row for row in json.loads(ended.stdout) if row["name"] in ("state", "lock", "project")]
    assert ended.code == 1
    assert {row["level"] for row in found} == {"fatal"}
    for row in found:
        assert_told(f"{row['told']}. {row['fix']}", kind)
