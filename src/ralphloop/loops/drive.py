"""Drives a loop through fresh sessions: prepared, begun or gone on with, then handed to its supervisor, which
is a process of its own; both ends of that are here."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from threading import Thread
from typing import Any, NamedTuple

from ralphloop import config
from ralphloop.domain.ledger import uncommitted
from ralphloop.domain.model import (
    COMPLETE,
    FINAL,
    INTERRUPTED,
    Supervision,
)
from ralphloop.domain.prompt import line
from ralphloop.domain.table import UNCOMMITTED
from ralphloop.errors import BusyError, UserError
from ralphloop.loops import outset, pausing, run_terms, setup
from ralphloop.loops.consent import Approval
from ralphloop.loops.doubt import Looked
from ralphloop.loops.opened import driven_already, locked
from ralphloop.loops.place import Place, choose, is_done, last_over, pick
from ralphloop.loops.result import Result, Tell, quiet
from ralphloop.loops.run_terms import Care, RunWish
from ralphloop.proof import repository
from ralphloop.runner.session_terms import Terms
from ralphloop.store import arming, files, supervisor, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views import terminal
from ralphloop.views.snapshot import proof_json, view_of, with_spending

READY, TAKEN = ANSWERS = ("ready", "taken")  # what a supervisor answers to its request
TRIES, NOTES = "~", "="  # how a line begins that a supervisor says before its answer
START_S = 120.0  # in which it must answer, also on a busy machine
LOG = "run.log"  # in the loop's folder: what the supervisor itself could not cope with


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
    begins: bool = False  # so that its proof has to begin, too
    strict: bool = False
    told: Tell = quiet  # hears what there is to say of the checks, and `tried` of each that is tried
    tried: Tell = quiet

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
    cwd = repository.folder_for(source.root, place.cwd)
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
    tried: Tell = quiet,
) -> Driven:
    """Begin a loop, or go on with the one that there is; `told` hears what it begins or goes on with, without
    the doubts that were `seen`, and `tried` of each check that is tried."""
    place, loop, terms = run.place, run.loop, run.terms
    doubts: tuple[str, ...] = ()
    if loop is None:
        wish = outset.Wish(approval=approval, unapproved=unapproved, seen=seen, told=tried)
        armed = _arm(run, wish, told=told)
        loop, doubts = armed.loop, armed.doubts
        terms = replace(terms, session=loop.record.session or "")
    else:
        setup.require(place, run.source, launching=True)  # it may have come about since the loop began
        pausing.drive_on(place, loop, run.wish, told=told)
        setup.record_again(place)
    run_terms.keep(loop, run.wish)
    if run.wish.anew:
        Care.forget(loop)
    run_terms.switch_branch(terms, cwd=run.cwd, env=place.env)
    begins, strict = run.loop is None, run.wish.strict
    return Driven(place, loop, run.cwd, terms, doubts, begins, strict, told, tried)


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
    for each in outset.tell(armed):
        told(each)
    return armed


class Supervised:
    """A loop with its supervisor; the view steers it through this."""

    def __init__(self, driven: Driven) -> None:
        self.loop = loop = driven.loop
        log = files.open_to_append(loop.path(LOG))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", setup.PACKAGE, "supervise"],
                cwd=driven.cwd, env=dict(driven.place.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(log)
        from ralphloop.runner.agent_process import end_strays  # now: the package may be updated meanwhile

        self._end_strays = end_strays
        request = {"loop": loop.record.id, "cwd": driven.cwd, "terms": asdict(driven.terms)}
        proof = {"begins": driven.begins, "strict": driven.strict}
        self._write(json.dumps({**request, **proof, "terminal": os.getpid()}))
        self._await_start(driven)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _await_start(self, driven: Driven) -> None:
        """Its answer; before that it may say what it tries, and what came of it."""
        assert self._process.stdout is not None, "it is a pipe"
        said = self._next_line()
        while said[:1] in (TRIES, NOTES):
            (driven.tried if said[0] == TRIES else driven.told)(said[1:])
            said = self._next_line()
        self._process.stdout.close()
        if said == READY:
            return
        self._process.wait()
        if said:
            raise driven_already(self.loop)
        raise UserError(f"the supervisor did not start; {self.loop.path(LOG)} says why.")

    def _next_line(self) -> str:
        assert self._process.stdout is not None, "it is a pipe"
        if not select.select([self._process.stdout], [], [], START_S)[0]:
            self._process.kill()  # a process that stands still would hold up whoever waits here
        return self._process.stdout.readline().decode("utf-8", "replace").strip("\n")

    def send(self, word: str) -> None:
        """As `views.live.show.Driver` wants it."""
        with contextlib.suppress(OSError):  # a supervisor that is gone shows as ended
            self._write(word)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> int:
        code = self._process.wait()
        if code:  # it may have been killed together with the process that watches over the client
            with contextlib.suppress(BusyError), supervisor.lock(self.loop):
                self._end_strays(self.loop.kept)
        return code

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()


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
    driver = Supervised(driven)
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
    driver = Supervised(begin(prepared))
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
    _conclude(over, cwd=repository.folder_for(source.root, place.cwd), env=place.env)
    if not is_done(source):
        return None
    facts, told, code = closing(over, env=place.env)
    own = os.path.relpath(own_file(source), place.cwd)
    more = f"  Nothing is left to do: add a task to {own}, and `run` begins a new loop."
    return Result(facts, told if code == UNCOMMITTED else (*told, more), code)


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
    told = list(terminal.block(view, now=now))
    if view.outcome == COMPLETE:
        told.append(f"  `ralphloop report {view.name}` tells what was done.")
    about = {
        "doubts": list(doubts),
        "proof": proof_json(view.proof),
    }  # the list's, and what came of the proof
    return Result({"exit_code": view.exit_code, **view.to_json(), **about}, tuple(told), view.exit_code)


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
        if request.get("begins"):
            _begin_proof(loop, place.env, strict=bool(request.get("strict")), answer=answer)
        control = Control(words, detached=terms.detached, beat=partial(supervisor.beat, loop))
        answer(READY)
        supervise(loop, terms, control, cwd=request["cwd"], env=place.env)
        _say_last(loop, env=place.env, pid=0 if control.detached else request["terminal"])
    return None


def _begin_proof(
    loop: LoopFiles, env: Mapping[str, str], *, strict: bool, answer: Callable[[str], None]
) -> None:
    """Keep the tree and try the checks, before any session and on the branch that it works on."""
    from ralphloop.loops import proving

    proving.keep_start(loop, loop.record, env=env, strict=strict)
    listed = tasks.parse_source(loop.record)
    for note in proving.try_first(loop, listed, env=env, told=lambda text: answer(TRIES + line(text))):
        answer(f"{NOTES}! {line(note.said)}.")


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
