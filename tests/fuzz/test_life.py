"""The life of a loop agrees with the oracle, in each layout; `make fuzz` lives many more lives."""

from __future__ import annotations

import hypothesis
import pytest
from fuzz.ground import LAYOUTS
from fuzz.model.machine import life_of
from hypothesis.stateful import run_state_machine_as_test

from ralphloop.domain import limits
from ralphloop.store import approvals

LIVES, STEPS = 25, 30


def live(layout: str) -> None:
    settings = hypothesis.settings(
        max_examples=LIVES,
        stateful_step_count=STEPS,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],  # making a finding smaller takes minutes; `make fuzz` does that
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(life_of(layout), settings=settings)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_step_of_a_loops_life_is_what_the_oracle_says(layout: str) -> None:
    live(layout)


def test_the_oracle_notices_time_that_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "tick", lambda loop, now: setattr(loop, "seen_at", now))
    with pytest.raises(AssertionError, match="elapsed_s"):
        live("features")


def test_the_oracle_notices_a_check_that_nobody_approved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "unapproved", lambda here, listed: [])
    with pytest.raises(AssertionError):
        live("speckit")
