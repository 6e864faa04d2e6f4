"""Which tasks of a ledger wait for a commit: those closed in this loop, once for each proof."""

from __future__ import annotations

from ralphloop.domain.model import PROVEN, UNVERIFIED, VOUCHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Mapping, Optional

    from ralphloop.domain.ledger import Ledger
    from ralphloop.domain.model import TaskList
    from ralphloop.domain.supervision import Supervision

FAULT = "commit_fault"  # of a task in the ledger: why its last commit was not made


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


def missing(terms: Optional[Supervision], ledger: Ledger, listed: TaskList) -> list[str]:
    """What a run on these terms was to commit and did not, in the list's order."""
    wanted = set(waiting(ledger)) if terms is not None and terms.branch else ()
    return [task.id for task in listed.tasks if task.id in wanted]


def fault(ledger: Ledger, tasks: Iterable[str]) -> str:
    """Why these have none; empty where there are none."""
    said = [ledger.tasks[task].get(FAULT, "") for task in tasks]
    return next(filter(None, reversed(said)), "the run was ended before that" if said else "")


def told(tasks: Iterable[str]) -> str:
    """How a loop's detail says that its work is not committed."""
    return "not committed: " + ", ".join(tasks)
