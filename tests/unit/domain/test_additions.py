"""Tasks that an agent adds: which are fixes, which are splits, and how many are too many."""

from __future__ import annotations

import pytest

from ralphloop.domain.additions import AdditionLimits, excess, fixes, modified_now, names, original
from ralphloop.domain.model import Task, TaskList
from unit.domain.cases import each

PINNED = ("1.1", "1.2", "1.3", "2.1", "T004", "V5")


def listed(*entries):
    """Tasks by id; `1.3.1>1.3` is a fix task of 1.3."""
    tasks = []
    for entry in entries:
        name, _, fixed = entry.partition(">")
        tasks.append(Task(name, "task " + name, marks=["P", "FIX " + fixed] if fixed else ["P"]))
    return TaskList(tasks)


def over(*added, known=(), modified=None, limits=None):
    """What is too much, by id."""
    pinned, present = listed(*PINNED), listed(*PINNED, *added)
    found = excess(pinned, present, known=known, modified=modified or {}, limits=limits)
    return {present.tasks[place].id: why for place, why in found}


def test_tasks_that_were_not_added_are_never_too_many():
    tasks = listed("1.1", "1.1.1>1.1", "1.1.2>1.1", "1.1.3>1.1", "1.1.4>1.1", "1.1.1.1.1.1", "1.2>1.2")
    assert excess(tasks, tasks, known=(), modified={"1.1": 9}) == []
    assert modified_now(tasks, tasks, known=()) == []


@pytest.mark.parametrize(
    "added", [(), ("1.4",), ("3.1", "3.2", "3.3", "3.4", "9"), ("VF",), ("T005", "T006")]
)
def test_tasks_without_relation_are_free(added):
    assert over(*added) == {}
    assert modified_now(listed(*PINNED), listed(*PINNED, *added), known=()) == []


def test_three_fix_tasks_for_one_task_are_enough():
    added = ("1.3.1>1.3", "1.3.2>1.3", "1.3.3>1.3", "1.3.4>1.3", "1.3.5>1.3", "1.1.1>1.1")
    why = "a fourth fix task for 1.3"
    assert over(*added) == {"1.3.4": why, "1.3.5": why}


def test_of_fix_tasks_the_new_ones_are_too_many_wherever_they_stand():
    added = ("1.3.9>1.3", "1.3.1>1.3", "1.3.2>1.3", "1.3.3>1.3")
    assert list(over(*added, known={"1.3.1", "1.3.2", "1.3.3"})) == ["1.3.9"]
    assert over(*added, known={"1.3.1", "1.3.2", "1.3.3", "1.3.9"}) == {}


def test_pinned_fix_tasks_count_as_well():
    pinned = listed("1.1", "1.1.1>1.1", "1.1.2>1.1", "1.1.3>1.1")
    present = listed("1.1", "1.1.1>1.1", "1.1.2>1.1", "1.1.3>1.1", "1.1.4>1.1")
    assert [place for place, _ in excess(pinned, present, known=(), modified={})] == [4]


def test_a_fix_of_a_fix_of_a_fix_is_the_last():
    chain = ("1.3.1>1.3", "1.3.1.1>1.3.1", "1.3.1.1.1>1.3.1.1", "1.3.1.1.1.1>1.3.1.1.1")
    assert over(*chain) == {"1.3.1.1.1.1": "a fix task beyond depth 3"}
    assert over(*chain, known=chain[0].split(">")[0]) == over(*chain)


@pytest.mark.parametrize("added", [("1.4>1.4",), ("1.4>1.5", "1.5>1.4")])
def test_fixes_that_go_in_a_circle_are_too_deep(added):
    assert len(over(*added)) == len(added)


def test_a_fix_of_a_task_that_is_not_there_is_a_fix_all_the_same():
    assert list(over("7.1>7", "7.2>7", "7.3>7", "7.4>7")) == ["7.4"]


def test_a_split_into_many_is_one_change():
    added = ("1.3.1", "1.3.2", "1.3.3", "1.3.4", "1.3.5")
    assert over(*added) == {}
    assert modified_now(listed(*PINNED), listed(*PINNED, *added, "1.1.1"), known=()) == ["1.3", "1.1"]


def test_a_fourth_change_of_a_task_is_too_many():
    why = "a fourth change of 1.3"
    assert over("1.3.8", "1.3.9", "1.1.1", modified={"1.3": 3}) == {"1.3.8": why, "1.3.9": why}
    assert over("1.3.8", "1.3.9", modified={"1.3": 2}) == {}
    assert over("1.3.8", "1.3.9", modified={"1.3": 3}, known={"1.3.8"}) == {"1.3.9": why}


def test_what_was_known_is_no_change():
    present = listed(*PINNED, "1.3.1", "1.3.2", "1.1.1>1.1")
    assert modified_now(listed(*PINNED), present, known={"1.3.1", "1.3.2"}) == []
    assert modified_now(listed(*PINNED), present, known={"1.3.1"}) == ["1.3"]


def test_two_levels_below_a_task_of_the_list_are_enough():
    assert over("1.3.1", "1.3.1.1", "1.3.1.1.1", "1.3.4.5.6") == {
        "1.3.1.1.1": "an added task beyond depth 2",
        "1.3.4.5.6": "an added task beyond depth 2",
    }


def test_levels_count_from_the_nearest_task_of_the_list():
    pinned = listed("1.3", "1.3.1")
    present = listed("1.3", "1.3.1", "1.3.1.1", "1.3.1.1.1", "1.3.1.1.1.1")
    assert [place for place, _ in excess(pinned, present, known=(), modified={})] == [4]


def test_the_nearest_task_that_is_known_is_the_one_that_changed():
    present = listed(*PINNED, "1.3.1", "1.3.1.1")
    assert modified_now(listed(*PINNED), present, known=()) == ["1.3"]
    assert modified_now(listed(*PINNED), present, known={"1.3.1"}) == ["1.3.1"]
    assert over("1.3.1", "1.3.1.1", "1.3.1.1.1", known={"1.3.1", "1.3.1.1"}, modified={"1.3": 9}) == {
        "1.3.1.1.1": "an added task beyond depth 2"
    }


def test_levels_below_an_added_task_count_from_that_one():
    known = {"1.9", "1.9.1", "1.9.1.1"}
    assert list(over("1.9", "1.9.1", "1.9.1.1", "1.9.1.1.1", known=known)) == ["1.9.1.1.1"]
    assert list(over("1.9", "1.9.1", known={"1.9"}, modified={"1.9": 3})) == ["1.9.1"]


def test_an_id_that_only_looks_longer_is_no_relation():
    assert over("1.33", "11.3", "1.10.2.3.4", modified={"1.3": 3, "1.1": 3}) == {}


def test_stricter_limits_hold():
    limits = AdditionLimits(fix_tasks=1, fix_depth=1, modifications=0, modification_depth=1)
    assert over("1.3.1>1.3", "1.3.2>1.3", "1.3.1.1>1.3.1", "2.1.1", "2.1.1.1", limits=limits) == {
        "1.3.2": "a second fix task for 1.3",
        "1.3.1.1": "a fix task beyond depth 1",
        "2.1.1": "a first change of 2.1",
        "2.1.1.1": "an added task beyond depth 1",
    }


def test_wider_limits_have_words_too():
    limits = AdditionLimits(fix_tasks=4)
    assert over(*[f"1.3.{n}>1.3" for n in range(5)], limits=limits) == {"1.3.4": "a 5th fix task for 1.3"}


@each(("value", "limit"), [(2, 2), (0, 0), (3, 3), (9, 3), (-1, 3), (True, 3), ("1", 3), (None, 3), (1.0, 3)])
def test_a_limit_is_lowered_and_never_raised(value, limit):
    limits = AdditionLimits()
    limits.lower("fix_tasks", value)
    assert limits.fix_tasks == limit


@pytest.mark.parametrize(
    ("marks", "name"),
    [
        (["FIX 1.3"], "1.3"),
        (["P", "fix  1.3 "], "1.3"),
        (["FIX: VE1"], "VE1"),
        (["FIX"], ""),
        (["FIX "], ""),
        (["FIXED 1.3"], ""),
        (["PREFIX 1.3"], ""),
        ([], ""),
    ],
)
def test_a_fix_task_says_what_it_fixes(marks, name):
    assert original(Task("1.3.1", "x", marks=marks)) == name


def test_fix_tasks_are_listed_under_what_they_fix():
    assert fixes(listed("1.1", "1.1.1>1.1", "1.2", "1.1.2>1.1", "1.2.1>1.2").tasks) == {
        "1.1": ["1.1.1", "1.1.2"],
        "1.2": ["1.2.1"],
    }


def test_fix_tasks_without_an_id_count():
    pinned = listed("1.1")
    tasks = [Task("", "again", marks=["FIX 1.1"]) for _ in range(4)]
    assert [place for place, _ in excess(pinned, TaskList(pinned.tasks + tasks), known=(), modified={})] == [
        4
    ]


def test_tasks_are_known_by_id_or_title_and_twins_by_their_number():
    tasks = [Task("1", "a"), Task("", "a"), Task("", "b"), Task("", "a"), Task("2", "a"), Task("", "a")]
    assert names(tasks) == ["1", "a", "b", "a\0002", "2", "a\0003"]
