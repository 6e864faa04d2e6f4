"""What a loop begins with that the one before had: an agent that begins anew gets nothing more."""

from __future__ import annotations

import os

from ralphloop import config
from ralphloop.agents.presence import agent_in
from ralphloop.domain.limits import iteration_limit
from ralphloop.domain.model import BUDGET, CANCELLED, COMPLETE, Limits
from ralphloop.loops import allowance
from ralphloop.loops.place import Place, last_over, require_person
from ralphloop.loops.precheck import Check
from ralphloop.store import files, pins, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import traits
from ralphloop.tasklists.source import Source


def of_loop_before(
    place: Place, source: Source, *, limits: dict[str, float], configured: dict[str, float]
) -> tuple[LoopFiles | None, dict[str, float]]:
    """An agent may begin anew what it cancelled, on the same terms: the loop before, and its limits, lowered
    where that was asked for. A file of settings that it may have written raises nothing."""
    if not agent_in(place.env):
        return None, {**configured, **limits}
    before = last_over(place, source) or _moved(place, source)
    is_new = before is None or before.state().outcome == COMPLETE
    most = _usual(source) if before is None or is_new else before.record.limits
    configured = {n: v for n, v in _by_files(place, source, configured).items() if not _is_higher(most, n, v)}
    higher = allowance.raised(Limits.from_json({**most.to_json(), **configured}), limits)
    limits = {**configured, **limits}
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


def _is_higher(most: Limits, name: str, value: float) -> bool:
    return bool(allowance.raised(most, {name: value}))


def _by_files(place: Place, source: Source, configured: dict[str, float]) -> dict[str, float]:
    """What is configured, where a variable of the agent's lowers what the files say and never raises it."""
    env = {name: value for name, value in place.env.items() if not name.startswith(config.variable("max_"))}
    held = allowance.configured(config.load(source.root, env))
    return {name: min(value, held.get(name, value)) for name, value in configured.items()}


def since_last(place: Place, source: Source, limits: dict[str, float]) -> list[Check]:
    """A word where the loop before was cancelled, or ended at its budget and this one has none."""
    before = last_over(place, source)
    outcome = None if before is None else before.state().outcome
    if outcome == CANCELLED:
        return [Check("before", True, "The loop before it was cancelled; this is a new one.")]
    if before is None or outcome != BUDGET or any(map(limits.get, allowance.BUDGETS)):
        return []
    had = before.record.limits
    most = [allowance.shown(name, getattr(had, name)) for name in allowance.BUDGETS if getattr(had, name)]
    told = f"the loop before ended at its budget ({', '.join(most)}), and this one has none"
    return [Check("budget", False, f"{told}: `ralphloop limit {source.name} --max-cost 5` sets one.")]


def _moved(place: Place, source: Source) -> LoopFiles | None:
    """This session's last loop over a list that is gone: it may have been this one, under another name."""
    role = traits(source.layout).criteria
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
    return Limits(iterations=min(most, traits(source.layout).iterations or most))


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
