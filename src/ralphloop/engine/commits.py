"""The one door from the hook to git: entered where a supervisor wants commits, and a task waits for one."""

from __future__ import annotations

from ralphloop import errors
from ralphloop.domain.ledger import commits_undone, uncommitted
from ralphloop.domain.model import ENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping

    from ralphloop.domain.model import StopEvent
    from ralphloop.domain.situation import Decision
    from ralphloop.store.loop import LoopFiles


def make(loop: LoopFiles, event: StopEvent, *, decision: Decision, env: Mapping[str, str]) -> None:
    """Commit what was closed. The decision stands already: whatever fails here is tried again at the next
    stop, and what the agent must put right first is added to its continuation."""
    try:
        ledger = loop.load_ledger()
        if not (uncommitted(ledger) or commits_undone(ledger)):
            return
        from ralphloop.proof.commit import catch_up

        told = catch_up(loop, cwd=event.cwd, env=env)
        if told:
            _tell(loop, decision, told)
    except (OSError, errors.BusyError):
        pass


def _tell(loop: LoopFiles, decision: Decision, told: str) -> None:
    """In this answer, or to the session that comes next."""
    if decision.blocks:
        decision.reason = "%s\n\n%s" % (told, decision.reason)
        return
    with loop.lock():
        state = loop.load()
        if state is not None and state.state != ENDED:
            state.carry = "\n\n".join(part for part in (told, state.carry) if part)
            loop.save(state)
