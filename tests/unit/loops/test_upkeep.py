"""Which loops the service starts again."""

from __future__ import annotations

import pytest

from ralphloop.domain import model
from ralphloop.domain.model import ENDED, OUTCOMES, PAUSED, LoopState
from ralphloop.loops.upkeep import is_wanted
from ralphloop.store.supervisor import Holder


@pytest.mark.parametrize("told_to_end", [False, True])
def test_a_loop_that_needs_a_person_is_never_started(told_to_end: bool) -> None:
    holder = Holder(boot="an earlier start", told_to_end=told_to_end)
    wanted = {
        outcome for outcome in OUTCOMES if is_wanted(LoopState(id="x", state=PAUSED, outcome=outcome), holder)
    }
    assert wanted == {model.RATE_LIMITED} | ({model.INTERRUPTED} if told_to_end else set())
    for outcome in OUTCOMES:
        assert not is_wanted(LoopState(id="x", state=ENDED, outcome=outcome), holder), outcome
    for state in (model.RUNNING, model.WAITING, model.ARMED):
        assert is_wanted(LoopState(id="x", state=state), holder), state
