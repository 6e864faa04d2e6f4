"""What single rules say, count and keep."""

from __future__ import annotations

import pytest

from ralphloop.domain.continuing import promised
from ralphloop.domain.decide import decide
from ralphloop.domain.model import (
    AWAITING_APPROVAL,
    CAPPED,
    FAILED,
    INTERRUPTED,
    LIMIT,
    NEEDS_INPUT,
    PAUSED,
    RATE_LIMITED,
    RUNNING,
    WAITING,
    Limits,
    Turn,
)
from unit.domain.build import a_ledger, a_loop, a_stop, look, situation
from unit.domain.cases import each
from unit.layouts import FEATURES, SPECKIT, SPECUM

OPEN = look("F1", "F2")
SPEC = look("1", "2", sequential=True)


@pytest.mark.parametrize("outcome", [RATE_LIMITED, AWAITING_APPROVAL])
def test_a_loop_that_goes_on_by_itself_goes_on_at_the_next_stop(outcome):
    answer = decide(situation(OPEN, loop=a_loop(state=PAUSED, outcome=outcome, detail="x", resume_at=5.0)))
    assert answer.blocks
    assert (answer.loop.state, answer.loop.outcome) == (RUNNING, None)
    assert (answer.loop.detail, answer.loop.resume_at) == ("", None)


@pytest.mark.parametrize(
    ("ledger", "blocks"),
    [(a_ledger(F1={"question": "?"}), False), (a_ledger(F1={"question": "?", "answer": "yes"}), True)],
)
def test_a_question_holds_the_loop_until_it_is_answered(ledger, blocks):
    loop = a_loop(state=PAUSED, outcome=NEEDS_INPUT)
    assert decide(situation(look("F1", ledger=ledger), loop=loop)).blocks is blocks


def test_a_question_whose_task_was_closed_lets_the_loop_complete():
    loop = a_loop(state=PAUSED, outcome=NEEDS_INPUT)
    assert decide(situation(look("F1!"), loop=loop)).rule == "complete"


@pytest.mark.parametrize("outcome", [INTERRUPTED, FAILED, CAPPED, None])
def test_any_other_pause_is_left_as_it_is(outcome):
    answer = decide(situation(OPEN, loop=a_loop(state=PAUSED, outcome=outcome)))
    assert (answer.blocks, answer.writes) == (False, False)


@pytest.mark.parametrize("outcome", [RATE_LIMITED, AWAITING_APPROVAL])
def test_quick_mode_too_goes_on_by_itself_after_a_rate_limit(outcome):
    work = look("1", phase="design", sequential=True, quick=True)
    answer = decide(situation(work, loop=a_loop(layout=SPECUM, state=PAUSED, outcome=outcome)))
    assert answer.blocks
    assert (answer.loop.state, answer.loop.outcome) == (RUNNING, None)


@pytest.mark.parametrize(
    ("pending", "prompt", "active", "interrupted"),
    [
        ("p1", "p2", False, True),
        ("p1", "p1", False, False),
        ("p1", "p2", True, False),
        ("", "p2", False, False),
        ("p1", "", False, False),
    ],
)
def test_another_prompt_after_a_continuation_shows_an_interrupt(pending, prompt, active, interrupted):
    event = a_stop(prompt=prompt, active=active)
    answer = decide(situation(OPEN, loop=a_loop(pending=pending), event=event))
    assert (answer.loop.outcome == INTERRUPTED) is interrupted


def test_a_continuation_remembers_its_prompt_and_an_allowed_stop_forgets_it():
    event = a_stop(prompt="p1")
    assert decide(situation(OPEN, event=event)).loop.pending == "p1"
    assert decide(situation(look("F1!"), event=event, loop=a_loop(pending="p1"))).loop.pending == ""


@pytest.mark.parametrize("outcome", [RATE_LIMITED, FAILED])
def test_the_error_that_paused_a_loop_does_not_pause_it_again(outcome):
    loop = a_loop(state=PAUSED, outcome=RATE_LIMITED)
    assert decide(situation(OPEN, loop=loop, turn=Turn(broken_off=outcome, tools=1))).blocks


def test_a_rate_limit_keeps_the_instant_at_which_it_ends():
    answer = decide(situation(OPEN, turn=Turn(broken_off=RATE_LIMITED, resume_at=7.0)))
    assert answer.loop.resume_at == 7.0


@pytest.mark.parametrize(
    ("background", "crons", "quiet", "tools", "waits"),
    [
        ([("shell", "npm run dev")], 0, 0, 0, False),
        ([("shell", "npm run dev")], 0, 1, 0, True),
        ([("shell", "npm run dev")], 0, 1, 1, False),
        ([("monitor", "m")], 0, 1, 0, True),
        ([], 1, 1, 0, True),
        ([], 1, 0, 0, False),
        ([], 0, 5, 0, False),
    ],
)
def test_a_shell_holds_the_loop_only_after_two_replies_without_a_tool_call(
    background, crons, quiet, tools, waits
):
    event = a_stop(background=background, crons=crons)
    loop = a_loop(quiet_replies=quiet, tasks_seen=OPEN.digest)
    answer = decide(situation(OPEN, event=event, loop=loop, turn=Turn(tools=tools)))
    assert (answer.loop.state == WAITING) is waits
    assert answer.blocks is not waits


def test_a_wait_counts_nothing():
    loop = a_loop(iteration=4, no_progress=2, quiet_replies=1)
    event = a_stop(background=[("subagent", "x")])
    answer = decide(situation(OPEN, event=event, loop=loop, turn=Turn()))
    assert (answer.loop.iteration, answer.loop.no_progress) == (4, 2)


def test_what_still_runs_is_named_in_the_reason():
    event = a_stop(background=[("shell", "npm run\ndev")], crons=2)
    reason = decide(situation(OPEN, event=event)).reason
    assert "Still running in the background (shell): npm run dev" in reason
    assert "2 scheduled prompts" in reason


def test_a_corrupt_file_blocks_once_per_content():
    loop = a_loop()
    first = decide(situation(None, fault="bad", files="one", loop=loop))
    assert (first.blocks, first.loop.iteration) == (True, 2)
    assert "bad" in first.reason
    assert decide(situation(None, fault="bad", files="two", loop=first.loop.copy())).blocks
    again = decide(situation(None, fault="bad", files="one", loop=first.loop.copy()))
    assert not again.blocks
    assert again.message


def test_corruption_never_goes_past_the_iteration_limit():
    answer = decide(situation(None, fault="bad", loop=a_loop(iteration=5), limits=Limits(iterations=5)))
    assert not answer.blocks
    assert (answer.loop.outcome, answer.loop.iteration) == (LIMIT, 5)


def test_a_loop_that_blocks_is_running():
    loop = a_loop(state=PAUSED, outcome=RATE_LIMITED, layout=SPECUM, iteration=9)
    assert decide(situation(None, fault="bad", loop=loop.copy())).loop.state == RUNNING
    at_limit = decide(situation(SPEC, loop=loop.copy(), limits=Limits(iterations=9)))
    assert at_limit.blocks
    assert (at_limit.loop.state, at_limit.loop.outcome) == (RUNNING, None)


def test_completion_speaks_for_features_and_is_silent_for_the_others():
    work = look("F1!", "F2", ledger=a_ledger(F2="skipped"))
    said = {name: decide(situation(work, loop=a_loop(layout=name))) for name in (FEATURES, SPECUM, SPECKIT)}
    assert said[FEATURES].message == "ralphloop demo: complete: 1/2 done, 1 skipped"
    assert said[SPECUM].message == said[SPECKIT].message == ""
    assert {answer.status for answer in said.values()} == {"COMPLETE"}


def test_the_iteration_limit_ends_each_layout_in_its_own_voice():
    def at_limit(layout, **values):
        return decide(situation(SPEC, loop=a_loop(layout=layout, iteration=15, **values), limits=Limits()))

    features = at_limit(FEATURES)
    assert (features.blocks, features.stderr, features.status) == (False, "", "REACHED_LIMIT")
    assert "iteration 15 of 15" in features.message
    speckit = at_limit(SPECKIT)
    assert (speckit.blocks, speckit.message) == (False, "")
    reached = "Maximum global iterations reached (iteration 15 of 15)"
    assert speckit.stderr == f"[ralph-speckit] {reached}; open: 1, 2"
    first = at_limit(SPECUM)
    assert first.blocks
    assert first.reason.startswith("ERROR: Maximum global iterations reached (iteration 15 of 15). ")
    assert first.stderr == f"[ralph-specum] {reached}; open: 1, 2"
    second = at_limit(SPECUM, told=first.loop.told)
    assert (second.blocks, second.loop.outcome) == (False, LIMIT)


def test_a_count_in_the_state_file_that_is_higher_is_honoured():
    work = look("1", sequential=True, iteration=14)
    answer = decide(situation(work, loop=a_loop(layout=SPECUM, iteration=3), limits=Limits(iterations=15)))
    assert answer.loop.iteration == 15


def test_going_on_counts_the_iteration_and_remembers_the_task():
    answer = decide(situation(OPEN, loop=a_loop(iteration=3, state=WAITING)))
    assert (answer.loop.iteration, answer.loop.current, answer.task) == (4, "F1", "F1")
    assert (answer.loop.state, answer.status) == (RUNNING, "IN_PROGRESS")


@pytest.mark.parametrize("active", [True, False])
def test_stop_hook_active_is_no_reason_to_stop(active):
    assert decide(situation(OPEN, event=a_stop(active=active))).blocks


@pytest.mark.parametrize("layout", [FEATURES, SPECUM, SPECKIT])
def test_messages_are_one_line_whatever_the_ids_are(layout):
    name = "a\nb" + "x" * 5000
    work = look(name, sequential=layout != FEATURES)
    for loop in (a_loop(layout=layout), a_loop(layout=layout, iteration=30, told=[LIMIT])):
        answer = decide(situation(work, loop=loop))
        for text in (answer.message, answer.stderr):
            assert "\n" not in text
            assert len(text) < 1000


@each(
    ("reply", "is_promise"),
    [
        ("ALL_TASKS_COMPLETE", True),
        ("Everything is done.\n\nALL_TASKS_COMPLETE", True),
        ("ALL_TASKS_COMPLETE  \t\n\n  \n", True),
        ("done\r\nALL_TASKS_COMPLETE\r\n", True),
        ("```\ncode\n```\nALL_TASKS_COMPLETE", True),
        ("see `x`:\n```py\nx\n```\n\nALL_TASKS_COMPLETE\n", True),
        ("~~~\n```\n~~~\nALL_TASKS_COMPLETE", True),
        ("```not a fence```\nALL_TASKS_COMPLETE", True),
        ("", False),
        ("ALL_TASKS_COMPLETE.", False),
        ("all_tasks_complete", False),
        ("ALL_TASKS_COMPLETE\nOne thing is left.", False),
        ("I will say ALL_TASKS_COMPLETE when I am done", False),
        ("> ALL_TASKS_COMPLETE", False),
        ('"ALL_TASKS_COMPLETE"', False),
        ("`ALL_TASKS_COMPLETE`", False),
        ("    ALL_TASKS_COMPLETE", False),
        ("```\nALL_TASKS_COMPLETE\n```", False),
        ("```\nALL_TASKS_COMPLETE", False),
        ("~~~\nALL_TASKS_COMPLETE", False),
        ("```\n~~~\nALL_TASKS_COMPLETE", False),
        ("````\n```\nALL_TASKS_COMPLETE", False),
        ("ALL_TASKS_COMPLETE\n```\n```", False),
    ],
)
def test_the_promise_counts_only_as_the_last_line_outside_fences_and_quotes(reply, is_promise):
    assert promised(reply) is is_promise


def test_a_promise_with_open_tasks_is_refused_by_naming_them():
    answer = decide(situation(OPEN, event=a_stop(reply="ALL_TASKS_COMPLETE")))
    assert answer.blocks
    assert "ALL_TASKS_COMPLETE is refused: 2 tasks are open: F1, F2." in answer.reason


def test_the_transcript_is_asked_where_the_event_has_no_reply():
    turn = Turn(tools=1, reply="ALL_TASKS_COMPLETE")
    assert "refused" in decide(situation(OPEN, turn=turn)).reason
    assert "refused" not in decide(situation(OPEN, turn=turn, event=a_stop(reply="working"))).reason
