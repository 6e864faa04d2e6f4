"""A terminal session that an API error has ended is woken by its hook when work can go on."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, LoopProject, task_id
from hook.lines import error_line, tool_line
from hook.waiting import HOUR, LATER, Waiting, attended
from ralphloop.agents.transcript import moment
from ralphloop.views import terminal
from ralphloop.views.snapshot import view_of

# Long enough for three hooks to be there before the first is over.
TOGETHER = {**LATER, "last_assistant_message": "API Error: 429 · try again in 8 seconds"}
DOWN = {"error": "server_error", "last_assistant_message": "API Error: 529 Overloaded."}


def events(project: LoopProject) -> list[str]:
    return [entry["event"] for entry in project.journal()]


@pytest.fixture
def each_armed(project: ProjectFactory) -> list[LoopProject]:
    """A project of each layout, so that one wait does for all of them."""
    found = [project(layout) for layout in LAYOUTS]
    for one in found:
        one.arm()
        attended(one).turn()
    return found


@pytest.mark.slow
def test_the_session_is_woken_at_the_reset_in_the_same_iteration(each_armed: list[LoopProject]) -> None:
    for one in each_armed:
        one.add_lines(error_line("API Error: 429 rate_limit_error"))
    before = [one.loop()["iteration"] for one in each_armed]
    with ExitStack() as stack:
        hooks = [stack.enter_context(Waiting(one, **TOGETHER)) for one in each_armed]
        for hook in hooks:
            loop = hook.settled().project.loop()
            assert (loop["state"], loop["outcome"]) == ("paused", "rate_limited")
        due = [one.loop()["resume_at"] for one in each_armed]
        for hook, resume_at in zip(hooks, due, strict=True):
            told = hook.wakes()
            (woken,) = [entry for entry in hook.project.journal() if entry["event"] == "wake"]
            assert (moment(woken["at"]) or 0.0) >= resume_at - 0.001  # which is told in thousandths
            assert "An API error ended your last turn" in told
            assert task_id(hook.project.layout, 1) in told
    for one in each_armed:
        after = one.loop()
        assert (after["state"], after["outcome"], after["wake"]) == ("running", None, "")
        assert events(one)[-2:] == ["stop_failure", "wake"]
    assert [one.loop()["iteration"] for one in each_armed] == before == [2, 2, 2]
    for one in each_armed:
        goes_on(one)


def goes_on(project: LoopProject) -> None:
    """After the wake the next stop is as any other."""
    project.new_prompt()
    assert project.send("UserPromptSubmit", prompt="<task-notification>\n<summary>Stop hook feedback").silent
    assert project.turn(stop_hook_active=True).blocks
    assert (project.loop()["iteration"], project.loop()["failures"]) == (3, 0)


def test_what_the_hook_says_of_itself_is_what_status_shows(features: LoopProject) -> None:
    attended(features)
    with Waiting(features, **HOUR) as hook:
        hook.settled()
        view = view_of(features.the_loop(), now=time.time())
        at = time.strftime("%H:%M", time.localtime(view.resume_at))
        assert view.waker == view.to_json()["waker"] == hook.process.pid
        told = f"  wakes its session at {at} (process {hook.process.pid})."
        assert told in terminal.block(view, now=time.time())
        hook.process.kill()
        hook.process.wait()
    view = view_of(features.the_loop(), now=time.time())
    assert view.waker is None
    assert "goes on at your next message" in terminal.block(view, now=time.time())[-1]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_list_that_cannot_be_read_does_not_keep_the_session_asleep(each_armed: list[LoopProject]) -> None:
    with ExitStack() as stack:
        hooks = [stack.enter_context(Waiting(one, **TOGETHER)) for one in each_armed]
        for hook in hooks:
            hook.settled()
            for file in hook.project.folder.iterdir():
                file.write_text("{")
        for hook in hooks:
            assert hook.wakes().startswith("An API error ended your last turn")


@pytest.mark.parametrize("error", ["authentication_failed", "billing_error", "invalid_request"])
def test_what_no_wait_cures_ends_the_loop_at_once(features: LoopProject, error: str) -> None:
    attended(features).turn()
    with Waiting(features, error=error, last_assistant_message="Please run /login · API Error: 401") as hook:
        hook.leaves()
    assert features.loop()["outcome"] == "failed"
