"""`doctor` on the loops here: locks that hang, sessions that are gone, files that a crash left behind."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from functools import partial

from ralphloop.cli.doctor.diagnosis import FATAL, WARNING, Finding, Repair
from ralphloop.domain.limits import duration
from ralphloop.domain.model import RUNNING, WAITING
from ralphloop.errors import BusyError, NoLocksError
from ralphloop.lab.scratch import is_gone
from ralphloop.loops.place import UNDER_WAY, Place
from ralphloop.loops.setup import look
from ralphloop.loops.spec import triage
from ralphloop.loops.spec.catalogue import KINDS, NOTES, specs_at
from ralphloop.store import files
from ralphloop.store.ended import LAST
from ralphloop.store.files import Lock
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import ARMED, ENDED, OWNED
from ralphloop.views.snapshot import view_of

WAIT_S = 2.0
LOOKS = 5
QUIET_S = 3600.0  # a session may run without a transcript, but not without a stop for so long
SETTLED_S = 60.0  # a process of another machine or container has no pid that could be asked for
SPARE = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)\.tmp")
DRAFT = re.compile(r"\.new-(?P<name>.+)-(?P<pid>\d+)")
EPICS = triage.FOLDER
BEGINNINGS = {
    "feature_list.json", "progress.txt", "RALPH_PROMPT.md",
    NOTES, *(kind.state for kind in KINDS), triage.STATE,
}  # fmt: skip


def examine(place: Place) -> Iterator[Finding]:
    loops = place.loops(*UNDER_WAY)
    yield from _locks(loops)
    now = time.time()
    for loop in loops:
        yield from _orphan(loop, now)
    left = sorted(set(_left_over(place, now)))
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
            is_held, holder = held(path)
            if not is_held:
                continue
            who = f"process {holder}" if holder else "some process"
            told = f"{who} has held the lock of {whose} for {WAIT_S:.0f} s, and no stop can be decided"
            fix = f"Look what it does and end it if it hangs{f' (`kill {holder}`)' if holder else ''}"
            yield Finding("lock", FATAL, told, fix)
        except NoLocksError:
            return  # the state directory's own line tells of that
        except OSError as error:
            told = f"the lock of {whose} cannot be opened ({error.strerror})"
            yield Finding("lock", FATAL, told, f"Make {path} readable and writable for you")


def held(path: str) -> tuple[bool, int | None]:
    """Whether one process keeps the lock, and which; where dozens stop at once, they hold it in turn."""
    holder = None
    for _ in range(LOOKS):
        try:
            with Lock(path, wait_s=WAIT_S):
                return False, None
        except BusyError:
            before, holder = holder, _holder(path)
        if holder is None or holder == before:
            return True, holder
    return False, None


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
    view, state = view_of(loop, now=now), loop.state()
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


def _left_over(place: Place, now: float) -> Iterator[str]:
    """What we write before it gets its name, of processes that are gone."""
    for folder, names in _spares(place):
        for name in files.names(folder):
            spare = SPARE.fullmatch(name)
            path = os.path.join(folder, name)
            if not spare or (names and spare["name"] not in names) or os.path.isdir(path):
                continue
            if _is_settled(path, spare, now=now):
                yield path
    for folder in _draft_folders(place):
        for name in files.names(folder):
            draft = DRAFT.fullmatch(name)
            path = os.path.join(folder, name)
            if draft and _is_draft(path) and _is_settled(path, draft, now=now):
                yield path


def _spares(place: Place) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Folders that are ours alone; elsewhere, the files that we write there."""
    for shelf in place.shelves:
        yield shelf.home, ()
        for below in ("", ARMED, OWNED, ENDED, LAST):
            yield os.path.join(shelf.folder, below), ()
        kept = os.path.join(shelf.folder, "kept")
        for name in files.names(kept):
            yield os.path.join(kept, name), ()
            yield os.path.join(kept, name, "records"), ()
    run = os.path.join(place.project, ".ralph", "run")
    loops = [os.path.join(run, name, part) for name in files.names(run) for part in ("", "evidence")]
    yield from ((folder, ()) for folder in loops if files.inside(folder, place.project))
    written = [path for source in place.sources() for path in source.paths.values()]
    for path in written + [each.path for each in look(place).settings]:
        yield os.path.dirname(path), (os.path.basename(path),)


def _draft_folders(place: Place) -> Iterator[str]:
    """Where a new list or spec is built before it gets its name."""
    ralph = os.path.join(place.project, ".ralph")
    found = [ralph, os.path.join(ralph, "loops")]
    for kind in KINDS:
        for folder, _ in specs_at(kind, place.project).places:
            found += [folder, os.path.join(folder, EPICS)]
    return (folder for folder in found if files.inside(folder, place.project))


def _is_draft(path: str) -> bool:
    """Whether it holds nothing but files that we begin with."""
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    names = files.names(path)
    spares = (SPARE.fullmatch(name) for name in names)
    plain = [spare["name"] if spare else name for spare, name in zip(spares, names, strict=True)]
    are_files = all(os.path.isfile(os.path.join(path, name)) for name in names)
    return are_files and set(plain) <= BEGINNINGS


def _is_settled(path: str, named: re.Match[str], *, now: float) -> bool:
    try:
        age_s = now - os.lstat(path).st_mtime
    except OSError:
        return False
    return age_s > SETTLED_S and is_gone(int(named["pid"]))


def _remove(paths: Iterable[str]) -> str:
    for path in paths:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    return "removed " + ", ".join(paths)
