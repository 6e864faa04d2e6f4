"""When a supervised session hands over, and what it leaves to the next one."""

from __future__ import annotations

import pytest

from ralphloop.domain.check_results import Refusal, Results
from ralphloop.domain.continuing import share_done
from ralphloop.domain.decide import decide
from ralphloop.domain.model import RUNNING, Supervision, Task, Turn
from ralphloop.domain.situation import Decision
from unit.domain.build import a_ledger, a_loop, look, situation, words_of
from unit.domain.cases import each

OPUS = Task("F2", "", model="opus")
GROUP = [Task("1", "", marks=["P"]), Task("2", "", marks=["P"]), Task("3", "")]


@each(
    ("terms", "batch", "work", "fullness", "said"),
    [
        ({}, ["F1"], look("F2", "F3"), None, ""),
        ({"batch": 1}, ["F1"], look("F1", "F2"), None, ""),
        ({"batch": 1}, ["F1"], look("F2"), None, "1 of 1 tasks were this session's"),
        ({"batch": 2}, ["F1"], look("F2"), None, ""),
        ({"batch": 2}, ["F1", "F2"], look("F3"), None, "2 of 2 tasks were this session's"),
        ({"batch": 1}, [], look("F2"), None, ""),
        ({"batch": 1}, [], look(*GROUP, sequential=True), None, ""),
        ({"batch": 2}, ["0"], look(*GROUP, sequential=True), None, "1 of 2 tasks were this session's"),
        ({}, [], look(OPUS), None, "task F2 is for opus"),
        ({"model": "opus"}, [], look(OPUS), None, ""),
        ({"model": "opus", "usual_model": "haiku"}, [], look("F3"), None, "task F3 is for haiku"),
        ({"model": "opus"}, [], look("F3"), None, "task F3 is for the client's own model"),
        ({"context": 0.7}, ["F1"], look("F1"), 0.69, ""),
        ({"context": 0.7}, ["F1"], look("F1"), 0.7, "the context is 70 % full"),
        ({"context": 0.7}, ["F1"], look("F1"), None, ""),
        ({"context": 0.0}, ["F1"], look("F1"), 1.0, ""),
        ({"batch": 1, "model": "x"}, ["F1"], look("F1!"), None, ""),
    ],
)
def test_why_a_session_hands_over(terms, batch, work, fullness, said):
    assert share_done(Supervision(**terms), a_loop(batch=batch), work, fullness=fullness) == said


def handed_over(**given) -> Decision:
    answer = decide(
        situation(look("F2"), supervision=Supervision(batch=1), loop=a_loop(batch=["F1"]), **given)
    )
    assert isinstance(answer, Decision)
    return answer


def test_a_hand_over_lets_the_session_stop_and_the_loop_run_on():
    answer = handed_over()
    assert (answer.rule, answer.blocks, answer.loop.state, answer.loop.outcome) == (
        "hand_over", False, RUNNING, None,
    )  # fmt: skip
    assert (answer.loop.iteration, answer.loop.current, answer.task) == (2, "F2", "F2")


def test_a_refused_claim_reaches_the_next_session():
    refusal = Refusal("F2", command="make test", why="exit code 1", tail="2 tests failed")
    results = Results()
    results.refused = [refusal]
    answer = handed_over(results=results)
    assert "2 tests failed" in answer.loop.carry
    assert answer.refused == "F2"


def test_a_task_that_stays_in_the_session_joins_its_batch():
    answer = decide(situation(look("F2"), supervision=Supervision(batch=2), loop=a_loop(batch=["F1"])))
    assert isinstance(answer, Decision)
    assert answer.blocks
    assert answer.loop.batch == ["F1", "F2"]


def test_nobody_hands_over_where_nobody_drives():
    answer = decide(situation(look("F2"), loop=a_loop(batch=["F1"]), fullness=1.0))
    assert isinstance(answer, Decision)
    assert answer.blocks


def test_a_question_of_a_driven_loop_names_the_command_that_goes_on():
    asked = look("F1", ledger=a_ledger(F1={"question": "which?"}))
    now = situation(asked, supervision=Supervision())
    now.words = words_of(run="my shop")
    answer = decide(now)
    assert isinstance(answer, Decision)
    assert "then `ralphloop run 'my shop'`." in answer.message


def test_what_was_denied_on_the_way_to_a_closed_task_stops_nothing():
    turn = Turn(readable=True, tools=1, denied=[("Bash", "Bash(git commit:*)")] * 3)
    done = decide(situation(look("F1!", "F2"), loop=a_loop(current="F1"), turn=turn))
    assert done.rule == "go_on"
    stuck = decide(situation(look("F1", "F2"), loop=a_loop(current="F1"), turn=turn))
    assert stuck.rule == "limits"


@pytest.mark.parametrize("kept", [None, [], "x", 3])
def test_what_is_no_object_is_no_supervision(kept):
    assert Supervision.from_json(kept) is None


def test_terms_survive_the_record_and_wrong_values_do_not():
    terms = Supervision(batch=2, branch="work", context=0.5, model="opus", usual_model="haiku")
    again = Supervision.from_json(terms.to_json())
    assert again is not None
    assert again.to_json() == terms.to_json()
    broken = Supervision.from_json({"batch": "2", "context": True, "model": None})
    assert broken is not None
    assert broken.to_json() == Supervision().to_json()
