"""Which rule speaks first when several could."""

from __future__ import annotations

import pytest

from ralphloop.domain.check_results import Results
from ralphloop.domain.decide import RULES, decide
from ralphloop.domain.model import (
    AWAITING_APPROVAL,
    CANCELLED,
    CAPPED,
    COMPLETE,
    CORRUPT,
    ENDED,
    FAILED,
    INTERRUPTED,
    LIMIT,
    NEEDS_INPUT,
    PAUSED,
    RATE_LIMITED,
    RUNNING,
    STALLED,
    WAITING,
    Limits,
    Supervision,
    Task,
    Turn,
)
from ralphloop.domain.situation import Decision, Need
from unit.domain.build import a_ledger, a_loop, a_stop, look, situation
from unit.domain.cases import each
from unit.layouts import SPECUM

OPEN, DONE = look("F1", "F2"), look("F1!", "F2!")
ONE = look("F1")
ASKED = look("F1", ledger=a_ledger(F1={"question": "which?"}))
CIRCLE = look(Task("F1", "", depends_on=["F1"]))
EARLY = look("1", phase="design", sequential=True)
QUICK = look("1", phase="design", sequential=True, quick=True)
APPROVAL = look("1", sequential=True, awaiting_approval=True)
PLANNING = a_stop(planning=True)
SUBAGENT = a_stop(background=[("subagent", "review")])
AT_LIMIT = a_loop(iteration=30)
CLAIM = look(Task("F1", "", done=True, verify=["make"]), "F2")
PROVED = look(Task("F1", "", done=True, verify=["make"]), ledger=a_ledger(F1="proven"))
ESC = Turn(readable=True, broken_off=INTERRUPTED)
TYPED = Turn(readable=True, queued=True)
FULL = Supervision(context=0.7)


def spec(**values):
    return a_loop(layout=SPECUM, **values)


# Each row: what holds at once, and the rule that must win. Read downwards it is the order of the rules.
WINNERS = [
    ("a phase before execution beats an ended loop",
     {"work": EARLY, "loop": spec(state=ENDED)}, "before_execution"),
    ("a phase before execution beats an interrupt",
     {"work": EARLY, "loop": spec(), "turn": ESC}, "before_execution"),
    ("a phase before execution beats plan mode",
     {"work": EARLY, "loop": spec(), "event": PLANNING}, "before_execution"),
    ("plan mode beats a removed state", {"work": OPEN, "fault": "gone", "event": PLANNING}, "plan_mode"),
    ("plan mode beats a paused loop",
     {"work": OPEN, "event": PLANNING, "loop": a_loop(state=PAUSED, outcome=RATE_LIMITED)}, "plan_mode"),
    ("plan mode beats quick mode", {"work": QUICK, "loop": spec(), "event": PLANNING}, "plan_mode"),
    ("plan mode beats completion", {"work": DONE, "event": PLANNING}, "plan_mode"),
    ("a removed state beats a paused loop",
     {"work": OPEN, "fault": "gone", "loop": a_loop(state=PAUSED, outcome=INTERRUPTED)}, "state_gone"),
    ("a removed state beats an interrupt", {"work": OPEN, "fault": "gone", "turn": ESC}, "state_gone"),
    ("a removed state beats a subagent", {"fault": "gone", "event": SUBAGENT}, "state_gone"),
    ("an ended loop beats an interrupt",
     {"work": OPEN, "loop": a_loop(state=ENDED), "turn": ESC}, "paused_or_ended"),
    ("an ended loop beats completion", {"work": DONE, "loop": a_loop(state=ENDED)}, "paused_or_ended"),
    ("a paused loop beats corruption", {"fault": "broken", "loop": a_loop(state=PAUSED)}, "paused_or_ended"),
    ("an interrupt beats a wait for approval", {"work": APPROVAL, "loop": spec(), "turn": ESC}, "broken_off"),
    ("an interrupt beats a subagent", {"work": OPEN, "event": SUBAGENT, "turn": ESC}, "broken_off"),
    ("an interrupt beats corruption", {"fault": "broken", "turn": ESC}, "broken_off"),
    ("an interrupt beats completion", {"work": DONE, "turn": ESC}, "broken_off"),
    ("an interrupt beats quick mode", {"work": QUICK, "loop": spec(), "turn": ESC}, "broken_off"),
    ("a wait for approval beats a subagent",
     {"work": APPROVAL, "loop": spec(), "event": SUBAGENT}, "awaiting_approval"),
    ("a wait for approval beats the limit",
     {"work": APPROVAL, "loop": spec(iteration=30)}, "awaiting_approval"),
    ("a wait for approval beats what the person typed",
     {"work": APPROVAL, "loop": spec(), "turn": TYPED}, "awaiting_approval"),
    ("what the person typed beats a subagent",
     {"work": OPEN, "event": SUBAGENT, "turn": TYPED}, "person_waits"),
    ("what the person typed beats quick mode",
     {"work": QUICK, "loop": spec(), "turn": TYPED}, "person_waits"),
    ("what the person typed beats completion", {"work": DONE, "turn": TYPED}, "person_waits"),
    ("what the person typed beats the limit",
     {"work": OPEN, "loop": AT_LIMIT, "turn": TYPED}, "person_waits"),
    ("a subagent beats quick mode",
     {"work": QUICK, "loop": spec(), "event": SUBAGENT}, "session_still_works"),
    ("a subagent beats corruption", {"fault": "broken", "event": SUBAGENT}, "session_still_works"),
    ("a subagent beats completion", {"work": DONE, "event": SUBAGENT}, "session_still_works"),
    ("a subagent beats the limit",
     {"work": OPEN, "event": SUBAGENT, "loop": AT_LIMIT}, "session_still_works"),
    ("quick mode beats a wait for approval",
     {"work": look("1", phase="tasks", sequential=True, quick=True, awaiting_approval=True), "loop": spec()},
     "quick_phase"),
    ("quick mode beats completion",
     {"work": look("1!", phase="tasks", sequential=True, quick=True), "loop": spec()}, "quick_phase"),
    ("corruption beats checks", {"fault": "broken", "unapproved": True}, "corrupt"),
    ("checks of claims beat completion", {"work": CLAIM, "unapproved": True}, "claims"),
    ("checks beat the limit", {"work": OPEN, "loop": AT_LIMIT, "unapproved": True}, "claims"),
    ("completion beats the limit", {"work": DONE, "loop": AT_LIMIT}, "complete"),
    ("a question beats the limit", {"work": ASKED, "loop": AT_LIMIT}, "nothing_can_run"),
    ("a circle beats the limit", {"work": CIRCLE, "loop": AT_LIMIT}, "nothing_can_run"),
    ("the limit beats the attempts",
     {"work": OPEN, "loop": a_loop(iteration=30, attempts={"F1": 9})}, "limits"),
    ("attempts beat going on", {"work": OPEN, "loop": a_loop(attempts={"F1": 5})}, "limits"),
    ("the limit beats a hand-over",
     {"work": OPEN, "loop": AT_LIMIT, "supervision": FULL, "fullness": 1.0}, "limits"),
    ("a hand-over beats going on", {"work": OPEN, "supervision": FULL, "fullness": 1.0}, "hand_over"),
    ("nothing in the way", {"work": OPEN}, "go_on"),
]  # fmt: skip


@each(("given", "winner"), [row[1:] for row in WINNERS], ids=[row[0] for row in WINNERS])
def test_the_earlier_rule_wins(given, winner):
    assert decide(situation(**given)).rule == winner


def test_the_table_above_is_in_the_order_of_the_rules():
    names = [rule.__name__.lstrip("_") for rule in RULES]
    places = [names.index(row[2]) for row in WINNERS]
    assert places == sorted(places)
    assert set(places) == set(range(len(RULES)))


def test_the_trace_names_each_rule_that_was_asked_and_what_it_said():
    trace: list[tuple[str, str]] = []
    decide(situation(DONE), trace)
    assert [name for name, _ in trace] == [rule.__name__.lstrip("_") for rule in RULES[:12]]
    assert [said for _, said in trace] == [""] * 11 + ["allow (complete)"]


# What a loop becomes: the state, the outcome, whether the agent is sent on, and whether anything is written.
ENDS = [
    ("open task", {"work": OPEN}, RUNNING, None, True, True),
    ("all closed", {"work": DONE}, ENDED, COMPLETE, False, True),
    ("asked", {"work": ASKED}, PAUSED, NEEDS_INPUT, False, True),
    ("circle", {"work": CIRCLE}, ENDED, FAILED, False, True),
    ("no tasks", {"work": look()}, ENDED, FAILED, False, True),
    ("all skipped", {"work": look("F1", ledger=a_ledger(F1="skipped"))}, ENDED, FAILED, False, True),
    ("all set aside", {"work": look("F1", ledger=a_ledger(F1="set_aside"))}, ENDED, FAILED, False, True),
    ("no tasks in a spec", {"work": look(sequential=True), "loop": spec()}, RUNNING, None, False, False),
    ("iteration limit", {"work": OPEN, "loop": AT_LIMIT}, ENDED, LIMIT, False, True),
    ("time limit", {"work": OPEN, "loop": a_loop(elapsed_s=8 * 3600.0)}, ENDED, LIMIT, False, True),
    ("stalled", {"work": ONE, "turn": Turn(), "loop": a_loop(tasks_seen=ONE.digest, no_progress=2)},
     ENDED, STALLED, False, True),
    ("too many attempts in a spec", {"work": look("1", sequential=True), "loop": spec(attempts={"1": 5})},
     ENDED, FAILED, False, True),
    ("interrupt", {"work": OPEN, "turn": ESC}, PAUSED, INTERRUPTED, False, True),
    ("cap", {"work": OPEN, "turn": Turn(broken_off=CAPPED)}, ENDED, CAPPED, False, True),
    ("rate limit", {"work": OPEN, "turn": Turn(broken_off=RATE_LIMITED)}, PAUSED, RATE_LIMITED, False, True),
    ("api error", {"work": OPEN, "turn": Turn(broken_off=FAILED)}, ENDED, FAILED, False, True),
    ("approval", {"work": APPROVAL, "loop": spec()}, PAUSED, AWAITING_APPROVAL, False, True),
    ("something typed", {"work": OPEN, "turn": TYPED}, RUNNING, None, False, True),
    ("subagent", {"work": OPEN, "event": SUBAGENT}, WAITING, None, False, True),
    ("workflow", {"work": OPEN, "event": a_stop(background=[("workflow", "w")])}, WAITING, None, False, True),
    ("removed", {"work": OPEN, "fault": "gone"}, ENDED, CANCELLED, False, True),
    ("removed, all boxes checked", {"work": DONE, "fault": "gone"}, ENDED, COMPLETE, False, True),
    ("corrupt", {"fault": "broken"}, RUNNING, None, True, True),
    ("corrupt again",
     {"fault": "broken", "files": "c", "loop": a_loop(told=["c"])}, PAUSED, CORRUPT, False, True),
    ("quick phase", {"work": QUICK, "loop": spec()}, RUNNING, None, True, True),
    ("phase", {"work": EARLY, "loop": spec()}, RUNNING, None, False, False),
    ("quick phase of a paused loop", {"work": QUICK, "loop": spec(state=PAUSED)}, PAUSED, None, False, False),
    ("quick phase, 3 times", {"work": QUICK, "loop": spec(phase_turns={"design to write": 3})},
     ENDED, STALLED, False, True),
    ("quick mode, sixty times in all", {"work": QUICK, "loop": spec(phase_turns={"a": 30, "b": 30})},
     ENDED, LIMIT, False, True),
    ("quick mode, eight hours",
     {"work": QUICK, "loop": spec(elapsed_s=8 * 3600.0)}, ENDED, LIMIT, False, True),
    ("quick mode in the next phase", {"work": QUICK, "loop": spec(phase_turns={"requirements to write": 3})},
     RUNNING, None, True, True),
]  # fmt: skip


@each(
    ("given", "state", "outcome", "blocks", "writes"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS]
)
def test_each_rule_leaves_the_loop_in_its_named_state(given, state, outcome, blocks, writes):
    answer = decide(situation(**given))
    assert isinstance(answer, Decision)
    assert (answer.loop.state, answer.loop.outcome) == (state, outcome)
    assert (answer.blocks, answer.writes) == (blocks, writes)


@pytest.mark.parametrize(
    ("given", "need"),
    [
        ({"fault": "gone", "backup": True}, {"restore": True}),
        ({"work": OPEN, "fault": "gone", "backup": True}, {"restore": True}),
        ({"fault": "broken", "backup": True}, {"restore": True}),
        ({"work": CLAIM}, {"checks": "claims"}),
        ({"work": OPEN, "unapproved": True}, {"checks": "claims"}),
        ({"work": PROVED}, {"checks": "final"}),
        ({"work": OPEN, "loop": a_loop(attempts={"F1": 5})}, {"set_aside": "F1"}),
    ],
)
def test_what_must_happen_first_is_asked_for(given, need):
    answer = decide(situation(**given))
    assert isinstance(answer, Need)
    assert answer.restore == need.get("restore", False)
    assert answer.checks == need.get("checks", "")
    assert answer.set_aside == need.get("set_aside", "")


def test_checks_are_asked_for_until_their_results_are_there():
    assert isinstance(decide(situation(CLAIM)), Need)
    assert isinstance(decide(situation(CLAIM, results=Results())), Decision)


def test_a_removed_state_is_restored_once_and_then_means_cancelled():
    again = decide(situation(OPEN, fault="gone", backup=True, loop=a_loop(restored=True)))
    assert isinstance(again, Decision)
    assert again.loop.outcome == CANCELLED
    assert again.message == ""


def test_a_task_set_aside_makes_way_for_the_next_and_its_turn_counts_once():
    loop = a_loop(tasks_seen=OPEN.digest, current="F1", attempts={"F1": 4})
    first = decide(situation(OPEN, loop=loop.copy(), turn=Turn()))
    assert isinstance(first, Need)
    assert first.set_aside == "F1"
    after = look("F1", "F2", ledger=a_ledger(F1="set_aside"))
    second = decide(situation(after, loop=loop.copy(), turn=Turn()))
    assert isinstance(second, Decision)
    assert second.task == "F2"


@pytest.mark.parametrize(("most", "blocks"), [(3, True), (2, False)])
def test_a_limit_of_attempts_in_the_state_file_only_lowers_ours(most, blocks):
    work = look("1", sequential=True, max_attempts=most)
    assert decide(situation(work, loop=spec(attempts={"1": 2}), limits=Limits())).blocks is blocks
