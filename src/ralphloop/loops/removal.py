"""What loops that are over have left on this disk, and its removal; a loop under way and every list stay."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.domain.model import ENDED, FINAL
from ralphloop.domain.prompt import cut
from ralphloop.loops.person import require_person
from ralphloop.loops.place import UNDER_WAY, Place, pick
from ralphloop.loops.result import Result
from ralphloop.store import arming, ended, files, shelf, supervisor
from ralphloop.store.loop import LoopFiles, run_folder
from ralphloop.store.shelf import Shelf
from ralphloop.store.tasks import BEGUN
from ralphloop.tasklists.registry import NAMES

# In a loop's folder of the state directory: what the next stop makes anew, and what is only for a next stop.
AGAIN = ("cursor.json",)
OVER = (*AGAIN, *NAMES, BEGUN, "protected", "request", "supervisor.json", "waker.lock")
# Of the project: what was approved, the marks of sessions, whether stops are recorded.
OF_PROJECT = {"approved.json": "your approvals: you are asked again", "record": "the switch of `record on`"}


class Part(NamedTuple):
    """Paths that go together, in one line for the person; `loop` is the id of the loop that left them."""

    told: str
    paths: tuple[str, ...]
    size: int
    loop: str = ""

    @property
    def data(self) -> Mapping[str, Any]:
        return {"loop": self.loop or None, "what": self.told, "bytes": self.size, "paths": list(self.paths)}


class Removal(NamedTuple):
    """What would be removed in one project, and the names of the loops that stay."""

    root: str
    everything: bool
    parts: tuple[Part, ...]
    staying: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(each.size for each in self.parts)

    @property
    def data(self) -> dict[str, Any]:
        found = [each.data for each in self.parts]
        facts = {"root": self.root, "all": self.everything, "found": found, "bytes": self.size}
        return {**facts, "staying": list(self.staying), "removed": False}

    @property
    def lines(self) -> tuple[str, ...]:
        stay = [f"{cut(name, 60)} is not over and stays." for name in self.staying]
        if not self.parts:
            more = "" if self.everything else "; --all removes records and state too"
            return (f"Nothing to remove in {self.root}{more}.", *stay)
        rows = [f"{_size(each.size):>9}  {each.told}" for each in self.parts]
        return (f"To be removed in {self.root}:", *rows, *stay, "Task lists and the project's files stay.")


def to_remove(place: Place, name: str | None = None, *, everything: bool = False) -> Removal:
    """What can be made again, of all loops that are over in the nearest project that has any, or of those
    with this name; with `everything` their records and state too, and without a name the project's."""
    require_person(place.env, "what is removed")
    here, over, staying = _chosen(place, name)
    found = [_whole(loop) if everything else _spare(loop) for loop in over]
    if everything and name is None:
        found += [*_orphans(here), *_of_project(here, idle=not staying)]
    return Removal(here.root, everything, tuple(each for each in found if each.paths), staying)


def clean(place: Place, found: Removal) -> Result:
    """Remove exactly that, but for a loop that somebody has taken up meanwhile."""
    require_person(place.env, "what is removed")
    here = Shelf(found.root, place.env)
    gone = _let_go(here, found)
    for path in [path for each in gone for path in each.paths]:
        _remove(path)
    size = sum(each.size for each in gone)
    told = [f"Removed {_size(size)} of {len(gone)} {'entry' if len(gone) == 1 else 'entries'}."]
    told += [
        f"! {each.told}: taken up or gone meanwhile, and left alone"
        for each in found.parts
        if each not in gone
    ]
    data = {**found.data, "found": [each.data for each in gone], "bytes": size, "removed": True}
    return Result(data, tuple(told))


def _chosen(place: Place, name: str | None) -> tuple[Shelf, list[LoopFiles], tuple[str, ...]]:
    """The project, its loops that are over and meant, and the names of the meant ones that are not."""
    loops = place.loops(*UNDER_WAY, shelf.ENDED)
    named = pick(place, name) if name is not None else None
    here = (named or loops[0]).shelf if named or loops else Shelf(place.project, place.env)
    meant = [loop for loop in loops if loop.record.root == here.root and _is_meant(loop, named, name)]
    over = [loop for loop in meant if _is_over(loop)]
    return here, over, tuple(loop.record.name for loop in meant if loop not in over)


def _is_meant(loop: LoopFiles, named: LoopFiles | None, name: str | None) -> bool:
    """All of a name, or one by its id."""
    if named is None or loop.record.id == named.record.id:
        return True
    return loop.record.name == named.record.name == name


def _is_over(loop: LoopFiles) -> bool:
    return loop.is_over and not supervisor.is_held(loop)


def _spare(loop: LoopFiles) -> Part:
    names = OVER if loop.state().outcome in FINAL else AGAIN
    paths = [os.path.join(loop.kept, name) for name in names]
    return _part(f"copies and indexes of {_loop(loop)}", paths, loop=loop.record.id)


def _whole(loop: LoopFiles) -> Part:
    folder = [loop.folder] if files.inside(loop.folder, loop.record.root) else []
    paths = [*folder, loop.kept]
    return _part(f"journal, evidence and state of {_loop(loop)}", paths, loop=loop.record.id)


def _loop(loop: LoopFiles) -> str:
    return f"{cut(loop.record.name, 24)} ({loop.state().outcome}, {loop.record.armed_at[:10]})"


def _orphans(here: Shelf) -> Iterator[Part]:
    """Folders of loops that no record here knows; one that says it has not ended may be another machine's."""
    known = {record.id for kind in (*UNDER_WAY, shelf.ENDED) for record in here.records(kind)}
    runs = run_folder(here.root)
    folders = [runs] if files.inside(runs, here.root) else []
    for folder in (*folders, here.kept("")):
        for name in files.names(folder):
            path = os.path.join(folder, name)
            if name not in known and os.path.isdir(path) and (folder != runs or _says_ended(path)):
                yield _part(f"of no loop known here: {cut(name, 44)}", [path])


def _says_ended(folder: str) -> bool:
    try:
        said = jsontext.parse_object(files.read_quietly(os.path.join(folder, "loop.json")) or "")
    except ValueError:
        return False
    return said.get("state") == ENDED


def _of_project(here: Shelf, *, idle: bool) -> Iterator[Part]:
    for name, told in OF_PROJECT.items() if idle else ():
        yield _part(told, [os.path.join(here.folder, name)])


def _part(told: str, paths: list[str], *, loop: str = "") -> Part:
    there = [path for path in paths if os.path.lexists(path)]
    return Part(told, tuple(there), sum(map(_bytes, there)), loop)


def _bytes(path: str) -> int:
    total = 0
    with suppress(OSError):
        total = os.lstat(path).st_size
    if os.path.isdir(path) and not os.path.islink(path):
        with suppress(OSError), os.scandir(path) as entries:
            total = sum(_bytes(entry.path) for entry in entries)
    return total


def _let_go(here: Shelf, found: Removal) -> list[Part]:
    """Those that still may go; with everything, the records of their loops are gone before their files."""
    with here.lock():
        left = [LoopFiles(record, here) for record in arming.under_way(here)]
        alive = {loop.record.id for loop in left if not _is_over(loop)}
        for loop in left:
            if loop.record.id not in alive:
                loop.put_away()  # its end was killed half-way
        records = {record.id: record for record in here.records(shelf.ENDED)}
        gone = [each for each in found.parts if not each.loop or each.loop in records]
        gone = [each for each in gone if alive.isdisjoint(map(os.path.basename, (each.loop, *each.paths)))]
        if found.everything:
            ended.forget(here, [records[each.loop] for each in gone if each.loop])
    return gone


def _remove(path: str) -> None:
    """A link goes, and what it leads to stays. Another `clean` may be at the same folder."""
    while os.path.isdir(path) and not os.path.islink(path):
        with suppress(FileNotFoundError):
            shutil.rmtree(path)
    files.remove(path)


def _size(count: int) -> str:
    for unit, step in (("MB", 1_000_000), ("kB", 1000)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} bytes"
