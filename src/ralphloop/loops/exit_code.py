"""The exit codes that tell how a loop ended or rests, for every command that has one to tell of."""

from __future__ import annotations

from ralphloop.domain import model
from ralphloop.domain.table import OUTCOMES, outcome

UNDER_WAY = 18
UNCOMMITTED = 20


def of(state: str, ended: str | None, *, uncommitted: bool = False) -> int:
    if state not in (model.PAUSED, model.ENDED):
        return UNDER_WAY
    return UNCOMMITTED if ended == model.COMPLETE and uncommitted else outcome(ended).code


def meanings() -> dict[int, str]:
    """What each code tells."""
    found: dict[int, str] = {}
    for row in OUTCOMES.values():
        joint = "" if row.code not in found or row.exit[:1] in (",", "") else " "
        found[row.code] = found.get(row.code, "") + joint + row.exit
    found[UNDER_WAY] = "still under way: armed, running or waiting"
    found[UNCOMMITTED] = "complete, but not all of it is committed"
    return found


TABLE = "exit codes:\n" + "".join(f"  {code:>2}  {told}\n" for code, told in sorted(meanings().items()))
