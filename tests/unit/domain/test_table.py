"""The two tables: every row is complete, and what it says holds elsewhere."""

from __future__ import annotations

import pytest

from ralphloop.domain import limits, table
from ralphloop.domain.limits import Spent
from ralphloop.domain.model import FINAL, OUTCOMES, PAUSED, SELF_RESUMING, STATES, Limits, LoopState
from ralphloop.domain.table import BAD, GOOD, LIMITS, LOOP, WAIT, Limit, Outcome


def test_of_every_limit_that_can_be_set_it_is_known_what_is_used() -> None:
    settable = {name for name, row in LIMITS.items() if row.setting}
    assert set(limits.used(LoopState(), Spent())) == settable
    assert set(limits.used(LoopState(), None)) == settable - set(table.BUDGETS)


def test_the_most_that_a_task_has_used_is_told() -> None:
    spent = Spent()
    spent.add("F1", tokens=5, cost_usd=0.25)
    spent.add("F2", tokens=3, cost_usd=0.5)
    used = limits.used(LoopState(attempts={"F1": 1, "F2": 4}), spent)
    assert (used["attempts"], used["task_tokens"], used["task_cost_usd"]) == (4, 5, 0.5)


def test_a_loop_has_every_limit_and_no_other() -> None:
    assert Limits().to_json() == {name: row.default for name, row in sorted(LIMITS.items())}
    assert Limits(tokens=7).tokens == 7
    with pytest.raises(AttributeError):
        Limits(tokenz=7)


@pytest.mark.parametrize("name", table.BUDGETS)
def test_a_loop_with_a_limit_of_tokens_or_dollars_is_budgeted(name: str) -> None:
    assert Limits(**{name: 1}).budgeted
    assert not Limits().budgeted


def test_every_limit_says_what_it_is_and_what_happens() -> None:
    assert all(row.told and row.then and row.label and row.usual for row in LIMITS.values())
    assert LIMITS["time_s"].usual == f"{LIMITS['time_s'].default / 3600:g}h"
    assert [row.label for row in LIMITS.values() if row.ends == LOOP] == [
        "iterations", "running time", "tokens", "dollars",
    ]  # fmt: skip


def test_every_outcome_says_what_it_means_and_how_the_loop_rests() -> None:
    rows = table.OUTCOMES.values()
    assert all(row.means and row.state in STATES for row in rows)
    assert {row.name for row in rows if not row.status} == set(FINAL)
    assert {row.name for row in rows if row.state == PAUSED} >= set(SELF_RESUMING)
    assert not any(row.end and row.person for row in rows)


def test_the_mood_of_an_outcome_is_what_it_means_for_the_person() -> None:
    moods = {name: table.outcome(name).mood for name in OUTCOMES}
    assert [name for name in moods if moods[name] == GOOD] == ["complete"]
    assert [name for name in moods if moods[name] == WAIT] == [
        "needs_input", "needs_approval", "awaiting_approval", "rate_limited",
    ]  # fmt: skip
    assert moods["failed"] == moods["cancelled"] == BAD


def test_a_loop_that_rests_without_an_outcome_was_paused() -> None:
    assert table.outcome(None) is table.OUTCOMES["interrupted"]


def test_a_column_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AttributeError):
        Outcome("new", "\n        cods: 3")
    with pytest.raises(AttributeError):
        Limit("new", 3, "count", LOOP, "new", "\n        tol: a new one")
