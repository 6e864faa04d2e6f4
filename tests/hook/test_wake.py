"""A terminal session that an API error has ended is woken by its hook when work can go on."""

from __future__ import annotations

import os
import signal
import time

import pytest

from hook.harness import LoopProject, task_id
from hook.lines import error_line, tool_line
from hook.waiting import HOUR, LATER, LIMITED, Waiting, attended
from ralphloop.agents.stamp import moment
from ralphloop.views import terminal
from ralphloop.views.snapshot import view_of

DOWN = {"error": "server_error", "last_assistant_message": "API Error: 529 Overloaded."}


def events(project: LoopProject) -> list[str]:
    return [entry["event"] for entry in project.journal()]


def test_the_session_is_woken_at_the_reset_in_the_same_iteration(armed: LoopProject) -> None:
    attended(armed).turn()
    armed.add_lines(error_line("API Error: 429 rate_limit_error"))
    before = armed.loop()
    with Waiting(armed, **LATER) as hook:
        hook.settled()
        loop = armed.loop()
        assert (loop["state"], loop["outcome"]) == ("paused", "rate_limited")
        told = hook.wakes()
    assert time.time() >= loop["resume_at"]
    assert "An API error ended your last turn" in told
    assert task_id(armed.layout, 1) in told
    after = armed.loop()
    assert (after["state"], after["outcome"], after["wake"]) == ("running", None, "")
    assert after["iteration"] == before["iteration"] == 2
    assert events(armed)[-2:] == ["stop_failure", "wake"]


def test_after_the_wake_the_next_stop_goes_on(armed: LoopProject) -> None:
    attended(armed).turn()
    armed.add_lines(error_line("API Error: 429 rate_limit_error"))
    with Waiting(armed, **LIMITED) as hook:
        hook.wakes()
    armed.new_prompt()
    assert armed.send("UserPromptSubmit", prompt="<task-notification>\n<summary>Stop hook feedback").silent
    assert armed.turn(stop_hook_active=True).blocks
    assert (armed.loop()["iteration"], armed.loop()["failures"]) == (3, 0)


def test_what_the_hook_says_of_itself_is_what_status_shows(features: LoopProject) -> None:
    attended(features)
    with Waiting(features, **HOUR) as hook:
        hook.settled()
        view = view_of(features.the_loop())
        at = time.strftime("%H:%M", time.localtime(view.resume_at))
        assert view.waker == view.to_json()["waker"] == hook.process.pid
        told = f"  wakes its session at {at} (process {hook.process.pid})."
        assert told in terminal.block(view, now=time.time())
        hook.process.kill()
        hook.process.wait()
    view = view_of(features.the_loop())
    assert view.waker is None
    assert "goes on at your next message" in terminal.block(view, now=time.time())[-1]


def test_each_further_outage_waits_longer_and_work_in_between_starts_afresh(features: LoopProject) -> None:
    attended(features).turn()
    for number in (1, 2, 3, 4):
        if number == 4:
            features.add_lines(tool_line("Bash", {"command": "true"}))
        features.new_prompt()
        with Waiting(features, **DOWN) as hook:
            hook.wakes()
    failed = [entry for entry in features.journal() if entry["event"] == "stop_failure"]
    waits = [entry["resume_at"] - (moment(entry["at"]) or 0.0) for entry in failed]
    assert waits == [pytest.approx(wait_s, abs=1.0) for wait_s in (1, 2, 4, 1)]
    assert [entry["failures"] for entry in features.journal() if entry["event"] == "wake"] == [1, 2, 3, 1]


def test_an_outage_without_an_end_fails_the_loop(features: LoopProject) -> None:
    attended(features).turn()
    features.edit_loop(failures=7)
    with Waiting(features, **DOWN) as hook:
        hook.settled()
        assert features.loop()["failures"] == 8
    features.new_prompt()
    with Waiting(features, **DOWN) as hook:
        hook.leaves()
    assert (features.loop()["state"], features.loop()["outcome"]) == ("ended", "failed")


def test_a_limit_is_waited_for_however_often_it_comes(features: LoopProject) -> None:
    attended(features).turn()
    features.edit_loop(failures=50)
    with Waiting(features, error="rate_limit", last_assistant_message="API Error: 429") as hook:
        hook.settled()
        assert 890 < features.loop()["resume_at"] - time.time() < 901


def test_a_machine_that_slept_past_the_time_wakes_the_session_late(features: LoopProject) -> None:
    attended(features)
    with Waiting(features, **LATER) as hook:
        hook.settled()
        os.kill(hook.process.pid, signal.SIGSTOP)
        time.sleep(max(0.0, features.loop()["resume_at"] + 2.0 - time.time()))
        assert features.loop()["outcome"] == "rate_limited"
        os.kill(hook.process.pid, signal.SIGCONT)
        hook.wakes()
    assert features.journal()[-1]["late_s"] > 1.0


def test_a_list_that_cannot_be_read_does_not_keep_the_session_asleep(armed: LoopProject) -> None:
    attended(armed).turn()
    with Waiting(armed, **LATER) as hook:
        hook.settled()
        for file in armed.folder.iterdir():
            file.write_text("{")
        assert hook.wakes().startswith("An API error ended your last turn")


@pytest.mark.parametrize("error", ["authentication_failed", "billing_error", "invalid_request"])
def test_what_no_wait_cures_ends_the_loop_at_once(features: LoopProject, error: str) -> None:
    attended(features).turn()
    with Waiting(features, error=error, last_assistant_message="Please run /login · API Error: 401") as hook:
        hook.leaves()
    assert features.loop()["outcome"] == "failed"
