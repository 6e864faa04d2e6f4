"""Begins a loop over a task list, once nothing is in the way and the person has allowed its checks."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ralphloop import config
from ralphloop.agents.registry import agent_in
from ralphloop.domain.finding import Finding
from ralphloop.domain.ledger import Ledger, name_tasks, survey
from ralphloop.domain.limits import iteration_limit
from ralphloop.domain.model import (
    BUDGET,
    CANCELLED,
    COMPLETE,
    ENDED,
    Limits,
    LoopState,
    Supervision,
    TaskList,
)
from ralphloop.domain.prompt import count
from ralphloop.domain.table import BUDGETS
from ralphloop.errors import TakenError, UnapprovedError, UserError
from ralphloop.loops import bounds, doubt, setup
from ralphloop.loops.consent import YES, Approval, must_count
from ralphloop.loops.place import Place, choose, last_over, must_be_session, require_person
from ralphloop.loops.result import Result, Tell, quiet
from ralphloop.proof import protect
from ralphloop.proof.approval import digest, waiting
from ralphloop.store import approvals, arming, files, pins, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Record, Shelf
from ralphloop.tasklists.registry import own_file, traits
from ralphloop.tasklists.source import Source
from ralphloop.views.fold import SHOWN


class Wish(NamedTuple):
    """What a loop is asked to begin with; what is not said is as the settings have it."""

    session: str | None = None  # that owns it
    limits: Mapping[str, float] = {}
    endless: bool = False  # no limit of turns is meant
    continue_with: str | None = None
    approval: Approval | None = None
    unapproved: bool = False  # begin although checks are not approved; they do not run
    launching: bool = False  # the client is started on it at once
    supervision: Supervision | None = None  # where a supervisor begins it
    strict: bool = False  # what is doubtful about a proof is refused, not only told
    looked: doubt.Looked | None = None  # the list, if it was looked over
    seen: Sequence[str] = ()  # of its doubts, those that the person was shown
    told: Tell = quiet  # hears of each check that is tried, and an empty line at the end


def look_over(place: Place, name: str | None = None, *, source: Source | None = None) -> doubt.Looked:
    """A list that a loop can begin over (`source`, where that is known), with what is doubtful about it."""
    source = source or choose(place, name)
    return doubt.look(source.root, *startable(source), env=place.env)


def start(place: Place, name: str | None = None, *, wish: Wish | None = None) -> Result:
    """Arm a loop for a session: the one that is named, this one, or the next that begins here."""
    wish, source = wish or Wish(), choose(place, name)
    startable(source)
    if wish.launching:
        setup.must_be_launchable(place)
    session = wish.session or (str(uuid.uuid4()) if wish.launching else place.session)
    armed = arm(place, source, wish=wish._replace(session=session))
    return Result(_facts(armed), tuple(tell(armed, binding=place.cwd)))


class Armed(NamedTuple):
    """A loop that has begun, and what there is to say about it."""

    loop: LoopFiles
    listed: TaskList
    checks: list[setup.Check]
    protected: int
    doubts: tuple[str, ...]  # about the list
    seen: frozenset[str] = frozenset()  # those of them that the person was shown
    notes: tuple[Finding, ...] = ()  # about its checks, as they are before any work
    unheld: str = ""  # files that judge the work and are not protected


def arm(place: Place, source: Source, *, wish: Wish) -> Armed:
    """Begin a loop over the list, once the person has allowed its checks."""
    listed, texts = startable(source)
    limits = _checked(wish)
    begun = ready(place, source, session=wish.session, limits=limits, launching=wish.launching)
    looked = doubt.look(source.root, listed, texts, env=place.env, before=wish.looked)
    if looked.fault:
        raise UserError(looked.fault + ".")
    allowed = _allowed(place, source, listed=listed, wish=wish, doubts=looked.doubts)
    begun = begun._replace(supervision=wish.supervision, strict=wish.strict)
    loop = begin(place, source, ready=begun, continue_with=wish.continue_with)
    if allowed and wish.approval is not None:
        loop.journal("approve", commands=allowed, by=wish.approval.by)
    more = config.load(source.root, place.env).get("criteria")
    protected, unheld = _pin_protected(loop, more), doubt.unheld(source.root, listed, texts, extra=more)
    if "progress" in source.paths:  # a state file is the plugin's until the first stop
        tasks.show_now(loop, loop.state())
    notes = _try_first(loop, listed, wish=wish, env=place.env)
    seen = frozenset(wish.seen)
    return Armed(loop, listed, begun.checks, protected, looked.doubts, seen, notes, unheld)


def _try_first(
    loop: LoopFiles, listed: TaskList, *, wish: Wish, env: Mapping[str, str]
) -> tuple[Finding, ...]:
    if wish.supervision is not None:
        return ()
    from ralphloop.loops import proving

    return proving.try_first(loop, listed, env=env, told=wish.told)


def _checked(wish: Wish) -> dict[str, float]:
    """The limits, where nothing that is wished for is out of the question."""
    limits = bounds.checked(wish.limits, endless=wish.endless)
    must_be_session(wish.session)
    if wish.continue_with not in (None, *config.CONTINUATIONS):
        ways = " or ".join(config.CONTINUATIONS)
        raise UserError(f"a loop goes on by {ways}, not by {wish.continue_with!r:.40}.")
    return limits


def _allowed(
    place: Place, source: Source, *, listed: TaskList, wish: Wish, doubts: tuple[str, ...]
) -> list[str]:
    """Take the person's yes to the list's new commands down; those commands. Without it an error has them
    and the list's doubts."""
    here, given = Shelf(source.root, place.env), wish.approval
    new = [] if wish.unapproved else approvals.unapproved(here, listed)
    if not new:
        return []
    if given is not None:
        must_count(here)
    if given is None or not set(new) <= set(given.commands):
        void, command = approvals.why_void(here), "start" if wish.supervision is None else "run"
        raise UnapprovedError(
            f"{void}; `--unapproved` starts and runs no check."
            if void
            else _refusal(place, source, new, again=f"ralphloop {command} {source.name}"),
            commands=tuple(new),
            already=len(listed.commands) - len(new),
            askable=not (void or agent_in(place.env)),
            doubts=doubts,
        )
    require_person(place.env, YES if given.by == YES else "an approval")
    approvals.approve(here, new, by=given.by)
    return new


def _refusal(place: Place, source: Source, commands: Sequence[str], *, again: str) -> str:
    """Nobody said yes: what was not done, and how it is, `again` the command that is to be repeated."""
    if agent_in(place.env):
        typed = f"{traits(source.layout).typed('approve')} {digest(commands)}"
        return (
            f"nothing is approved and nothing started: the person must type `{typed}` in the client, or run "
            f"`ralphloop approve` in a terminal of their own; then `{again}`, or now with --unapproved."
        )
    return (
        "nothing is approved and nothing started. Only in a terminal are you asked for your yes; elsewhere "
        f"`{again} --yes` approves these commands, and `--unapproved` starts and runs none of them."
    )


class Ready(NamedTuple):
    """What a loop that may begin now begins with."""

    session: str | None
    checks: list[setup.Check]
    limits: dict[str, float]
    before: LoopFiles | None  # the loop whose terms go on
    continue_with: str
    supervision: Supervision | None = None  # where a supervisor begins it
    strict: bool = False


def ready(
    place: Place, source: Source, *, session: str | None, limits: dict[str, float], launching: bool = False
) -> Ready:
    """Look whether a loop over this list can begin; an error says why not. Limits that are not given are
    those of the settings."""
    settings = config.load(source.root, place.env)
    is_free(place, source, session)
    checks = setup.require(place, source, launching=launching)
    before, limits = _of_loop_before(place, source, limits=limits, configured=bounds.configured(settings))
    checks += _since_last(place, source, limits)
    return Ready(session, checks, limits, before, settings.get("continue_with"))


def begin(place: Place, source: Source, *, ready: Ready, continue_with: str | None = None) -> LoopFiles:
    """Arm a loop over this list."""
    loop = _arm(place, source, ready=ready, continue_with=continue_with or ready.continue_with)
    if ready.before is not None:
        _carry_over(loop, ready.before)
    setup.record_programs(place)
    if ready.supervision is None:  # a supervisor does it itself, on the branch that it works on
        from ralphloop.loops import proving

        proving.keep_start(loop, source, env=place.env, strict=ready.strict)
    return loop


def _of_loop_before(
    place: Place, source: Source, *, limits: dict[str, float], configured: dict[str, float]
) -> tuple[LoopFiles | None, dict[str, float]]:
    """An agent may begin anew what it cancelled, on the same terms: the loop before, and its limits, lowered
    where that was asked for. A file of settings that it may have written raises nothing."""
    if not agent_in(place.env):
        return None, {**configured, **limits}
    before = last_over(place, source) or _moved(place, source)
    is_new = before is None or before.state().outcome == COMPLETE
    most = _usual(source) if before is None or is_new else before.record.limits
    held = _by_files(place, source, configured)
    configured = {name: value for name, value in held.items() if not bounds.raised(most, {name: value})}
    bounds.must_be_persons(place, Limits.from_json({**most.to_json(), **configured}), limits)
    limits = {**configured, **limits}
    if before is None or is_new:
        return None, limits
    pinned = pins.pinned(before)
    texts = tasks.read_source(source)[1]
    if pinned is not None and pins.weakened(source.layout, pinned, texts):
        require_person(place.env, f"a loop over {source.name} with other criteria than before")
    kept = {name: value for name, value in before.record.limits.to_json().items() if value}
    return before, {**kept, **limits}


def _by_files(place: Place, source: Source, configured: dict[str, float]) -> dict[str, float]:
    """What is configured, where a variable of the agent's lowers what the files say and never raises it."""
    env = {name: value for name, value in place.env.items() if not name.startswith(config.variable("max_"))}
    held = bounds.configured(config.load(source.root, env))
    return {name: min(value, held.get(name, value)) for name, value in configured.items()}


def _since_last(place: Place, source: Source, limits: dict[str, float]) -> list[setup.Check]:
    """A word where the loop before was cancelled, or ended at its budget and this one has none."""
    before = last_over(place, source)
    outcome = None if before is None else before.state().outcome
    if outcome == CANCELLED:
        return [setup.Check("before", True, "The loop before it was cancelled; this is a new one.")]
    if before is None or outcome != BUDGET or any(map(limits.get, BUDGETS)):
        return []
    had = before.record.limits
    most = [bounds.shown(name, getattr(had, name)) for name in BUDGETS if getattr(had, name)]
    told = f"the loop before ended at its budget ({', '.join(most)}), and this one has none"
    return [setup.Check("budget", False, f"{told}: `ralphloop limit {source.name} --max-cost 5` sets one.")]


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


def _carry_over(loop: LoopFiles, before: LoopFiles) -> None:
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


def startable(source: Source) -> tuple[TaskList, doubt.Texts]:
    """The list and its texts, if a loop over it has something to do."""
    if not source.enabled:
        off = traits(source.layout)
        raise UserError(f"{off.plugin} is disabled; set `enabled: true` in {off.settings}.")
    own = own_file(source)
    listed, texts = doubt.read(source, cannot="cannot start")
    if listed.phase != "execution":
        return listed, texts  # its tasks are still to be written
    if not listed.tasks:
        raise UserError(f"{source.name} has no tasks; write some into {own} and start again.")
    if all(task.done for task in listed.tasks):
        raise UserError(f"every task of {source.name} is done; add one to {own}, or reopen one.")
    ledger = Ledger()
    name_tasks(listed, ledger)
    work = survey(listed, ledger)  # as a loop would see it at its first stop
    if not work.next and not work.asked:
        why = "; ".join(doubt.unmet(listed)[:SHOWN])
        end = "" if why.endswith("?") else "."
        raise UserError(f"no task of {source.name} can run. {why}{end} Repair {own} and start again.")
    return listed, texts


def is_free(place: Place, source: Source, session: str | None) -> None:
    """Refuse a second loop over this list, and a second one for this session."""
    holder = arming.holder(source, Shelf(source.root, place.env))
    if holder is not None:
        raise _taken(source, holder)
    mine = place.owned_by(session) if session else None
    if mine is not None and not mine.is_over:
        raise _taken(source, mine.record)


def _taken(source: Source, record: Record) -> UserError:
    owner = f"session {record.session}" if record.session else "no session yet"
    end = (
        f"`ralphloop cancel {record.name}` ends it; "
        f"if its session is gone, `ralphloop resume {record.name} --adopt` takes it over."
    )
    if own_file(record) == own_file(source):
        return UserError(f"a loop over {source.name} is under way already: {record.id} ({owner}). {end}")
    return UserError(f"this session owns a loop already: {record.id} ({owner}). {end}")


def _arm(place: Place, source: Source, *, ready: Ready, continue_with: str) -> LoopFiles:
    limits = dict(ready.limits)
    iterations = limits.pop("iterations", None)
    try:
        return arming.arm(
            source,
            Shelf(source.root, place.env),
            session=ready.session,
            supervision=ready.supervision,
            max_iterations=None if iterations is None else int(iterations),
            limits=limits,
            continue_with=continue_with,
            started=True,
        )
    except TakenError as error:
        raise _taken(source, error.record) from None


def _pin_protected(loop: LoopFiles, criteria: Sequence[str]) -> int:
    try:
        return protect.pin(loop, loop.record.root, extra=criteria)
    except OSError as error:
        state = loop.state()
        state.state, state.outcome, state.detail = ENDED, CANCELLED, "the protected files cannot be kept"
        loop.rest(state)
        raise UserError(f"the protected files cannot be kept, and nothing started: {error}.") from None


def _done(listed: TaskList) -> int:
    return sum(1 for task in listed.tasks if task.done)


def tell(armed: Armed, *, binding: str = "") -> list[str]:
    """What there is to say about a loop that has begun; how it binds, as seen from the folder `binding`."""
    loop, listed = armed.loop, armed.listed
    record, state = loop.record, loop.state()
    told = [f"Loop {record.id}: {_done(listed)}/{len(listed.tasks)} done, {bounds.told(record.limits)}."]
    told += [_binding(record, state, cwd=binding)] if binding else []
    told += [f"! {each}" for each in armed.doubts if each not in armed.seen]
    told += [f"! {each.said}." for each in armed.notes]
    if armed.protected:
        kept = "is kept as it is now" if armed.protected == 1 else "are kept as they are now"
        told.append(f"{count(armed.protected, 'protected file')} {kept}.")
    told += [f"{armed.unheld}."] if armed.unheld else []
    if record.unapproved:
        commands = waiting(loop)
        typed = f"{traits(record.layout).typed('approve')} {digest(commands)}"
        how = f"type `{typed}` in the client, or run `ralphloop approve {record.name}`"
        how = approvals.why_void(loop.shelf) or how
        does = "is not approved and does not run" if len(commands) == 1 else "are not approved and do not run"
        told.append(f"! {count(len(commands), 'check')} {does}: {how}.")
    return told + [f"{'✓' if check.fine else '!'} {check.told}" for check in armed.checks]


def _binding(record: Record, state: LoopState, *, cwd: str) -> str:
    if state.owner:
        return f"It belongs to session {state.owner}."
    prompt = record.paths.get("prompt", "")
    binds = "It binds to the next session started here"
    if prompt and os.path.exists(prompt):
        return f"{binds}, or to the one that gets the text of {os.path.relpath(prompt, cwd)}."
    return binds + "."


def _facts(armed: Armed) -> dict[str, object]:
    loop, listed = armed.loop, armed.listed
    record, state = loop.record, loop.state()
    return {
        "id": record.id,
        "name": record.name,
        "layout": record.layout,
        "root": record.root,
        "state": state.state,
        "owner": state.owner,
        "iteration": state.iteration,
        "max_iterations": int(record.limits.iterations),
        "done": _done(listed),
        "total": len(listed.tasks),
        "unapproved": waiting(loop),
        "checks": [check._asdict() for check in armed.checks],
        "doubts": list(armed.doubts),
    }
