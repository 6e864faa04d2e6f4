"""Which tasks of a ledger wait for a commit: those closed in this loop, once for each proof."""

from __future__ import annotations

from ralphloop.domain.model import PROVEN, UNVERIFIED, VOUCHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping

    from ralphloop.domain.ledger import Ledger


def proof(known: Mapping[str, str]) -> str:
    """What a closed task rests on: its evidence, or that there is none. Empty for one that gets no commit."""
    state = known.get("state", "")
    if state == PROVEN and known.get("evidence"):
        return known["evidence"]
    return "none (%s)" % state if state in (PROVEN, UNVERIFIED, VOUCHED) else ""


def waiting(ledger: Ledger) -> list[str]:
    """The tasks whose present proof no commit has."""
    return [
        task
        for task, known in ledger.tasks.items()
        if proof(known) and known.get("committed") != proof(known)
    ]


def reopened(ledger: Ledger) -> list[str]:
    """The tasks that had a commit and are open again: closed once more, they get another one."""
    return [task for task, known in ledger.tasks.items() if "committed" in known and not proof(known)]
