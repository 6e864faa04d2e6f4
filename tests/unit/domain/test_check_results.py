"""What the agent and the person are told about checks, and that it stays within its room."""

from __future__ import annotations

from itertools import product

import pytest

from ralphloop.domain import check_results
from ralphloop.domain.check_results import Refusal, Results
from ralphloop.domain.prompt import refused as told
from unit.domain.build import words_of
from unit.domain.cases import each

RED = Refusal("F1", why="exited with 1", command="make test", tail="one\ntwo\n")


def test_a_refusal_tells_command_end_and_output():
    said = "The claim of task F1 is refused: `make test` exited with 1. The end of its output:\none\ntwo"
    assert RED.told(1000) == said


def test_a_task_that_was_closed_before_is_open_again():
    refusal = Refusal("F1", why="exited with 1", command="make test", again=True)
    assert refusal.told(1000) == "Task F1 is open again: `make test` exited with 1."


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (Refusal("F1", why="it was touched"), "The claim of task F1 is refused: it was touched."),
        (Refusal("F1", why="x", command="a\n\tb  c"), "The claim of task F1 is refused: `a b c` x."),
        (Refusal("F1", why="x", tail="\n\n"), "The claim of task F1 is refused: x."),
        (Refusal("F\n1", why="x\ny"), "The claim of task F 1 is refused: x y."),
    ],
)
def test_a_refusal_is_one_line_without_its_output(refusal, said):
    assert refusal.told(1000) == said


def test_of_a_long_output_the_end_is_shown():
    refusal = Refusal("F1", why="exited with 1", command="x", tail="a" * 20_000 + "the end\n")
    said = refusal.told(9000)
    assert said.endswith("the end")
    assert len(said) <= 9000
    assert said.count("a") > 7000
    assert len(refusal.told(10**6)) <= check_results.TAIL_MAX + 200


@each(
    ("room", "command", "tail"),
    product([0, 1, 80, 100, 150, 200, 300, 1000, 9000], ["x", "y " * 5000], ["", "short\n", "long " * 5000]),
)
def test_a_refusal_keeps_to_its_room(room, command, tail):
    said = Refusal("F" * 500, why="w " * 1000, command=command, tail=tail).told(room)
    assert len(said) <= max(room, 80)


@each(("count", "room"), product([1, 2, 7, 50, 500], [200, 2000, 9000]))
def test_many_refusals_share_the_room(count, room):
    refused = [Refusal(f"F{n}", why="exited with 1", command="c" * 90, tail="t" * 9000) for n in range(count)]
    said = told(refused, room)
    assert "task F0 " in said
    # each share is rounded up to what a line needs, and a blank line stands between two
    assert len(said) <= room + 2 * min(count, room // 120 + 1)


def test_no_refusal_says_nothing():
    assert told([], 1000) == ""


def test_the_person_is_told_what_would_run_and_how_to_allow_it():
    results = Results()
    results.commands, results.digest = ["make test", "make lint"], "0123456789ab"
    said = results.need_person(words_of())
    assert "`make test`; `make lint`" in said
    assert "Type `/ralphloop:approve 0123456789ab` here" in said
    assert "run `ralphloop approve`" in said


def test_what_the_person_is_told_stays_readable_however_much_waits():
    results = Results()
    results.commands = [f"run {n} " + "x" * 500 for n in range(300)]
    said = results.need_person(words_of())
    assert len(said) < 3000
    assert "300" in said or " and 295 more" in said


def test_results_begin_with_nothing_known():
    results = Results()
    assert (results.proven, results.refused, results.unfinished, results.waiting) == ([], [], [], [])
    assert (results.blocked, results.final, results.commands) == (False, False, [])
