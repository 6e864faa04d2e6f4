"""What an action on a loop gives back, to a command line, a page or a program alike, with its exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ralphloop.domain import model

Tell = Callable[[str], None]  # hears a line while the work goes on

FAILED, UNDER_WAY, UNCOMMITTED = 15, 18, 20
OF_OUTCOME = {
    model.COMPLETE: 0,
    model.LIMIT: 10,
    model.BUDGET: 11,
    model.STALLED: 12,
    model.CAPPED: 12,
    model.NEEDS_INPUT: 13,
    model.NEEDS_APPROVAL: 13,
    model.AWAITING_APPROVAL: 13,
    model.RATE_LIMITED: 14,
    model.FAILED: FAILED,
    model.CORRUPT: FAILED,
    model.CANCELLED: 16,
    model.INTERRUPTED: 17,
}
EXIT_CODES = """\
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


class Quoted(str):
    """A line of others' text, which is shown as it is."""


class Result(NamedTuple):
    """What came of it: facts for a program, lines for a person, and the exit code that tells both."""

    data: Mapping[str, Any]
    messages: tuple[str, ...] = ()
    code: int = 0


def quiet(_: str) -> None:
    """For whoever wants to hear nothing until the end."""


def exit_code(state: str, outcome: str | None, *, uncommitted: bool = False) -> int:
    """The code that tells how a loop ended or rests, for every command that has one to tell of."""
    if state not in (model.PAUSED, model.ENDED):
        return UNDER_WAY
    if outcome == model.COMPLETE and uncommitted:
        return UNCOMMITTED
    return OF_OUTCOME.get(outcome or model.INTERRUPTED, FAILED)
