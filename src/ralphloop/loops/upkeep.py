"""Looks after the driven loops of a whole state directory: a supervisor that was killed is started again, one
that is silent is told of."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ralphloop import config
from ralphloop.domain.model import INTERRUPTED, PAUSED, RATE_LIMITED, LoopState
from ralphloop.domain.outage import backoff_s
from ralphloop.errors import BusyError, ConfigError, RalphloopError, UserError
from ralphloop.loops import drive
from ralphloop.loops.place import Place, projects, require_person
from ralphloop.loops.result import Tell
from ralphloop.loops.run_terms import Care
from ralphloop.notify import message, send
from ralphloop.runner import boot
from ralphloop.store import files, shelf, supervisor
from ralphloop.store.files import Lock
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.store.supervisor import Holder

STARTS = 3  # of one loop, without a turn that came to its end in between
LOOK_S = 10.0  # between two looks
LOCK = "service.lock"


class Lost(NamedTuple):
    """A loop that nobody drives any more, although nobody wanted that."""

    loop: LoopFiles
    holder: Holder
    rebooted: bool

    @property
    def why(self) -> str:
        return "the machine was restarted" if self.rebooted else "its supervisor was killed"


class Upkeep:
    """`told` hears what is done; `pace` is a clock that stands still while the machine sleeps."""

    def __init__(
        self, env: Mapping[str, str], told: Tell, *, pace: Callable[[], float] = time.monotonic
    ) -> None:
        self._env, self._told, self._pace = env, told, pace
        self._boot = boot.identity()
        self._passed_over: set[str] = set()
        self._beats: dict[str, tuple[float, float]] = {}  # of each loop: its last one, and since when that is

    def look(self) -> float | None:
        """Once at every loop; seconds until the next start is due, None if none is."""
        due = []
        for loop in driven(self._env, self._pass_over):
            try:
                due.append(self._look_at(loop))
            except (RalphloopError, OSError) as error:  # one that cannot be helped keeps no other from it
                self._pass_over(f"{_named(loop)} is passed over: {error}")
        waits = [seconds for seconds in due if seconds is not None]
        return min(waits) if waits else None

    def _look_at(self, loop: LoopFiles) -> float | None:
        self._mind_silence(loop)
        lost = lost_of(loop, boot_now=self._boot)
        return None if lost is None else self._take_care(lost)

    def _pass_over(self, told: str) -> None:
        if told not in self._passed_over:
            self._passed_over.add(told)
            self._told(told)

    def _take_care(self, lost: Lost) -> float | None:
        """Start it, wait until it may be started, or give it up."""
        loop, care = lost.loop, Care.of(lost.loop)
        if care.gave_up:
            return None
        wait_s = care.at + self._wait_s(loop, care.starts) - time.time() if care.starts else 0.0
        if wait_s > 0:
            return wait_s
        if care.starts >= STARTS:
            self._give_up(lost, care)
            return None
        why = self._start(lost, care)
        return self._wait_s(loop, care.starts + 1) if why else None

    def _wait_s(self, loop: LoopFiles, starts: int) -> float:
        """Twice as long each time, as after an error that names no time."""
        try:
            first_s = config.load(loop.record.root, self._env).get("backoff")
        except ConfigError:
            first_s = config.KEYS["backoff"].default
        return backoff_s(first_s, starts - 1)

    def _start(self, lost: Lost, care: Care) -> str:
        """Count it, then do it; why it failed, or nothing."""
        loop, holder, why = lost.loop, lost.holder, ""
        number, is_news = care.starts + 1, care.starts == 0 or care.why != lost.why
        care = Care(number, time.time(), loop.state().iteration, lost.why)
        care.keep(loop)
        cwd = holder.cwd if os.path.isdir(holder.cwd) else loop.record.root
        try:
            pid = drive.run_again(Place(cwd, self._env), loop)
        except (RalphloopError, OSError) as error:
            why = str(error) or type(error).__name__
            care._replace(why=why).keep(loop)
            self._told(f"{_named(loop)} could not be started (try {number} of {STARTS}): {why}")
            loop.journal("restart", number=number, detail=why)
            return why
        self._told(f"{_named(loop)} goes on, {lost.why} (process {pid}, try {number} of {STARTS})")
        loop.journal("restart", number=number, process=pid, reason=lost.why)
        if is_news:  # also where the tries before could not even begin
            send.tell(loop, message.RESTARTED, env=self._env, why=lost.why)
        return ""

    def _give_up(self, lost: Lost, care: Care) -> None:
        loop = lost.loop
        care._replace(gave_up=True).keep(loop)
        self._told(f"{_named(loop)} is given up after {care.starts} tries: {care.why}")
        loop.journal("gave_up", number=care.starts, detail=care.why)
        send.tell(loop, message.GIVEN_UP, env=self._env, why=care.why)

    def _mind_silence(self, loop: LoopFiles) -> None:
        """By a clock of our own: a machine that slept has not been silent."""
        beat = supervisor.last_beat(loop, supervisor.holder(loop))
        if beat is None:
            self._beats.pop(loop.kept, None)
            return
        known, since = self._beats.setdefault(loop.kept, (beat, self._pace()))
        if known != beat:
            self._beats[loop.kept] = beat, self._pace()
        elif self._pace() - since > supervisor.SILENT_S and Care.of(loop).silent != beat:
            Care.of(loop)._replace(silent=beat).keep(loop)
            pid = supervisor.last(loop).pid
            self._told(f"the supervisor of {_named(loop)} is silent (process {pid})")
            loop.journal("silent", process=pid)
            send.tell(loop, message.SILENT, env=self._env)


def run(env: Mapping[str, str], told: Tell, *, once: bool = False) -> None:
    """Look again and again; `once` only until nothing is left to be started."""
    require_person(env, "what starts loops again")
    home = shelf.home(env)
    files.make_folder(home)
    try:
        with Lock(os.path.join(home, LOCK), wait_s=supervisor.START_S):
            upkeep = Upkeep(env, told)
            while True:
                due_s = upkeep.look()
                if once and due_s is None:
                    return
                time.sleep(max(0.0, min(LOOK_S, LOOK_S if due_s is None else due_s)))
    except BusyError:
        raise UserError(
            f"another service looks after the loops of {home} already; `ralphloop service status` shows it."
        ) from None


def driven(env: Mapping[str, str], passed_over: Tell) -> Iterator[LoopFiles]:
    """The loops of every project that a supervisor drives or drove; `passed_over` hears of projects that are
    gone."""
    for root in projects(env, passed_over):
        here = Shelf(root, env)
        for record in here.records(shelf.OWNED):
            if record.supervision is None:
                continue
            if os.path.isdir(root):
                yield LoopFiles(record, here)
            else:
                passed_over(f"{record.name} is passed over: its project {root} is gone.")


def lost_of(loop: LoopFiles, *, boot_now: str) -> Lost | None:
    """None for a loop that is driven, that its supervisor left in order, or that is the person's to go on."""
    holder = supervisor.last(loop)
    rebooted = holder.boot != boot_now
    if not holder.boot or (holder.told_to_end and not rebooted) or supervisor.is_held(loop):
        return None
    goes_on = is_wanted(loop.state(), holder) and not loop.request()
    return Lost(loop, holder, rebooted) if goes_on else None


def is_wanted(state: LoopState, holder: Holder) -> bool:
    """Whether nothing but a supervisor is missing. One that was told to end let its loop rest."""
    if state.state != PAUSED:
        return state.live
    return state.outcome == RATE_LIMITED or (state.outcome == INTERRUPTED and holder.told_to_end)


def _named(loop: LoopFiles) -> str:
    return f"{loop.record.name} in {loop.record.root}"
