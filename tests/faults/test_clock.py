"""A clock that jumps an hour either way in mid-loop, a journal cut in the middle, a transcript gone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from faults.ground import Ground
from hook.harness import feature, feature_list

LIST = ".ralph/loops/demo/feature_list.json"
HOUR = 3600.0


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path, "features", {LIST: feature_list(feature("F1"), feature("F2"))})


def jump(ground: Ground, seconds: float) -> None:
    ground._later_s += seconds


@pytest.mark.parametrize("hours", [(1, -1), (-1, 1), (-1, -1), (1, 1)])
def test_a_clock_that_jumps_ends_no_loop_and_loses_none_of_its_time(
    ground: Ground, hours: tuple[int, int]
) -> None:
    ground.arm()
    for count, hour in enumerate(hours, 2):
        assert ground.turn().blocks
        assert ground.loop()["iteration"] == 2 * count - 2
        elapsed = ground.loop()["elapsed_s"]
        jump(ground, hour * HOUR)
        assert ground.turn().blocks
        assert ground.loop()["iteration"] == 2 * count - 1
        gained = ground.loop()["elapsed_s"] - elapsed
        assert 0 <= gained <= max(0, hour) * HOUR + 60  # ahead looks like a sleep, which counts
        status = ground.cli("status")
        assert (status.code, re.search(rb"\s-\d", status.stdout)) == (0, None), status.stdout
    for number in (1, 2):
        ground.close(number)
    assert not ground.turn().blocks
    assert ground.loop()["outcome"] == "complete"
    assert ground.cli("report").code == 0
    assert not list(ground.troubles())


def test_a_loop_armed_before_the_clock_was_put_back_binds_to_the_next_session(ground: Ground) -> None:
    ground.arm(session=None)
    jump(ground, -HOUR)
    assert "now owns the loop" in ground.send("SessionStart", source="startup").message
    assert ground.turn().blocks
    assert ground.turn().blocks


def test_a_journal_cut_in_the_middle_loses_no_later_line_and_says_what_is_missing(ground: Ground) -> None:
    ground.arm()
    assert ground.turn().blocks
    journal = ground.run_folder / "journal.jsonl"
    text = journal.read_bytes()
    journal.write_bytes(text[: len(text) - 40])
    for number in (1, 2):
        ground.close(number)
    assert not ground.turn().blocks
    report = ground.cli("report", "--format", "json")
    assert report.code == 0, report
    assert "of the journal's lines cannot be read" in report.stdout.decode()
    events = ground.cli("report").stdout.decode()
    assert "complete" in events
    status = ground.cli("status")
    assert status.code == 0


def test_a_transcript_that_is_gone_ends_no_loop_and_is_said(ground: Ground) -> None:
    ground.arm()
    assert ground.turn().blocks
    ground.transcript.unlink()
    answer = ground.stop(last_assistant_message="Another step.")
    assert answer.blocks
    told = json.loads(ground.cli("report", "--format", "json").stdout)
    assert str(ground.transcript) in json.dumps(told)
    assert "tokens unknown" in ground.cli("status").stdout.decode()
