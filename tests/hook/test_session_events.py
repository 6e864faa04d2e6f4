"""What happens around the stops: a session begins, compacts, is cleared, breaks off, ends."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hook.harness import OTHER, OWNER, LoopProject, task_id
from hook.lines import cap_line, compact_line, error_line


@pytest.mark.parametrize("reason", ["clear", "prompt_input_exit", "other"])
def test_the_end_of_the_session_pauses_the_loop(features: LoopProject, reason: str) -> None:
    features.turn()
    assert features.send("SessionEnd", reason=reason).silent
    assert (features.loop()["state"], features.loop()["outcome"]) == ("paused", "interrupted")
    assert reason in features.loop()["detail"]
    assert features.journal()[-1]["event"] == "session_end"


def test_a_loop_paused_by_the_end_of_its_session_waits_for_resume(armed: LoopProject) -> None:
    armed.turn()
    armed.send("SessionEnd", reason="other")
    answer = armed.send("SessionStart", source="resume")
    assert ("resume" if armed.layout == "features" else ":implement") in answer.message
    assert not answer.context
    armed.new_prompt()
    before = armed.digest(armed.root)
    assert armed.stop().silent
    assert armed.digest(armed.root) == before


def test_the_end_of_an_ended_loops_session_changes_nothing(features: LoopProject) -> None:
    for number in (1, 2, 3):
        features.close(number)
    features.turn()
    before = features.digest()
    assert features.send("SessionEnd", reason="other").silent
    assert features.digest() == before


def test_a_resumed_session_keeps_its_running_loop(features: LoopProject) -> None:
    features.turn()
    before = features.digest()
    assert features.send("SessionStart", source="resume").silent
    assert features.digest() == before
    features.new_prompt()
    features.edit_loop(pending="")
    assert features.turn().blocks


def test_after_a_compaction_the_task_is_put_back_once_and_the_owner_kept(armed: LoopProject) -> None:
    armed.turn()
    armed.add_lines(compact_line())
    answer = armed.send("SessionStart", source="compact")
    assert answer.said["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert task_id(armed.layout, 1) in answer.context
    assert "decision" not in answer.said
    assert armed.journal()[-1]["event"] == "compact"
    assert armed.loop()["iteration"] == 2
    assert armed.turn().blocks
    assert armed.loop()["owner"] == OWNER


def test_after_a_compaction_only_the_serving_registration_speaks(features: LoopProject) -> None:
    features.turn(registration="plugin")
    assert features.send("SessionStart", source="compact", registration="settings").silent
    assert features.send("SessionStart", source="compact", registration="plugin").context


def test_after_a_compaction_a_paused_loop_says_nothing(features: LoopProject) -> None:
    features.turn()
    features.send("SessionEnd", reason="other")
    assert features.send("SessionStart", source="compact").silent


def test_a_session_that_the_clients_cap_ended_is_capped(armed: LoopProject) -> None:
    """A print run sends no further message that could tell it (facts 20, 25)."""
    armed.turn()
    armed.add_lines(cap_line())
    armed.send("SessionEnd", reason="other")
    assert (armed.loop()["state"], armed.loop()["outcome"]) == ("ended", "capped")
    assert "blocked the turn from ending" in armed.loop()["detail"]


def test_clear_begins_a_session_that_does_not_own_the_paused_loop(features: LoopProject) -> None:
    features.turn()
    features.send("SessionEnd", reason="clear")
    features.session = OTHER
    features.new_prompt()
    features.send("SessionStart", source="clear")
    before = features.digest(features.root)
    assert features.stop().silent
    assert features.digest(features.root) == before


def test_the_session_after_a_clear_is_told_once_what_became_of_the_loop(armed: LoopProject) -> None:
    armed.turn()
    armed.send("SessionEnd", reason="clear")
    armed.session = OTHER
    assert armed.send("SessionStart", source="startup").silent
    told = armed.send("SessionStart", source="clear").message
    assert "paused by /clear" in told
    assert f"resume {armed.folder.name} --adopt`" in told
    assert armed.send("SessionStart", source="clear").silent


def test_a_session_after_a_clear_hears_nothing_of_loops_that_rest_for_another_reason(
    features: LoopProject,
) -> None:
    features.turn()
    features.send("SessionEnd", reason="other")
    features.session = OTHER
    assert features.send("SessionStart", source="clear").silent


def test_a_stop_failure_by_rate_limit_pauses_until_the_next_stop(features: LoopProject) -> None:
    features.turn()
    details = "429 rate_limit_error: resets 7pm (Asia/Tokyo)"
    assert features.send("StopFailure", error="rate_limit", error_details=details).silent
    loop = features.loop()
    assert (loop["state"], loop["outcome"]) == ("paused", "rate_limited")
    zone = ZoneInfo("Asia/Tokyo")
    reset = datetime.now(zone).replace(hour=19, minute=0, second=0, microsecond=0)
    if reset.timestamp() <= time.time():
        reset += timedelta(days=1)
    assert loop["resume_at"] == pytest.approx(reset.timestamp() + 60, abs=1)
    assert loop["iteration"] == 2
    features.new_prompt()
    features.add_lines(error_line("API Error: 429 rate_limit_error"))
    assert features.turn().blocks
    assert features.loop()["iteration"] == 3


@pytest.mark.parametrize("error", ["server_error", "unknown", "invalid_request"])
def test_another_stop_failure_fails_the_loop(features: LoopProject, error: str) -> None:
    features.turn()
    assert features.send("StopFailure", error=error, error_details="API Error: 400 bad").silent
    assert features.loop()["outcome"] == "failed"
    features.new_prompt()
    assert features.stop().silent


def test_an_event_that_is_not_ours_is_left_alone(features: LoopProject) -> None:
    before = features.digest()
    for event in ("Notification", "PreToolUse", "PreCompact", "", "stop"):
        assert features.stop(hook_event_name=event).silent, event
        assert features.digest() == before, event
