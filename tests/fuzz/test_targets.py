"""A target notices what it says it looks at."""

from __future__ import annotations

import pytest
from fuzz.targets import state

from ralphloop.domain import limits
from ralphloop.tasklists.registry import LAYOUTS


@pytest.mark.parametrize("layout", LAYOUTS)
def test_damaged_files_that_hold_no_limit_leave_it_in_force(
    monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    # Of this layout one file, in whose place there is nothing then.
    damage = bytes([LAYOUTS.index(layout), 0, state.NAMES.index("cursor.json"), 0])
    state.run(damage)
    monkeypatch.setattr(limits, "tripped", lambda *_, **__: ("", ""))
    with pytest.raises(AssertionError, match="the limit holds"):
        state.run(damage)
