"""The exit codes that tell how a loop ended or rests, for every command that has one to tell of."""

from __future__ import annotations

from ralphloop.domain import model

COMPLETE = 0
LIMIT = 10
BUDGET = 11
STALLED = 12
NEEDS_PERSON = 13
RATE_LIMITED = 14
FAILED = 15
CANCELLED = 16
PAUSED = 17
UNDER_WAY = 18
UNCOMMITTED = 20

OF_OUTCOME = {
    model.COMPLETE: COMPLETE,
    model.LIMIT: LIMIT,
    model.BUDGET: BUDGET,
    model.STALLED: STALLED,
    model.CAPPED: STALLED,
    model.NEEDS_INPUT: NEEDS_PERSON,
    model.NEEDS_APPROVAL: NEEDS_PERSON,
    model.AWAITING_APPROVAL: NEEDS_PERSON,
    model.RATE_LIMITED: RATE_LIMITED,
    model.FAILED: FAILED,
    model.CORRUPT: FAILED,
    model.CANCELLED: CANCELLED,
    model.INTERRUPTED: PAUSED,
}

TABLE = """\
exit codes:
   0  complete
  10  limit: iterations or running time
  11  budget: tokens or dollars
  12  stalled, or capped by the client
  13  needs you: an answer or an approval
  14  rate limited
  15  failed, or a file is corrupt
  16  cancelled
  17  paused or interrupted
  18  still under way: armed, running or waiting
  20  complete, but not all of it is committed
"""


def of(state: str, outcome: str | None, *, uncommitted: bool = False) -> int:
    if state not in (model.PAUSED, model.ENDED):
        return UNDER_WAY
    if outcome == model.COMPLETE and uncommitted:
        return UNCOMMITTED
    return OF_OUTCOME.get(outcome or model.INTERRUPTED, FAILED)
