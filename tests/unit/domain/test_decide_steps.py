"""What a decision asks for first, counts, and says in its trace."""

from __future__ import annotations

import pytest

from ralphloop.domain.check_results import Refusal, Results
from ralphloop.domain.decide import decide
from ralphloop.domain.limits import Spent, reply_mark
from ralphloop.domain.model import (
    BUDGET,
    COMPLETE,
    ENDED,
    FAILED,
    NEEDS_APPROVAL,
    PAUSED,
    RUNNING,
    STALLED,
    Limits,
    Task,
    Turn,
)
from ralphloop.domain.situation import Decision, Need
from unit.domain.build import a_ledger, a_loop, a_stop, look, situation
from unit.domain.cases import each
from unit.layouts import FEATURES, SPECUM

OPEN = look("F1", "F2")
ONE = look("F1")
CHECKED = Task("F1", "", done=True, verify=["make"])
CLAIM = look(CHECKED, "F2")
PROVED = look(CHECKED, ledger=a_ledger(F1="proven"))
EARLY = look("1", phase="design", sequential=True)


def results(**values) -> Results:
    made = Results()
    for name, value in values.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"work": OPEN}, "continue"),
        ({"work": EARLY}, "allow, write nothing"),
        ({"work": OPEN, "turn": Turn(queued=True)}, "allow (running)"),
        ({"work": look()}, "allow (failed)"),
        ({"work": CLAIM}, "run the checks first"),
        ({"fault": "x", "backup": True}, "restore the file first"),
        ({"work": OPEN, "loop": a_loop(attempts={"F1": 5})}, "set F1 aside first"),
    ],
)
def test_the_trace_ends_with_the_verdict(given, said):
    trace: list[tuple[str, str]] = []
    answer = decide(situation(**given), trace)
    assert trace[-1] == (answer.rule, said)
    assert {text for _, text in trace[:-1]} <= {""}


@pytest.mark.parametrize(
    ("given", "once"),
    [({"fault": "gone", "backup": True}, True), ({"fault": "broken", "backup": True}, False)],
)
def test_only_a_file_that_is_gone_is_restored_no_more_than_once(given, once):
    answer = decide(situation(**given))
    assert isinstance(answer, Need)
    assert (answer.restore, answer.once, answer.checks, answer.why) == (True, once, "", "")


def test_a_refused_claim_is_an_attempt_at_its_task():
    refused = [Refusal("F1", why="red"), Refusal("F2", why="red"), Refusal("F1", why="red")]
    loop = a_loop(attempts={"F2": 1})
    answer = decide(situation(OPEN, loop=loop, results=results(refused=refused)))
    assert answer.loop.attempts == {"F1": 2, "F2": 2}
    assert answer.refused == "F1, F2, F1"
    assert "The claim of task F1 is refused: red." in answer.reason


def test_checks_that_nobody_approved_hold_a_list_of_features():
    waits = results(blocked=True, commands=["make", "make\nlint"], digest="d1", waiting=["F1"])
    answer = decide(situation(CLAIM, results=waits))
    assert isinstance(answer, Decision)
    assert (answer.rule, answer.loop.state, answer.loop.outcome) == ("claims", PAUSED, NEEDS_APPROVAL)
    assert answer.loop.detail == "checks that the person has not approved: make; make lint"
    assert answer.message == (
        "ralphloop demo: these checks need your approval: 2, shown by `ralphloop approve --show`. "
        "Type `/ralphloop:approve d1` here, or run `ralphloop approve`."
    )


@pytest.mark.parametrize(
    ("layout", "blocked", "rule"),
    [(SPECUM, True, "go_on"), (FEATURES, False, "go_on"), (FEATURES, True, "claims")],
)
def test_a_spec_goes_on_without_its_checks(layout, blocked, rule):
    work = look("1", "2", sequential=layout == SPECUM)
    waits = results(blocked=blocked, commands=["make"])
    assert decide(situation(work, loop=a_loop(layout=layout), results=waits)).rule == rule


def test_where_nothing_else_can_be_done_the_loop_waits_for_the_approval():
    work = look(CHECKED)
    waits = results(commands=["make"], digest="d1", waiting=["F1"])
    answer = decide(situation(work, results=waits))
    assert (answer.rule, answer.loop.outcome) == ("nothing_can_run", NEEDS_APPROVAL)
    assert "`make`" in answer.message


def test_what_was_claimed_while_the_checks_ran_is_the_next_stops():
    answer = decide(situation(look(CHECKED), results=Results()))
    assert answer.rule == "go_on"
    assert answer.task == ""


@pytest.mark.parametrize(
    ("known", "rule", "checks"),
    [
        (None, "complete", "final"),
        ({}, "complete", "final"),
        ({"final": True}, "complete", ""),
        ({"unfinished": ["F1"]}, "go_on", ""),
        ({"final": True, "unfinished": ["F1"]}, "go_on", ""),
    ],
)
def test_a_list_with_checks_is_complete_once_all_are_green_in_one_go(known, rule, checks):
    answer = decide(situation(PROVED, results=None if known is None else results(**known)))
    assert answer.rule == rule
    assert (answer.checks if isinstance(answer, Need) else "") == checks
    if known == {"final": True}:
        assert answer.loop.outcome == COMPLETE
        assert answer.message == "ralphloop demo: complete: 1/1 proven"


def test_a_proof_is_work_even_where_no_tool_was_seen():
    idle = Turn(readable=True)
    assert decide(situation(PROVED, turn=idle, results=results(final=True))).loop.outcome == COMPLETE


def test_checks_that_go_on_are_waited_for():
    answer = decide(situation(PROVED, results=results(unfinished=["F1"])))
    assert answer.blocks
    assert answer.reason == (
        "ralphloop demo: checks are still to run; they go on when you stop.\n\nReply that you wait."
    )
    assert answer.message == "ralphloop · iteration 2/30 · 1/1 proven · next the rest of the checks"


def test_a_turn_that_only_waits_for_checks_is_no_idleness():
    loop = a_loop(tasks_seen=PROVED.digest, no_progress=2)
    waiting = situation(PROVED, loop=loop, turn=Turn(), results=results(unfinished=["F1"]))
    assert decide(waiting).loop.no_progress == 0


@pytest.mark.parametrize(("claims", "outcome"), [((), STALLED), (("F1",), None)])
def test_a_claim_is_progress(claims, outcome):
    loop = a_loop(tasks_seen=ONE.digest, no_progress=2)
    assert decide(situation(ONE, loop=loop, turn=Turn(), claims=claims)).loop.outcome == outcome


@pytest.mark.parametrize(("cap", "outcome"), [(8, None), (2, STALLED)])
def test_the_clients_own_cap_shortens_our_patience(cap, outcome):
    loop = a_loop(tasks_seen=OPEN.digest)
    assert decide(situation(OPEN, loop=loop, turn=Turn(), cap=cap)).loop.outcome == outcome


def test_the_reply_of_the_event_counts_and_else_that_of_the_transcript():
    loop = a_loop(reply=reply_mark("the same words as ever"), same_replies=2, tasks_seen=ONE.digest)
    said = Turn(readable=True, tools=1, reply="the same words as ever")
    assert decide(situation(ONE, loop=loop.copy(), turn=said)).loop.outcome == STALLED
    other = a_stop(reply="something that is new")
    assert decide(situation(ONE, loop=loop.copy(), turn=said, event=other)).blocks


def spent(**values) -> Spent:
    made = Spent()
    for name, value in values.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("used", "limits", "rule"),
    [
        ({"tokens": 9}, {"tokens": 10}, "go_on"),
        ({"tokens": 10}, {"tokens": 10}, "limits"),
        ({"cost_usd": 1.0}, {"cost_usd": 1.0}, "limits"),
        ({"task_tokens": {"F1": 10}}, {"task_tokens": 10}, "limits"),
        ({"task_tokens": {"F2": 10}}, {"task_tokens": 10}, "go_on"),
        ({"task_cost_usd": {"F1": 2.0}}, {"task_cost_usd": 1.5}, "limits"),
    ],
)
def test_a_budget_ends_the_loop_or_the_task(used, limits, rule):
    assert decide(situation(OPEN, spent=spent(**used), limits=Limits(**limits))).rule == rule


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"loop": a_loop(attempts={"F1": 5})}, "task F1 was tried 5 times"),
        (
            {"spent": spent(task_tokens={"F1": 7}), "limits": Limits(task_tokens=7)},
            "task F1 used 7 of 7 tokens",
        ),
    ],
)
def test_a_task_of_a_list_of_features_is_set_aside_with_the_reason(given, why):
    answer = decide(situation(OPEN, **given))
    assert isinstance(answer, Need)
    assert (answer.set_aside, answer.why) == ("F1", why)


@each(
    ("attempts", "refused", "by_command", "aside"),
    [
        ({"F2": 4}, [], [], ""),
        ({"F2": 4}, ["F2"], [], "F2"),
        ({"F2": 3}, ["F2"], [], ""),
        ({"F2": 5}, [], ["F2"], "F2"),
        ({"F2": 4}, [], ["F2"], ""),
        ({"F1": 5, "F2": 9}, [], [], "F1"),
        ({"F1": 5, "F2": 4}, ["F2"], [], "F2"),
    ],
)
def test_the_attempts_of_each_refused_task_end_and_of_the_next(attempts, refused, by_command, aside):
    loop = a_loop(attempts=attempts, refused=by_command)
    found = results(refused=[Refusal(name, why="red") for name in refused]) if refused else None
    answer = decide(situation(OPEN, loop=loop, results=found))
    assert (answer.set_aside if isinstance(answer, Need) else "") == aside
    assert isinstance(answer, Need) or answer.loop.refused == []


def test_a_sequence_does_not_fail_at_a_task_that_was_closed_after_a_command_refused_it():
    loop = a_loop(layout=SPECUM, attempts={"2": 5}, refused=["2"])
    assert decide(situation(look("1", "2!", "3", sequential=True), loop=loop)).blocks
    answer = decide(situation(look("1", "2", "3", sequential=True), loop=loop))
    assert (answer.loop.outcome, answer.loop.detail) == (FAILED, "task 2 was tried 5 times")


def test_a_refused_claim_of_a_task_that_is_left_out_sets_nothing_aside():
    found = results(refused=[Refusal("F2", why="red", left_out=True)])
    assert decide(situation(OPEN, loop=a_loop(attempts={"F2": 9}), results=found)).blocks


@each(
    ("work", "quiet", "aside"),
    [
        (look("F1", "F2"), 2, "F1"),
        (look("F1"), 2, None),
        (look("F1", "F2!"), 2, None),
        (look("F1", Task("F2", "", depends_on=["F1"])), 2, None),
        (look("F1", Task("F2", "", needs_human="k")), 2, None),
        (look("1", "2", sequential=True), 2, None),
        (look("F1", "F2"), 5, None),
    ],
)
def test_a_breaker_sets_its_task_aside_if_another_can_run(work, quiet, aside):
    loop = a_loop(
        tasks_seen=work.digest, no_progress=2, quiet_replies=quiet, attempts={"F1": 2}, current="F1"
    )
    answer = decide(situation(work, loop=loop, turn=Turn()))
    if aside is None:
        assert answer.loop.outcome == STALLED
    else:
        why = "3 continuations without a tool call or a changed task"
        assert (answer.set_aside, answer.why, answer.tried) == (aside, why, 3)


@pytest.mark.parametrize("limits", [{"iterations": 4}, {"time_s": 60.0}])
def test_a_limit_ends_the_loop_before_a_breaker_sets_a_task_aside(limits):
    loop = a_loop(tasks_seen=OPEN.digest, no_progress=2, iteration=4, elapsed_s=61.0)
    assert decide(situation(OPEN, loop=loop, turn=Turn(), limits=Limits(**limits))).loop.outcome == "limit"


def test_one_attempt_is_allowed_where_the_limit_is_one():
    work = look("1", sequential=True)
    fresh = decide(situation(work, loop=a_loop(layout=SPECUM), limits=Limits(attempts=1)))
    assert fresh.loop.state == RUNNING
    tried = decide(situation(work, loop=a_loop(layout=SPECUM, attempts={"1": 1}), limits=Limits(attempts=1)))
    assert (tried.loop.state, tried.loop.outcome) == (ENDED, FAILED)


def test_a_long_id_is_cut_where_it_is_told():
    name = "t" * 100
    work = look(name, sequential=True)
    answer = decide(situation(work, loop=a_loop(layout=SPECUM, attempts={name: 5})))
    assert answer.loop.detail == "task " + "t" * 78 + " … was tried 5 times"


def test_a_budget_of_a_spec_ends_it():
    work = look("1", sequential=True)
    used = spent(task_cost_usd={"1": 2.0})
    answer = decide(situation(work, loop=a_loop(layout=SPECUM), spent=used, limits=Limits(task_cost_usd=1.5)))
    assert (answer.loop.outcome, answer.loop.detail) == (BUDGET, "task 1 cost $2.00 of $1.50")
