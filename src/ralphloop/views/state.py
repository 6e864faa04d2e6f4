"""The state of a loop as commands see it; apart from the rest, because every command needs it."""

from __future__ import annotations

from ralphloop.domain.model import CORRUPT, PAUSED, LoopState
from ralphloop.store.loop import LoopFiles


def state_of(loop: LoopFiles) -> LoopState:
    """The loop's state; if both copies of it are lost, what its arming still says."""
    known = loop.load()
    if known is not None:
        return known
    record = loop.record
    return LoopState(
        id=record.id,
        layout=record.layout,
        name=record.name,
        owner=record.session,
        state=PAUSED,
        outcome=CORRUPT,
        detail="its loop.json is lost",
    )
