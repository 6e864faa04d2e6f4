"""In plan mode the client may change nothing: the loop waits for the mode to end, and counts nothing."""

from __future__ import annotations

import pytest

from hook.conftest import ProjectFactory
from hook.harness import OTHER, LoopProject, loop_files
from hook.lines import interrupt_line, user_line
from ralphloop.domain.model import PLAN_MODE

PLAN = {"permission_mode": "plan"}


def test_plan_mode_lets_the_agent_stop_and_counts_nothing(armed: LoopProject) -> None:
    armed.turn()
    before = armed.loop()
    said = armed.turn(**PLAN)
    assert not said.blocks
    assert "waits for plan mode to end" in said.message
    loop = armed.loop()
    assert (loop["state"], loop["outcome"], loop["detail"]) == ("waiting", None, PLAN_MODE)
    for counted in ("iteration", "attempts", "no_progress", "same_replies", "empty_replies", "quiet_replies"):
        assert loop[counted] == before[counted], counted


def test_the_wait_is_told_once_per_prompt(features: LoopProject) -> None:
    assert features.turn(**PLAN).message
    assert features.turn(**PLAN).silent
    features.new_prompt()
    assert features.turn(**PLAN).message
    assert features.turn(**PLAN).silent


def test_without_prompt_ids_the_wait_is_told_each_time_the_mode_begins(features: LoopProject) -> None:
    for _ in range(2):
        assert features.turn(**PLAN, prompt_id=...).message
        assert features.turn(**PLAN, prompt_id=...).silent
        assert features.turn(prompt_id=...).blocks


def test_after_plan_mode_the_next_stop_goes_on_and_is_no_interrupt(armed: LoopProject) -> None:
    armed.turn()
    armed.turn(**PLAN)
    armed.new_prompt()
    assert armed.turn().blocks
    loop = armed.loop()
    assert (loop["state"], loop["outcome"], loop["detail"]) == ("running", None, "")


def test_an_esc_while_the_loop_waits_for_the_mode_is_not_about_the_loop(features: LoopProject) -> None:
    """The person breaks off a planning turn, or sends a plan back: nothing of the loop was under way."""
    features.turn()
    features.turn(**PLAN)
    features.add_lines(interrupt_line())
    features.new_prompt()
    assert features.send("UserPromptSubmit", prompt="another plan").silent
    assert features.loop()["state"] == "waiting"
    assert features.turn(**PLAN).message
    features.add_lines(interrupt_line())
    features.new_prompt()
    assert features.turn().blocks


def test_an_esc_before_plan_mode_still_pauses(features: LoopProject) -> None:
    features.turn()
    features.add_lines(interrupt_line())
    features.new_prompt()
    said = features.turn(**PLAN)
    assert "interrupted" in said.message
    assert features.loop()["outcome"] == "interrupted"


def test_a_loop_that_rests_or_has_ended_is_left_alone_in_plan_mode(features: LoopProject) -> None:
    features.turn()
    for state, outcome in (("paused", "interrupted"), ("paused", "rate_limited"), ("ended", "limit")):
        features.edit_loop(state=state, outcome=outcome)
        assert features.turn(**PLAN).silent, outcome
        assert (features.loop()["state"], features.loop()["outcome"]) == (state, outcome)


def test_a_phase_before_execution_is_silent_in_plan_mode_too(project: ProjectFactory) -> None:
    found = project("specum", loop_files("specum", phase="design"))
    found.arm()
    before = found.digest(found.root)
    assert found.stop(**PLAN).silent
    assert found.digest(found.root) == before


def test_quick_mode_waits_for_plan_mode(project: ProjectFactory) -> None:
    found = project("specum", loop_files("specum", phase="design", quickMode=True))
    found.arm()
    said = found.turn(**PLAN)
    assert "plan mode" in said.message
    assert not said.blocks
    assert found.turn().blocks


def test_the_wait_is_no_running_time(features: LoopProject) -> None:
    features.turn(**PLAN)
    features.edit_loop(seen_at=features.loop()["seen_at"] - 9 * 3600)
    features.new_prompt()
    assert features.turn().blocks
    assert features.loop()["elapsed_s"] < 3600


def test_a_print_run_that_ends_in_plan_mode_leaves_the_loop_waiting(armed: LoopProject) -> None:
    armed.turn(**PLAN)
    armed.send("SessionEnd", reason="other")
    loop = armed.loop()
    assert (loop["state"], loop["outcome"], loop["detail"]) == ("waiting", None, PLAN_MODE)


def test_the_same_session_goes_on_after_a_print_run_in_plan_mode(armed: LoopProject) -> None:
    armed.turn(**PLAN)
    armed.send("SessionEnd", reason="other")
    armed.send("SessionStart", source="resume")
    armed.new_prompt()
    assert armed.turn().blocks
    assert (armed.loop()["owner"], armed.loop()["state"]) == (armed.session, "running")


def test_a_session_begun_after_a_print_run_in_plan_mode_goes_on_with_its_loop(features: LoopProject) -> None:
    features.turn(**PLAN)
    features.send("SessionEnd", reason="other")
    features.session = OTHER
    features.new_prompt()
    features.edit_loop(transcript_end=10**6)  # the first session's was much longer
    assert "now owns the loop" in features.send("SessionStart", source="startup").message
    assert (features.loop()["detail"], features.loop()["transcript_end"]) == ("", 0)
    features.add_lines(user_line("go on"))
    assert features.turn().blocks
    assert (features.loop()["owner"], features.loop()["state"]) == (OTHER, "running")


def test_a_session_that_is_older_than_the_wait_does_not_get_the_loop(features: LoopProject) -> None:
    features.add_lines(user_line("something else"), path=features.transcript_of(OTHER))
    features.turn(**PLAN)
    features.send("SessionEnd", reason="other")
    features.session = OTHER
    features.new_prompt()
    assert features.turn().silent
    assert features.loop()["state"] == "waiting"


@pytest.mark.parametrize(("reason", "attended"), [("clear", "0"), ("prompt_input_exit", "1")])
def test_a_clear_or_a_closed_terminal_in_plan_mode_pauses(
    features: LoopProject, reason: str, attended: str
) -> None:
    features.turn(**PLAN)
    features.extra_env["CLAUDE_CODE_SESSION_ATTENDED"] = attended
    features.send("SessionEnd", reason=reason)
    assert (features.loop()["state"], features.loop()["outcome"]) == ("paused", "interrupted")
