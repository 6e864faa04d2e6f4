"""Whether a process waits to wake a loop's session: it holds a lock as long as it lives."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.domain.model import PAUSED, RATE_LIMITED
from ralphloop.store import files
from ralphloop.store.lock import Lock, is_locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.domain.model import LoopState
    from ralphloop.store.loop import LoopFiles

WAIT_S = 10.0  # one whose place was taken looks every second whether it was


def new_token() -> str:
    """What `LoopState.wake` holds while this process waits."""
    return "%d.%d" % (os.getpid(), int(time.time() * 1e6))


def lock(loop: LoopFiles) -> Lock:
    """Held by the process that waits."""
    files.make_folder(loop.kept)
    return Lock(_place(loop), wait_s=WAIT_S)


def is_awaited(state: LoopState) -> bool:
    """Whether the loop rests until somebody wakes its session."""
    return bool(state.wake) and state.state == PAUSED and state.outcome == RATE_LIMITED


def pid_of(loop: LoopFiles, state: LoopState) -> int:
    """The process that will wake the loop's session; 0 if none lives."""
    if not is_awaited(state) or not is_locked(_place(loop)):
        return 0
    pid = state.wake.partition(".")[0]
    return int(pid) if pid.isascii() and pid.isdigit() else 0


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "waker.lock")
