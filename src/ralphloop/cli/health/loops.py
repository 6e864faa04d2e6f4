"""`doctor` on the loops here: locks that hang, sessions that are gone, files that a crash left behind."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from functools import partial

from ralphloop.cli import precheck
from ralphloop.cli.health.finding import FATAL, WARNING, Finding, Repair
from ralphloop.cli.here import UNDER_WAY, Here
from ralphloop.domain.limits import duration
from ralphloop.domain.model import RUNNING, WAITING
from ralphloop.store import files
from ralphloop.store.lock import BusyError, Lock
from ralphloop.store.loop import LoopFiles
from ralphloop.views.snapshot import state_of, view_of

WAIT_S = 2.0
QUIET_S = 3600.0  # a session may run without a transcript, but not without a stop for so long
SETTLED_S = 60.0  # a process of another machine or container has no pid that could be asked for
SPARE = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)\.tmp")
DRAFT = re.compile(r"\.new-(?P<name>.+)-(?P<pid>\d+)")


def examine(place: Here) -> Iterator[Finding]:
    loops = place.loops(*UNDER_WAY)
    yield from _locks(loops)
    now = time.time()
    for loop in loops:
        yield from _orphan(loop, now)
    left = sorted(_left_over(place, now))
    if left:
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        told = "a crash left files behind: " + ", ".join(left[:3]) + more
        repair = Repair("Remove " + ", ".join(left), partial(_remove, left))
        yield Finding("left-over", WARNING, told, "Run `ralphloop doctor --fix`, which removes them", repair)


def _locks(loops: Iterable[LoopFiles]) -> Iterator[Finding]:
    paths = {os.path.join(loop.kept, "lock"): f"the loop {loop.record.name}" for loop in loops}
    paths |= {os.path.join(loop.shelf.folder, "lock"): f"the loops of {loop.record.root}" for loop in loops}
    for path, whose in paths.items():
        if not os.path.exists(path):
            continue
        try:
            with Lock(path, wait_s=WAIT_S):
                continue
        except BusyError:
            holder = _holder(path)
            who = f"process {holder}" if holder else "some process"
            told = f"{who} has held the lock of {whose} for {WAIT_S:.0f} s, and no stop can be decided"
            fix = f"Look what it does and end it if it hangs{f' (`kill {holder}`)' if holder else ''}"
            yield Finding("lock", FATAL, told, fix)
        except OSError as error:
            told = f"the lock of {whose} cannot be opened ({error.strerror})"
            yield Finding("lock", FATAL, told, f"Make {path} readable and writable for you")


def _holder(path: str) -> int | None:
    """The process that holds the lock, where the system tells (Linux)."""
    inode = str(os.stat(path).st_ino)
    for row in (files.read_quietly("/proc/locks") or "").splitlines():
        words = row.split()
        # 7: FLOCK ADVISORY WRITE 4242 fe:00:1234 0 EOF; an arrow marks one that waits
        if len(words) > 5 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
            return int(words[4]) if words[4].isdigit() and int(words[4]) > 0 else None
    return None


def _orphan(loop: LoopFiles, now: float) -> Iterator[Finding]:
    view, state = view_of(loop), state_of(loop)
    is_under_way = view.state in (RUNNING, WAITING)
    is_lost = bool(state.transcripts) and not os.path.exists(state.transcripts[-1])
    quiet_s = now - view.seen_at
    if view.is_orphaned(now):
        told = f"the loop {view.name} had no stop for {duration(quiet_s)}"
    elif is_under_way and is_lost and quiet_s > QUIET_S:
        told = f"the transcript of the session that owns the loop {view.name} is gone"
    else:
        return
    fix = f"`ralphloop resume {view.name} --adopt` takes it over, `ralphloop cancel {view.name}` ends it"
    yield Finding("orphan", WARNING, told, fix)


def _left_over(place: Here, now: float) -> Iterator[str]:
    """Files that only we name so, of processes that are gone."""
    for folder, name in _candidates(place):
        known = SPARE.fullmatch(name) or DRAFT.fullmatch(name)
        if known and _is_settled(os.path.join(folder, name), int(known["pid"]), now=now):
            yield os.path.join(folder, name)


def _candidates(place: Here) -> set[tuple[str, str]]:
    """Everything in folders that are ours alone; elsewhere, what stands beside a file that we write."""
    own = [shelf.folder for shelf in place.shelves]
    ralph = os.path.join(place.project, ".ralph")
    own += [ralph] if files.inside(ralph, place.project) else []
    found = {(folder, name) for top in own for folder, below, names in os.walk(top) for name in below + names}
    written = [path for source in place.sources() for path in source.paths.values()]
    written += [each.path for each in precheck.settings_at(place, place.project)]
    for path in written:
        folder, own_name = os.path.split(path)
        found |= {(folder, name) for name in files.names(folder) if name.startswith(f".{own_name}.")}
    return found


def _is_settled(path: str, pid: int, *, now: float) -> bool:
    try:
        age_s = now - os.lstat(path).st_mtime
        os.kill(pid, 0)
    except ProcessLookupError:
        return age_s > SETTLED_S
    except (OSError, OverflowError):
        return False
    return False


def _remove(paths: Iterable[str]) -> str:
    for path in paths:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    return "removed " + ", ".join(paths)
