"""What waits for the person's approval, as one digest that can be typed, and how it is given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from ralphloop.agents.presence import started_by_agent
from ralphloop.domain.model import NEEDS_APPROVAL, PAUSED, TaskList
from ralphloop.store import approvals, arming, pins, shelf, tasks
from ralphloop.store.loop import LoopFiles

DIGEST_LENGTH = 12


def digest(commands: Iterable[str]) -> str:
    """The same for the same set of commands, in whatever order."""
    text = "\0".join(sorted(set(commands)))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:DIGEST_LENGTH]


def waiting(loop: LoopFiles, listed: TaskList | None = None) -> list[str]:
    """The commands of a loop's list that may not run yet."""
    if listed is None:
        try:
            listed = tasks.parse_source(loop.record)
        except (ValueError, OSError):
            return []
    return approvals.unapproved(loop.shelf, listed)


def approve(
    loop: LoopFiles, commands: Iterable[str], *, by: str, adopt: Mapping[str, str | None] | None = None
) -> None:
    """Allow these commands, pin the list anew if its texts are given, and let a loop that waited go on.
    Call it under the loop's lock."""
    allowed = list(commands)
    approvals.approve(loop.shelf, allowed, by=by)
    if adopt is not None:
        pins.pin(loop, adopt)
    loop.record.unapproved = bool(waiting(loop))
    state = loop.load()
    loop.journal("approve", commands=allowed, by=by, digest=digest(allowed))
    if state is not None and state.state == PAUSED and state.outcome == NEEDS_APPROVAL:
        arming.take_up(loop, state)
        return
    with loop.shelf.lock():
        kind = shelf.OWNED if loop.record.session is not None else shelf.ARMED
        loop.shelf.put(loop.record, shelf.ENDED if state is not None and state.state == "ended" else kind)
    if state is not None:
        state.ledger += 1
        loop.save(state)


def typed(loop: LoopFiles, said: str, *, env: Mapping[str, str]) -> str:
    """The person typed an approval in the client: what to answer."""
    if started_by_agent(env):
        return "an agent started this client, so nobody typed that; approve in a terminal of your own."
    with loop.lock():
        try:
            listed = tasks.parse_source(loop.record)
        except (ValueError, OSError) as error:
            return f"its list cannot be read: {error}"
        commands = waiting(loop, listed)
        if not commands:
            return "no check waits for your approval."
        wanted = digest(commands)
        if said != wanted:
            shown = "; ".join(f"`{command}`" for command in commands[:8])
            return f"{len(commands)} checks wait: {shown}. Type `/ralphloop:approve {wanted}` to allow them."
        approve(loop, commands, by="typed")
    return f"{len(commands)} checks are approved."
