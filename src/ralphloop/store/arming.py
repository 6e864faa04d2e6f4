"""The life of an arming: begin a loop, bind it to a session, let it rest, take it up again."""

from __future__ import annotations

import time

from ralphloop import errors
from ralphloop import system as os
from ralphloop.domain.ledger import Ledger, name_tasks, settle
from ralphloop.domain.limits import iteration_limit
from ralphloop.domain.model import ARMED, FINAL, OPEN, PAUSED, RUNNING, SET_ASIDE, Limits, LoopState
from ralphloop.store import approvals, pins, shelf, tasks
from ralphloop.store.loop import LoopFiles, iso, new_id, run_folder
from ralphloop.store.shelf import Record
from ralphloop.tasklists.registry import own_file, traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Iterator, Mapping, Optional

    from ralphloop.domain.model import Supervision, TaskList
    from ralphloop.store.shelf import Shelf
    from ralphloop.tasklists.source import Source


def under_way(here: Shelf, *, naming: str = "") -> Iterator[Record]:
    for kind in (shelf.OWNED, shelf.ARMED):
        yield from here.records(kind, naming=naming)


def holder(source: Source | Record, here: Shelf) -> Optional[Record]:
    """The loop that is under way over this list; one that has ended is not, wherever its record still is."""
    return next((record for record in _on_list(source, here) if not LoopFiles(record, here).is_over), None)


def _on_list(source: Source | Record, here: Shelf) -> Iterator[Record]:
    for record in under_way(here, naming=own_file(source)):
        if own_file(record) == own_file(source):
            yield record


def _make_room(record: Record, here: Shelf, *, but: str = "") -> None:
    """Neither its list nor its session may have another loop, `but` for the one that is taken up again."""
    found = [*_on_list(record, here)]
    mine = here.owned_by(record.session) if record.session is not None else None
    if mine is not None:
        found.insert(0, mine)
    for other in {other.id: other for other in found if other.id != but}.values():
        if not _put_away(other, here):
            raise errors.TakenError(other)


def _put_away(record: Record, here: Shelf) -> bool:
    """Whether the loop is over; if its end was killed half-way or found the shelf busy, its record moves now.
    Call it under the shelf's lock."""
    loop = LoopFiles(record, here)
    is_over = loop.is_over  # once: it may end at any moment
    if is_over:
        loop.put_away()
    return is_over


def arm(
    source: Source,
    here: Shelf,
    *,
    session: Optional[str],
    max_iterations: Optional[int] = None,
    limits: Optional[Mapping[str, float]] = None,
    continue_with: str = "block",
    started: bool = False,
    since: str = "",
    supervision: Optional[Supervision] = None,
    writes: bool = True,
) -> LoopFiles:
    """Begin a loop over this list. `started` means by the person's or plugin's command: the count
    begins anew and what is done already is given; else the files themselves began it, `since` then."""
    parsed, texts = _read(source)
    now = time.time()
    record = _record(source, here, parsed=parsed, session=session, max_iterations=max_iterations, now=now)
    for name, value in (limits or {}).items():
        setattr(record.limits, name, value)
    record.continue_with, record.supervision = continue_with, supervision
    record.unapproved = parsed is not None and bool(approvals.unapproved(here, parsed))
    loop = LoopFiles(record, here, writes=writes)
    loop.begun = LoopState(
        id=record.id,
        layout=record.layout,
        name=record.name,
        owner=session,
        state=ARMED if session is None else RUNNING,
        iteration=1 if started or parsed is None else max(1, parsed.iteration),
        started_at=now,
        seen_at=now,
        since=record.armed_at if started else since,
    )
    if writes:
        _write_down(loop, loop.begun, parsed=parsed, texts=texts, given=started)
    return loop


def is_due(source: Source) -> bool:
    """Whether there is something to keep going: a list in execution or quick mode, or a damaged one."""
    parsed, _ = _read(source)
    return parsed is None or parsed.phase == "execution" or parsed.quick


def _read(source: Source) -> tuple[Optional[TaskList], dict[str, Optional[str]]]:
    try:
        return tasks.read_source(source)
    except (ValueError, OSError):
        return None, {}


def _record(
    source: Source,
    here: Shelf,
    *,
    parsed: Optional[TaskList],
    session: Optional[str],
    max_iterations: Optional[int],
    now: float,
) -> Record:
    explicit = [max_iterations, source.max_iterations, parsed.max_iterations if parsed else None]
    if parsed is not None and parsed.phase != "execution" and not any(explicit):
        explicit.append(traits(source.layout).iterations)

    def is_taken(loop_id: str) -> bool:
        records = [os.path.join(here.folder, kind, loop_id + ".json") for kind in (shelf.ARMED, shelf.ENDED)]
        folders = [here.kept(loop_id), os.path.join(run_folder(source.root), loop_id)]
        return any(map(os.path.lexists, records + folders))

    return Record(
        new_id(source.layout, source.name, now=now, is_taken=is_taken),
        layout=source.layout,
        name=source.name,
        root=source.root,
        paths=source.paths,
        limits=Limits(iterations=iteration_limit(len(parsed.tasks) if parsed else 0, explicit)),
        armed_at=iso(now),
        session=session,
    )


def _write_down(
    loop: LoopFiles,
    state: LoopState,
    *,
    parsed: Optional[TaskList],
    texts: dict[str, Optional[str]],
    given: bool,
) -> None:
    """State first, record last: a loop whose record is missing is nobody's, never half a loop."""
    record, here = loop.record, loop.shelf
    with here.lock():
        _make_room(record, here)
        if os.path.isdir(loop.kept):  # another list's loop, with the same name and in the same second
            raise errors.TakenError(record)
        loop.make()
        if parsed is not None and parsed.phase == "execution":
            pins.pin(loop, texts)
            if traits(record.layout).phases:
                tasks.keep_begun(loop, texts.get(traits(record.layout).own))
        ledger = Ledger()
        if parsed is not None and given:
            name_tasks(parsed, ledger)
            settle(parsed, ledger, given=True)
            state.current = next((task.id for task in parsed.tasks if ledger.state(task) == OPEN), "")
        with loop.lock():  # and its file is there from now on
            loop.save_ledger(ledger)
            loop.save(state, durable=True)
        limits = record.limits.to_json()
        loop.journal("arm", loop=record.id, session=record.session, task=state.current, limits=limits)
        here.put(record, shelf.ARMED if record.session is None else shelf.OWNED)


def bind(record: Record, here: Shelf, *, session: str, writes: bool = True) -> Optional[LoopFiles]:
    """Make the session the owner of an armed loop; one session gets it, and owns no other."""
    loop = LoopFiles(record, here, writes=writes)
    if not writes:
        record.session = session
        return loop
    with here.lock():
        if not any(other.id == record.id for other in here.records(shelf.ARMED)):
            return None
        mine = here.owned_by(session)
        if _put_away(record, here) or (mine is not None and not _put_away(mine, here)):
            return None
        record.session = session
        here.put(record, shelf.OWNED)
    with loop.lock():
        state = loop.load()
        if state is not None:
            now = time.time()
            state.owner, state.state, state.since, state.seen_at = session, RUNNING, iso(now), now
            _forget_session(state)
            loop.save(state, durable=True)
            loop.journal("bind", session=session)
    return loop


def take_up(
    loop: LoopFiles,
    state: LoopState,
    *,
    limits: Optional[Mapping[str, float]] = None,
    anew: bool = True,
    supervision: Optional[Supervision] = None,
) -> None:
    """Go on with a paused or ended loop; `anew` in a new window of time and with new attempts. Without
    `supervision` nobody drives it any more."""
    record = loop.record
    record.supervision = supervision
    if state.outcome in FINAL:
        raise ValueError("a loop that is %s cannot go on" % state.outcome)
    with loop.shelf.lock():
        record.limits = loop.shelf.fresh(record).limits  # the person may have changed them since it was read
        for name, value in (limits or {}).items():
            setattr(record.limits, name, value)
        _make_room(record, loop.shelf, but=record.id)
        loop.shelf.put(record, shelf.ARMED if record.session is None else shelf.OWNED)
        loop.clear_request()
        _open_window(state, anew=anew)
        if anew:
            _take_back(loop, state)
        loop.save(state, durable=True)  # before anybody else looks whether it is over
    loop.journal("resume", session=record.session, limits=record.limits.to_json())


def hand_on(
    loop: LoopFiles, state: LoopState, *, session: str, terms: Supervision, batch: Iterable[str]
) -> None:
    """Make a session that a supervisor is about to start the owner of the loop."""
    record, now = loop.record, time.time()
    record.session, record.supervision = session, terms
    with loop.shelf.lock():
        loop.shelf.put(record, shelf.OWNED)
    if state.state == ARMED:
        state.seen_at = now
    state.state, state.owner, state.since = RUNNING, session, iso(now)
    _forget_session(state)
    state.batch, state.stops, state.handed_over = list(batch), 0, False
    loop.save(state, durable=True)


def _forget_session(state: LoopState) -> None:
    """What was about the session before: the transcript of the next one is another file."""
    state.transcript_end, state.served, state.reply, state.pending = 0, [], "", ""
    state.quiet_replies, state.detail = 0, ""


def _open_window(state: LoopState, *, anew: bool) -> None:
    now = time.time()
    state.state = ARMED if state.owner is None else RUNNING
    state.outcome, state.detail, state.resume_at = None, "", None
    state.seen_at, state.since = now, iso(now)
    if anew:
        state.elapsed_s, state.attempts, state.refused = 0.0, {}, []
    state.no_progress = state.same_replies = state.empty_replies = state.quiet_replies = 0
    state.pending, state.wake, state.failures = "", "", 0
    state.phase_turns, state.told, state.restored = {}, [], False
    state.denied, state.final_round = {}, 0


def _take_back(loop: LoopFiles, state: LoopState) -> None:
    """Tasks that were set aside get another try."""
    ledger = loop.load_ledger()
    aside = [task for task, known in ledger.tasks.items() if known.get("state") == SET_ASIDE]
    for task in aside:
        ledger.drop(task, "state")
    if aside:
        state.ledger += 1
        loop.save_ledger(ledger)


def release(loop: LoopFiles) -> None:
    """Let a loop whose session is over wait for the next one that begins, or for the same one again."""
    loop.record.armed_at = iso(time.time())
    with loop.shelf.lock():
        loop.record.limits = loop.shelf.fresh(loop.record).limits
        loop.shelf.put(loop.record, shelf.ARMED)


def pause(loop: LoopFiles, state: LoopState, *, outcome: str, detail: str) -> None:
    state.state, state.outcome, state.detail = PAUSED, outcome, detail
    loop.rest(state)
