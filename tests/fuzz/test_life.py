"""The life of a loop agrees with the oracle, in each layout; `make fuzz` lives many more lives."""

from __future__ import annotations

import pytest
from fuzz.model import campaign
from fuzz.model.machine import life_of

from ralphloop.domain import limits
from ralphloop.store import approvals
from ralphloop.tasklists.registry import LAYOUTS

LIVES, STEPS = 25, 30
pytestmark = pytest.mark.slow


def live(layout: str) -> None:
    """Raw: making a finding smaller takes minutes; `make fuzz` does that."""
    campaign.live(life_of(layout), lives=LIVES, steps=STEPS, is_raw=True, is_random=False)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_step_of_a_loops_life_is_what_the_oracle_says(layout: str) -> None:
    live(layout)


def test_the_oracle_notices_time_that_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "tick", lambda loop, now: setattr(loop, "seen_at", now))
    with pytest.raises(AssertionError, match="elapsed_s"):
        live("features")


def test_the_oracle_notices_replies_that_are_all_the_same_to_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "reply_mark", lambda text: "1#1")
    with pytest.raises(AssertionError, match="same_replies"):
        live("features")


def test_the_oracle_notices_a_check_that_nobody_approved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "unapproved", lambda here, listed: [])
    with pytest.raises(AssertionError, match="a check ran that nobody approved"):
        live("speckit")
