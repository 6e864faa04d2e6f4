"""Drives a loop through fresh sessions: prepared, begun or gone on with, then a supervisor's."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Any, NamedTuple

from ralphloop import config
from ralphloop.agents.presence import agent_in
from ralphloop.domain.ledger import uncommitted
from ralphloop.domain.limits import tick
from ralphloop.domain.model import COMPLETE, FINAL, INTERRUPTED, NEEDS_APPROVAL, RATE_LIMITED, LoopState
from ralphloop.domain.supervision import Supervision
from ralphloop.errors import BusyError, UserError
from ralphloop.loops import outset, pausing, run_terms, setup
from ralphloop.loops.bounds import checked
from ralphloop.loops.consent import Approval
from ralphloop.loops.doubt import Looked
from ralphloop.loops.opened import driven_already, locked
from ralphloop.loops.place import Place, choose, is_done, last_over, pick
from ralphloop.loops.result import Result, Tell, exit_code, quiet
from ralphloop.loops.run_terms import RunWish
from ralphloop.loops.supervised import READY, TAKEN, Care, Supervised
from ralphloop.proof import tree
from ralphloop.proof.approval import waiting
from ralphloop.runner.session_terms import Terms
from ralphloop.store import arming, supervisor
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views import terminal
from ralphloop.views.snapshot import view_of, with_spending


class Prepared(NamedTuple):
    """A run that nothing is in the way of: nothing is changed yet."""

    place: Place
    wish: RunWish
    source: Source
    loop: LoopFiles | None  # the one that goes on
    cwd: str
    terms: Terms
    looked: Looked | None  # the list of one that is to begin


class Driven(NamedTuple):
    """A loop that is ready for its supervisor."""

    place: Place
    loop: LoopFiles
    cwd: str
    terms: Terms
    doubts: tuple[str, ...] = ()  # about the list of a loop that has just begun

    @property
    def read_only(self) -> LoopFiles:
        """For a view, which must not touch it."""
        return LoopFiles(self.loop.record, self.loop.shelf, writes=False)


def prepare(
    place: Place,
    name: str | None = None,
    *,
    source: Source | None = None,
    wish: RunWish | None = None,
    stays: Callable[[], bool] = lambda: False,
    told: Tell = quiet,
) -> Prepared:
    """Which list is meant (`source`, where that is known), the loop over it that goes on, and the terms.
    `stays` says whether somebody is there who can go on after a pause, `told` hears what is odd about the
    settings."""
    source = source or choose(place, name)
    wish = wish or RunWish()
    loop = _before(place, source, limits=wish.limits)
    cwd = tree.folder_for(source.root, place.cwd)
    settings = config.load(source.root, place.env)
    for warning in settings.warnings:
        told(warning)
    wish = run_terms.recalled(loop, wish) if loop is not None else wish
    terms = run_terms.of(wish, settings, place, source=source, loop=loop, cwd=cwd)
    terms = replace(terms, stays=stays())
    looked = outset.look_over(place, source=source) if loop is None else None
    return Prepared(place, wish, source, loop, cwd, terms, looked)


def begin(
    run: Prepared,
    approval: Approval | None = None,
    unapproved: bool = False,
    seen: Sequence[str] = (),
    *,
    told: Tell = quiet,
) -> Driven:
    """Begin a loop, or go on with the one that there is; `told` hears what it begins or goes on with, without
    the doubts that were `seen`."""
    place, loop, terms = run.place, run.loop, run.terms
    doubts: tuple[str, ...] = ()
    if loop is None:
        armed = _arm(run, outset.Wish(approval=approval, unapproved=unapproved, seen=seen), told=told)
        loop, doubts = armed.loop, armed.doubts
        terms = replace(terms, session=loop.record.session or "")
    else:
        setup.require(place, run.source, launching=True)  # it may have come about since the loop began
        _go_on(run, loop, told=told)
    run_terms.keep(loop, run.wish)
    if run.wish.anew:
        Care.forget(loop)
    run_terms.switch_branch(terms, cwd=run.cwd, env=place.env)
    return Driven(place, loop, run.cwd, terms, doubts)


def _arm(run: Prepared, wish: outset.Wish, *, told: Tell) -> outset.Armed:
    """Begin a loop for a supervisor, in a session of its own."""
    wish = wish._replace(
        session=str(uuid.uuid4()),
        limits=run.wish.limits,
        endless=run.wish.endless,
        launching=True,
        supervision=Supervision(),
        looked=run.looked,
    )
    armed = outset.arm(run.place, run.source, wish=wish)
    for line in outset.tell(armed):
        told(line)
    return armed


def supervised(driven: Driven) -> Supervised:
    """The loop with its supervisor, a process of its own, which a view may steer."""
    return Supervised(driven.loop, driven.terms, place=driven.place, cwd=driven.cwd)


def run(
    place: Place,
    name: str | None = None,
    *,
    wish: RunWish | None = None,
    approval: Approval | None = None,
    unapproved: bool = False,
    seen: Sequence[str] = (),
) -> Result:
    """Drive a loop in the background; `events` and `state` tell how it goes. Doubts about its list that the
    person has `seen` are not told again."""
    over = concluded(place, name)
    if over is not None:
        return over
    said: list[str] = []
    wish = (wish or RunWish())._replace(detached=True)
    prepared = prepare(place, name, wish=wish, told=said.append)
    driven = begin(prepared, approval, unapproved, seen, told=said.append)
    driver = supervised(driven)
    Thread(target=driver.wait, daemon=True).start()  # so that no ended process is left behind
    facts, told, code = left(driver, "runs in the background", doubts=driven.doubts)
    return Result(facts, (*said, *told), code)


def run_again(place: Place, loop: LoopFiles) -> int:
    """Drive in the background a loop that was being driven, as it was asked for then: it begins no other one
    and gets no new time. The number of its supervisor's process."""
    record = loop.record
    source = Source(record.layout, record.name, root=record.root, paths=record.paths)
    prepared = prepare(place, source=source, wish=RunWish(detached=True, anew=False))
    if prepared.loop is None or prepared.loop.record.id != record.id:
        raise UserError(f"another loop has taken the list of {record.name} over.")
    driver = supervised(begin(prepared))
    Thread(target=driver.wait, daemon=True).start()
    return driver.pid


def left(driver: Supervised, how: str, *, doubts: Sequence[str] = ()) -> Result:
    """A run that goes on where nobody looks."""
    record, pid = driver.loop.record, driver.pid
    ways = f"`ralphloop watch {record.name}` shows it, `ralphloop pause {record.name}` lets it stop."
    facts = {"id": record.id, "name": record.name, "process": pid, "doubts": list(doubts)}
    return Result(facts, (f"{record.name} {how} (process {pid}): {ways}",))


def waits_for_nobody(loop: LoopFiles) -> bool:
    """Whether its supervisor only rests for a person, who has left."""
    return supervisor.last(loop).phase == supervisor.PAUSED


def interrupted(loop: LoopFiles) -> None:
    """The person broke it off before a supervisor could hear of that."""
    with locked(loop):
        supervisor.forget(loop)
        state = loop.state()
        if state.live:
            arming.pause(loop, state, outcome=INTERRUPTED, detail="paused by the person")


def concluded(place: Place, name: str | None = None) -> Result | None:
    """How the last loop over this list came out, where it is complete and left nothing to do; None where
    there is something. What its supervisor was killed before is done first, whatever comes next."""
    source = choose(place, name)
    over = last_over(place, source)
    if arming.holder(source, Shelf(source.root, place.env)) is not None or over is None:
        return None
    if over.state().outcome != COMPLETE or not source.enabled:
        return None
    _conclude(over, cwd=tree.folder_for(source.root, place.cwd), env=place.env)
    if not is_done(source):
        return None
    facts, told, code = closing(over, env=place.env)
    own = os.path.relpath(own_file(source), place.cwd)
    more = f"  Nothing is left to do: add a task to {own}, and `run` begins a new loop."
    return Result(facts, told if code else (*told, more), code)


def _conclude(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> None:
    """Commit what waits for that, and say what a killed supervisor did not."""
    terms = loop.record.supervision
    owes = terms is not None and supervisor.last(loop).owes  # a session of one's own has told it by itself
    commits = terms is not None and bool(terms.branch) and bool(uncommitted(loop.load_ledger()))
    if not owes and not commits:
        return
    try:
        with supervisor.lock(loop):
            if owes:
                from ralphloop.runner.agent_process import end_strays

                end_strays(loop.kept)
            if commits:
                run_terms.catch_up(loop, cwd=cwd, env=env)
            if owes:
                _say_last(loop, env=env, pid=os.getpid())
    except BusyError:
        raise _still_ending(loop) from None


def _say_last(loop: LoopFiles, *, env: Mapping[str, str], pid: int) -> None:
    """Tell the person what the loop came to, and note that they were told."""
    outcome = loop.state().outcome
    if outcome:
        from ralphloop.notify import send

        send.tell(loop, outcome, env=env, pid=pid)
    said = supervisor.last(loop)
    said.owes = False
    supervisor.say(loop, said)


def closing(loop: LoopFiles, *, env: Mapping[str, str], doubts: Sequence[str] = ()) -> Result:
    """How a run came out, with what was doubtful about its list; the exit code says it, too."""
    loop.record, now = loop.shelf.fresh(loop.record), time.time()
    view = with_spending(view_of(loop, now=now), loop, env=env, now=now)
    code = exit_code(view.state, view.outcome, uncommitted=bool(view.uncommitted))
    told = list(terminal.block(view, now=now))
    if view.outcome == COMPLETE:
        told.append(f"  `ralphloop report {view.name}` tells what was done.")
    return Result({"exit_code": code, **view.to_json(), "doubts": list(doubts)}, tuple(told), code)


def serve(request: dict[str, Any], place: Place, *, words: int, answer: Callable[[str], None]) -> None:
    """Be the supervisor that was asked for: `answer` says whether this one got the loop, the handle `words`
    brings what steers it."""
    from ralphloop.notify import send
    from ralphloop.runner.control import Control
    from ralphloop.runner.driver import supervise

    send.load()  # all that the end of a night needs: the package may be updated until then
    loop = pick(place, request["loop"])
    terms = Terms.from_json(request["terms"])
    run_terms.must_be_allowed(terms, place.env)
    with ExitStack() as held:
        try:
            held.enter_context(supervisor.lock(loop))
        except BusyError:
            return answer(TAKEN)
        control = Control(words, detached=terms.detached, beat=partial(supervisor.beat, loop))
        answer(READY)
        supervise(loop, terms, control, cwd=request["cwd"], env=place.env)
        _say_last(loop, env=place.env, pid=0 if control.detached else request["terminal"])
    return None


def _before(place: Place, source: Source, *, limits: Mapping[str, float]) -> LoopFiles | None:
    """The loop over this list that is under way or can go on."""
    here = Shelf(source.root, place.env)
    record = arming.holder(source, here)
    if record is not None:
        loop = LoopFiles(record, here)
        if supervisor.is_held(loop):
            raise driven_already(loop, limits=limits)
        return loop
    over = last_over(place, source)
    if over is not None and supervisor.is_held(over):
        raise _still_ending(over)
    return over if over is not None and over.state().outcome not in FINAL else None


def _still_ending(loop: LoopFiles) -> UserError:
    return UserError(f"the last session of {loop.record.name} is still being ended; try again in a moment.")


def _go_on(run: Prepared, loop: LoopFiles, *, told: Tell) -> None:
    """Take up a loop that rests or that nobody drives; one that waits for a reset goes on waiting."""
    with locked(loop):
        loop.record = loop.shelf.fresh(loop.record)
        if supervisor.is_held(loop):
            raise driven_already(loop)
        _count_until_killed(loop)
        state, record = loop.state(), loop.record
        limits = checked(run.wish.limits, endless=run.wish.endless)
        _must_be_ours(loop, state, adopt=run.wish.adopt)
        if state.outcome == RATE_LIMITED and not limits:
            return
        driven = record.supervision or Supervision()
        again = f"ralphloop run {record.name}"
        anew = run.wish.anew and not state.live
        pausing.take_up(run.place, loop, pausing.Way(limits, record.session, again, driven, anew=anew))
    told(pausing.goes_on(loop, anew=anew and not agent_in(run.place.env)) + ".")


def _count_until_killed(loop: LoopFiles) -> None:
    """The running time of a supervisor that was killed, up to its last sign of life."""
    state, beat = loop.state(), supervisor.last_beat(loop, supervisor.last(loop))
    if state.live and beat is not None and beat > state.seen_at:
        tick(state, beat)
        loop.save(state)


def _must_be_ours(loop: LoopFiles, state: LoopState, *, adopt: bool) -> None:
    record = loop.record
    if state.live and record.session and record.supervision is None and not adopt:
        raise UserError(
            f"{record.name} belongs to session {record.session}; `ralphloop run {record.name} --adopt` "
            "takes it over, and that session may stop then."
        )
    if state.outcome == NEEDS_APPROVAL and waiting(loop):
        raise UserError(f"{record.name} waits for your approval: `ralphloop approve {record.name}` first.")
