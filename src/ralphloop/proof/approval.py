"""What waits for the person's approval, as one digest that can be typed, and how it is given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ralphloop.domain.check_results import shown
from ralphloop.domain.model import ENDED, NEEDS_APPROVAL, PAUSED
from ralphloop.domain.prompt import count
from ralphloop.store import approvals, arming, pins, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import traits

DIGEST_LENGTH = 12


def digest(commands: Iterable[str]) -> str:
    """The same for the same set of commands, in whatever order."""
    text = "\0".join(sorted(set(commands)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]


def waiting(loop: LoopFiles) -> list[str]:
    """The commands of a loop's list that may not run yet."""
    try:
        return approvals.unapproved(loop.shelf, tasks.parse_source(loop.record))
    except (ValueError, OSError):
        return []


def approve(
    loop: LoopFiles,
    commands: Iterable[str],
    *,
    by: str,
    env: Mapping[str, str],
    adopt: Mapping[str, str | None] | None = None,
) -> None:
    """Allow these commands, pin the list anew if its texts are given, and let a loop that waited go on.
    Call it under the loop's lock."""
    allowed = list(commands)
    approvals.approve(loop.shelf, allowed, by=by)
    if loop.has_baseline:
        from ralphloop.proof import baseline  # no claim needs it

        baseline.note_programs(loop, allowed, env)
    if adopt is not None:
        pins.pin(loop, adopt)
    loop.record.unapproved = bool(waiting(loop))
    adopted = adopt is not None
    loop.journal(
        "approve", commands=allowed, by=by, digest=digest(allowed) if allowed else "", adopted=adopted
    )
    state = loop.load()
    if state is not None and state.state == PAUSED and state.outcome == NEEDS_APPROVAL:
        arming.take_up(loop, state)
        return
    with loop.shelf.lock():
        kind = shelf.OWNED if loop.record.session is not None else shelf.ARMED
        loop.shelf.put(loop.record, shelf.ENDED if state is not None and state.state == ENDED else kind)
    if state is not None:
        state.ledger += 1
        loop.save(state)


class Waiting(NamedTuple):
    """A list with checks that wait for the person, with its loop if there is one."""

    name: str
    layout: str
    shelf: Shelf
    commands: list[str]
    loop: LoopFiles | None


def typed(found: Iterable[Waiting], said: str, *, env: Mapping[str, str]) -> str:
    """The person typed an approval in the client: what to answer."""
    from ralphloop.agents.presence import started_by_agent  # no check needs it

    if started_by_agent(env):
        return "an agent started this client, so nobody typed that; approve in a terminal of your own."
    lists = [one for one in found if one.commands]
    if not lists:
        return "no check waits for your approval."
    void = approvals.why_void(lists[0].shelf)
    if void:
        return void + "."
    chosen = [one for one in lists if digest(one.commands) == said]
    if not chosen:
        wrong = ["That is not what waits now."] if said else []
        return " ".join([*wrong, *(_offer(one) for one in lists)])
    for one in chosen:
        _approve(one, env)
    many = len(chosen[0].commands)
    return f"{count(many, 'check')} of {chosen[0].name} {'is' if many == 1 else 'are'} approved."


def _approve(one: Waiting, env: Mapping[str, str]) -> None:
    if one.loop is None:
        approvals.approve(one.shelf, one.commands, by="typed")
        return
    with one.loop.lock():
        approve(one.loop, one.commands, by="typed", env=env)
        if one.loop.has_baseline:
            from ralphloop.proof import first_try  # no claim needs it

            first_try.keep_later(one.loop, tasks.parse_source(one.loop.record), one.commands)


def _offer(one: Waiting) -> str:
    what = shown(one.commands, "ralphloop")
    typed = traits(one.layout).typed("approve")
    return f"{one.name} waits for: {what}. `{typed} {digest(one.commands)}` allows that."
