"""Who is at work on a loop besides its session, known by a lock that it holds as long as it lives: one
supervisor, which says what it is at, or the process that waits to wake the session."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.domain import jsontext, model
from ralphloop.store import files
from ralphloop.store.files import Lock, is_locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ralphloop.domain.model import LoopState
    from ralphloop.store.loop import LoopFiles

# what a supervisor is at
STARTING, CHECKING, WORKING = "starting", "checking", "working"
RESTING, PAUSED = "resting", "paused"
# what it can be told
PAUSE, GO, SKIP_TASK, SKIP_WAIT = "pause", "go", "skip-task", "skip-wait"
DETACH, INTERRUPT, KILL = "detach", "interrupt", "kill"
BEAT_S = 5.0  # how often a supervisor shows that it lives, whatever it is at
SILENT_S = 180.0  # one that has not done so for as long is stopped, or hangs
WAKER_S = 10.0  # a waker whose place was taken looks every second whether it was
START_S = 2.0  # somebody who looks whether the lock is held has it for a moment


class Holder:
    """What a supervisor says of itself; `kept/<loop>/supervisor.json` holds exactly these fields."""

    pid: int
    since: float
    phase: str
    until: float  # when a wait is over, 0 for one without an end
    why: str  # what it waits for
    session: str
    number: int  # of its last session, through all runs of the loop
    model: str
    task: str
    boot: str  # of the machine, while it drives; empty once it has come to its end
    cwd: str  # where it was asked to work
    told_to_end: bool  # by the system, or by somebody who knows its number
    owes: bool  # whether it has not said yet what the loop came to; false where it is not known

    DEFAULTS: dict[str, Any] = {
        "pid": 0, "since": 0.0, "phase": STARTING, "until": 0.0, "why": "", "session": "", "number": 0,
        "model": "", "task": "", "boot": "", "cwd": "", "told_to_end": False, "owes": False,
    }  # fmt: skip
    __slots__ = tuple(DEFAULTS)

    def __init__(self, **values: Any) -> None:
        for name, default in self.DEFAULTS.items():
            value = values.get(name, default)
            setattr(self, name, value if type(value) is type(default) else default)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def lock(loop: LoopFiles) -> Lock:
    """Held by the supervisor as long as it lives."""
    files.make_folder(loop.kept)
    return Lock(_lock_place(loop), wait_s=START_S)


def say(loop: LoopFiles, holder: Holder) -> None:
    files.write_text(_place(loop), jsontext.render(holder.to_json()) + "\n")


def holder(loop: LoopFiles) -> Optional[Holder]:
    """The supervisor that drives the loop now; None if none is alive."""
    return last(loop) if is_held(loop) else None


def last(loop: LoopFiles) -> Holder:
    """What the last supervisor said, alive or not."""
    return Holder(**files.read_object(_place(loop)))


def beat(loop: LoopFiles) -> None:
    """Show that it lives: by the time of its file, of which nothing else changes."""
    try:
        os.utime(_place(loop))
    except OSError:  # the next word makes it anew
        pass


def last_beat(loop: LoopFiles, said: Optional[Holder]) -> Optional[float]:
    """When the supervisor that said this last showed that it lives; None if that is not known, as of one of a
    version that does not."""
    try:
        return os.stat(_place(loop)).st_mtime if said is not None and said.boot else None
    except OSError:
        return None


def is_silent(beat: Optional[float], now: float) -> bool:
    return beat is not None and now - beat > SILENT_S


def forget(loop: LoopFiles) -> None:
    """A person has said what becomes of the loop: nobody takes it for one that was being driven."""
    said = last(loop)
    if said.boot and not is_held(loop):
        said.boot = ""
        say(loop, said)


def is_held(loop: LoopFiles) -> bool:
    return is_locked(_lock_place(loop))


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "supervisor.json")


def _lock_place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "supervisor.lock")


def new_token() -> str:
    """What `LoopState.wake` holds while this process waits to wake the session."""
    return "%d.%d" % (os.getpid(), int(time.time() * 1e6))


def waker_lock(loop: LoopFiles) -> Lock:
    """Held by the process that waits."""
    files.make_folder(loop.kept)
    return Lock(_waker_place(loop), wait_s=WAKER_S)


def is_awaited(state: LoopState) -> bool:
    """Whether the loop rests until somebody wakes its session."""
    return bool(state.wake) and state.state == model.PAUSED and state.outcome == model.RATE_LIMITED


def waker_of(loop: LoopFiles, state: LoopState) -> int:
    """The process that will wake the loop's session; 0 if none lives."""
    if not is_awaited(state) or not is_locked(_waker_place(loop)):
        return 0
    pid = state.wake.partition(".")[0]
    return int(pid) if pid.isascii() and pid.isdigit() else 0


def _waker_place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "waker.lock")
