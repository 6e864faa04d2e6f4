"""How a loop goes on: what the next turn or the next session is told, and what the person reads."""

from __future__ import annotations

import pytest

from ralphloop.domain.check_results import Refusal, Results
from ralphloop.domain.decide import decide
from ralphloop.domain.limits import Spent
from ralphloop.domain.model import NEEDS_APPROVAL, Limits, Supervision, Task, Turn
from unit.domain.build import a_ledger, a_loop, a_stop, look, situation
from unit.layouts import SPECUM

OPEN = look("F1", "F2")
PROVED = look(Task("F1", "", done=True, verify=["make"]), ledger=a_ledger(F1="proven"))
LINE = "ralphloop · iteration 2/30 · 0/2 done · next F1"
UNAPPROVED = "checks are not approved and do not run: `ralphloop approve`"
FULL = {"supervision": Supervision(context=0.5), "fullness": 0.75}


def results(**values) -> Results:
    made = Results()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def notes_of(**given) -> list[str]:
    """What stands before the headline of a reason."""
    return decide(situation(OPEN, **given)).reason.partition("Loop demo")[0].strip().split("\n\n")


def test_a_loop_that_goes_on_is_in_progress_and_forgets_what_it_carried():
    answer = decide(situation(OPEN, loop=a_loop(carry="old", detail="x", current="F9")))
    assert (answer.blocks, answer.task, answer.status) == (True, "F1", "IN_PROGRESS")
    assert (answer.refused, answer.handover, answer.stderr) == ("", "", "")
    assert (answer.loop.carry, answer.loop.current, answer.loop.iteration) == ("", "F1", 2)
    assert answer.message == LINE


def test_where_only_checks_are_left_no_task_is_handed_out():
    answer = decide(situation(PROVED, loop=a_loop(current="F1"), results=results(unfinished=["F1"])))
    assert (answer.task, answer.loop.current) == ("", "")


@pytest.mark.parametrize(
    ("reply", "refused"),
    [("ALL_TASKS_COMPLETE", "ALL_TASKS_COMPLETE"), ("All is done.", ""), (None, "")],
)
def test_a_promise_with_open_tasks_is_refused(reply, refused):
    answer = decide(situation(OPEN, event=a_stop(reply=reply)))
    assert answer.refused == refused
    said = "ALL_TASKS_COMPLETE is refused: 2 tasks are open: F1, F2.\n\nLoop demo"
    assert answer.reason.startswith(said) is bool(refused)


def test_a_promise_and_a_claim_are_refused_together():
    refused = [Refusal("F1", why="red"), Refusal("F2", why="red")]
    answer = decide(
        situation(OPEN, event=a_stop(reply="ALL_TASKS_COMPLETE"), results=results(refused=refused))
    )
    assert answer.refused == "ALL_TASKS_COMPLETE, F1, F2"
    assert answer.reason.startswith(
        "The claim of task F1 is refused: red.\n\nThe claim of task F2 is refused: red."
    )


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        ({"notes": ["one", "two\nlines"]}, ["one", "two lines"]),
        (
            {"results": results(waiting=["F1", "F3"])},
            ["The checks of F1, F3 wait for the person's approval; go on with the rest."],
        ),
        ({"results": results(waiting=[])}, [""]),
        ({"event": a_stop(crons=2)}, ["2 scheduled prompts wait in this session."]),
        (
            {"event": a_stop(background=[("shell", "make\nall")])},
            ["Still running in the background (shell): make all"],
        ),
        (
            {"event": a_stop(background=[("k" * 50, "t" * 200)])},
            [f"Still running in the background ({'k' * 38} …): {'t' * 118} …"],
        ),
        (
            {"event": a_stop(background=[("shell", str(n)) for n in range(9)])},
            [f"Still running in the background (shell): {n}" for n in range(5)],
        ),
    ],
)
def test_the_agent_is_told_what_goes_on_around_it(given, notes):
    assert notes_of(**given) == notes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, LINE),
        ({"unchecked": True}, f"{LINE} · {UNAPPROVED}"),
        ({"results": results(commands=["make"])}, f"{LINE} · {UNAPPROVED}"),
        ({"results": results()}, LINE),
        ({"unchecked": True, "loop": a_loop(told=[NEEDS_APPROVAL])}, LINE),
        ({"limits": Limits(iterations=2)}, f"{LINE.replace('/30', '/2')} · 100 % of the iterations"),
    ],
)
def test_the_person_reads_where_the_loop_is_and_what_to_mind(given, message):
    assert decide(situation(OPEN, **given)).message == message


def test_that_checks_do_not_run_is_said_once():
    answer = decide(situation(OPEN, loop=a_loop(told=["x"]), unchecked=True))
    assert answer.loop.told == ["x", NEEDS_APPROVAL]


def test_a_budget_that_is_nearly_spent_is_told():
    spent = Spent()
    spent.tokens = 80
    answer = decide(situation(OPEN, spent=spent, limits=Limits(iterations=30, tokens=100)))
    assert answer.message == f"{LINE} · 80 % of the tokens"


def test_a_hand_over_says_why_and_leaves_what_the_next_session_must_know():
    refused = [Refusal("F1", why="red"), Refusal("F2", why="red")]
    given = {**FULL, "results": results(refused=refused), "notes": ["a note"]}
    answer = decide(situation(OPEN, event=a_stop(reply="ALL_TASKS_COMPLETE"), **given))
    assert (answer.rule, answer.blocks, answer.status) == ("hand_over", False, "IN_PROGRESS")
    assert answer.handover == "the context is 75 % full"
    assert answer.message == "ralphloop demo: the next session goes on: the context is 75 % full"
    assert answer.refused == "F1, F2"
    assert answer.loop.carry == (
        "The claim of task F1 is refused: red.\n\nThe claim of task F2 is refused: red.\n\na note"
    )


def test_a_hand_over_with_nothing_to_work_on_names_no_task():
    answer = decide(situation(PROVED, loop=a_loop(current="F1"), results=results(unfinished=["F1"]), **FULL))
    assert (answer.rule, answer.task, answer.loop.current, answer.loop.carry) == ("hand_over", "", "", "")


def test_a_spec_goes_on_in_its_own_voice():
    work = look("1", "2", sequential=True)
    answer = decide(situation(work, loop=a_loop(layout=SPECUM), turn=Turn(readable=True, tools=1)))
    assert answer.message == "Ralph-specum iteration 2 | Task 1/2"
    assert answer.reason.startswith("Continue spec: demo (Task 1/2, Iter 2)\n\n1\n\n- Do this and nothing")
