"""The one door from the hook to proof: checks and commits, imported only when one is due."""

from __future__ import annotations

from ralphloop import errors
from ralphloop.domain.ledger import commits_undone, uncommitted
from ralphloop.domain.model import ENDED
from ralphloop.store import approvals, pins, tasks
from ralphloop.store.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping

    from ralphloop.domain.model import StopEvent
    from ralphloop.domain.situation import Decision
    from ralphloop.proof.prove import Prover
    from ralphloop.store.loop import LoopFiles
    from ralphloop.tasklists.source import Source


def prover(loop: LoopFiles, event: StopEvent, env: Mapping[str, str]) -> Prover:
    from ralphloop.proof.checker import of_session
    from ralphloop.proof.prove import Prover

    origin = of_session("claim", event.session, transcript=event.transcript, env=env)
    return Prover(loop, cwd=event.cwd, env=env, origin=origin)


def pin_protected(loop: LoopFiles) -> None:
    """Keep the files that the list of a loop wants protected, if it names any."""
    if '"protect"' not in (pins.pinned(loop) or ""):
        return
    from ralphloop.proof.protect import pin

    pin(loop, loop.record.root)


def note_surroundings(loop: LoopFiles, env: Mapping[str, str]) -> None:
    """At the owner's first event: what its client hands to every check, which a terminal does not have."""
    from ralphloop.proof.baseline import note_variables

    note_variables(loop, env)


def approve_typed(loops: list[LoopFiles], lists: list[Source], said: str, env: Mapping[str, str]) -> str:
    """The person typed an approval, for a loop or for a list that is still to be started: what to say."""
    from ralphloop.proof.approval import Waiting, typed, waiting

    found = [Waiting(loop.record.name, loop.record.layout, loop.shelf, waiting(loop), loop) for loop in loops]
    for source in lists:
        here = Shelf(source.root, env)
        try:
            commands = approvals.unapproved(here, tasks.parse_source(source))
        except (ValueError, OSError):
            continue
        found.append(Waiting(source.name, source.layout, here, commands, None))
    return typed(found, said, env=env)


def waiting(loop: LoopFiles) -> tuple[int, str]:
    """How many checks of a loop's list wait for the person, and what they type to allow them."""
    from ralphloop.proof import approval

    commands = approval.waiting(loop)
    return len(commands), approval.digest(commands)


def has_person(env: Mapping[str, str]) -> bool:
    """Whether a person, and no agent, started this client."""
    from ralphloop.agents.presence import started_by_agent

    return not started_by_agent(env)


def commit_closed(loop: LoopFiles, event: StopEvent, *, decision: Decision, env: Mapping[str, str]) -> None:
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
