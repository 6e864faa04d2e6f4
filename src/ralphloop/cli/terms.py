"""What `start` asks before it begins: the person's yes to the checks, and that nothing got weaker."""

from __future__ import annotations

import argparse
import os

from ralphloop.agents.presence import agent_in
from ralphloop.cli import allowance, consent
from ralphloop.cli.here import Here, last_over
from ralphloop.cli.person import require_person
from ralphloop.domain.limits import iteration_limit
from ralphloop.domain.model import COMPLETE, FEATURES, Limits, TaskList
from ralphloop.errors import UserError
from ralphloop.evidence import globs
from ralphloop.store import approvals, arming, files, pins, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists import feature_list
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source


def commands(listed: TaskList) -> set[str]:
    return {command for task in listed.tasks for command in task.verify}


def of_loop_before(
    place: Here, source: Source, *, limits: dict[str, float], configured: dict[str, float]
) -> tuple[LoopFiles | None, dict[str, float]]:
    """An agent may begin anew what it cancelled, on the same terms: the loop before, and its limits, lowered
    where that was asked for. A file of settings that it may have written raises nothing."""
    if not agent_in(place.env):
        return None, {**configured, **limits}
    before = last_over(place, source) or _moved(place, source)
    is_new = before is None or before.state().outcome == COMPLETE
    most = _usual(source) if before is None or is_new else before.record.limits
    higher = allowance.raised(most, limits)
    limits = {**{n: v for n, v in configured.items() if not allowance.raised(most, {n: v})}, **limits}
    if higher:
        require_person(place.env, f"a higher limit ({', '.join(higher)})")
    if before is None or is_new:
        return None, limits
    pinned = pins.pinned(before)
    texts = tasks.read_source(source)[1]
    if pinned is not None and pins.weakened(source.layout, pinned, texts):
        require_person(place.env, f"a loop over {source.name} with other criteria than before")
    kept = {name: value for name, value in before.record.limits.to_json().items() if value}
    return before, {**kept, **limits}


def _moved(place: Here, source: Source) -> LoopFiles | None:
    """This session's last loop over a list that is gone: it may have been this one, under another name."""
    role = pins.role_of(source.layout)
    gone = [
        loop
        for loop in place.loops(shelf.ENDED)
        if (loop.record.session, loop.record.layout) == (place.session, source.layout)
        and not files.signature(loop.record.paths[role])
    ]
    return max(gone, key=lambda loop: loop.record.armed_at, default=None)


def _usual(source: Source) -> Limits:
    """What holds where nobody asked for anything else."""
    try:
        listed = tasks.parse_source(source)
    except (ValueError, OSError):
        return Limits()
    most = iteration_limit(len(listed.tasks), [source.max_iterations, listed.max_iterations])
    return Limits(iterations=most if source.layout == FEATURES else min(most, arming.UNPLANNED))


def carry_over(loop: LoopFiles, before: LoopFiles) -> None:
    """What the session used in the loop before counts in this one: turns, time, tokens and dollars."""
    if before.record.session != loop.record.session:
        return
    used = before.state()
    with loop.lock():
        state = loop.state()
        state.iteration, state.elapsed_s = used.iteration, used.elapsed_s
        loop.save(state, durable=True)
        spent = files.read_quietly(os.path.join(before.kept, "usage.json"))
        if spent is not None:
            files.write_text(os.path.join(loop.kept, "usage.json"), spent)


def unprotected(source: Source, listed: TaskList) -> list[str]:
    """The patterns under `protect` that name no file; an error before anything is armed if they name more
    than can be kept."""
    if not any(task.guarded for task in listed.tasks):
        return []
    patterns = feature_list.protect(files.read_text(own_file(source)) or "")
    try:
        return [
            pattern for pattern in patterns if not any(True for _ in globs.matching(source.root, [pattern]))
        ]
    except OSError as error:
        raise UserError(f"`protect` cannot hold: {error}.") from None


def approved_now(
    args: argparse.Namespace, place: Here, source: Source, *, listed: TaskList, again: str = "start"
) -> list[str]:
    """Show the commands that would prove the tasks; those that the person now allowed. `again` is the command
    to repeat with a yes."""
    shelf_here = Shelf(source.root, place.env)
    new = approvals.unapproved(shelf_here, listed)
    if not new:
        return []
    if not args.json:
        consent.list_commands(new, already=len(commands(listed)) - len(new))
    given = consent.is_given(yes=args.yes, shown=not args.json, env=place.env, what="Approve them and start")
    if given:
        approvals.approve(shelf_here, new, by="--yes" if args.yes else "terminal")
        return new
    if not args.unapproved:
        raise consent.refusal(
            new, layout=source.layout, env=place.env, again=f"ralphloop {again} {source.name}"
        )
    return []
