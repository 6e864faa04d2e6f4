"""How a claim is noted and taken back, so that a task is afterwards what it was before."""

from __future__ import annotations

import pytest

from ralphloop.domain.ledger import Ledger, name_tasks, settle
from ralphloop.domain.model import Task
from unit.domain.build import a_ledger, a_list
from unit.domain.cases import each

CHECK = {"verify": ["make"]}

# What the ledger knew; what the file says now; whether that is a claim or takes one back; what is known then.
CHANGES = [
    ({}, {}, "", {}),
    ({}, {"done": True}, "claimed", {"state": "unverified"}),
    ({}, {"done": True, **CHECK}, "claimed", {"state": "claimed"}),
    ({}, {"done": True, "guarded": True}, "claimed", {"state": "claimed"}),
    ({"state": "skipped"}, {"done": True}, "claimed", {"state": "unverified", "was": "skipped"}),
    ({"state": "set_aside"}, {"done": True, **CHECK}, "claimed", {"state": "claimed", "was": "set_aside"}),
    ({"state": "claimed"}, {"done": True, **CHECK}, "", {"state": "claimed"}),
    ({"state": "proven", "evidence": "e"}, {}, "reopened", {"evidence": "e"}),
    ({"state": "claimed", "was": "skipped"}, {}, "reopened", {"state": "skipped"}),
    ({"state": "claimed"}, {}, "reopened", {}),
    ({"question": "?"}, {}, "", {"question": "?"}),
]


@each(("known", "says", "change", "after"), CHANGES)
def test_a_changed_list_is_a_claim_or_takes_one_back(known, says, change, after):
    ledger = a_ledger(F1=known)
    claimed, reopened = settle(a_list(Task("F1", "", **says)), ledger)
    assert claimed == (["F1"] if change == "claimed" else [])
    assert reopened == (["F1"] if change == "reopened" else [])
    assert ledger.tasks == {"F1": after}


@pytest.mark.parametrize(
    ("says", "known", "state"),
    [
        ({"done": True, **CHECK}, {}, "claimed"),
        ({"done": True, "guarded": True}, {}, "claimed"),
        ({"done": True, **CHECK}, {"state": "claimed"}, "claimed"),
        ({"done": True, **CHECK}, {"state": "unverified"}, "unverified"),
        ({}, {"question": "?", "answer": ""}, "asked"),
    ],
)
def test_a_task_with_a_check_waits_for_it(says, known, state):
    assert a_ledger(F1=known).state(Task("F1", "", **says)) == state


def test_a_task_that_nobody_knows_is_dropped_and_reopened_in_silence():
    ledger = Ledger()
    ledger.drop("F1", "state")
    ledger.reopen("F1")
    assert ledger.tasks == {}
    ledger.note("F1", answer="a")
    ledger.drop("F1", "state")
    ledger.reopen("F1")
    assert ledger.tasks == {"F1": {"answer": "a"}}


def test_twins_have_names_of_their_own():
    ledger = Ledger()
    name_tasks(a_list(*(Task("", "a") for _ in range(3))), ledger)
    assert ledger.names == {"a": "1", "a\0" + "2": "2", "a\0" + "3": "3"}


def test_an_id_that_was_given_before_is_told_from_a_later_one_by_a_mark():
    ledger = Ledger()
    ledger.names = {"a": "1"}
    both, one = a_list(Task("", "a"), Task("1", "b")), a_list(Task("1", "b"))
    name_tasks(both, ledger)
    name_tasks(one, ledger)
    assert [task.id for task in both.tasks] == ["1", "1+"]
    assert [task.id for task in one.tasks] == ["1"]


def test_a_place_that_is_taken_is_given_to_nobody_else():
    listed = a_list(Task("", "a"), Task("", "b"), Task("1", "c"))
    name_tasks(listed, Ledger())
    assert [task.id for task in listed.tasks] == ["2", "3", "1"]
