"""What loops that are over have left on this disk, and its removal; a loop under way and every list stay."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.domain.model import ENDED, FINAL
from ralphloop.domain.prompt import cut
from ralphloop.errors import UserError
from ralphloop.loops.place import UNDER_WAY, Place, pick, require_person
from ralphloop.loops.result import Result
from ralphloop.store import arming, ended, files, shelf, supervisor
from ralphloop.store.loop import LoopFiles, run_folder
from ralphloop.store.shelf import Shelf
from ralphloop.store.tasks import BEGUN
from ralphloop.tasklists.registry import LAYOUTS, traits
from ralphloop.views import figure

# In a loop's folder of the state directory: what the next stop makes anew, and what is only for a next stop.
AGAIN = ("cursor.json",)
OVER = (BEGUN, "protected", "request", "supervisor.json", "waker.lock")
# Of the project: what was approved, the marks of sessions, whether stops are recorded.
ID = re.compile(r"[a-z]+-\S+-\d{8}T\d{6}Z(-\d+)?", re.ASCII)  # what a loop's folder is called
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
    unread: bool = False  # whether a record of a loop cannot be read: then nothing that no record names goes

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
        if self.unread:
            stay.append("! A loop's record here cannot be read, so what no record names stays.")
        if not self.parts:
            more = "" if self.everything else "; --all removes records and state too"
            return (f"Nothing to remove in {self.root}{more}.", *stay)
        rows = [f"{figure.size(each.size):>9}  {each.told}" for each in self.parts]
        return (f"To be removed in {self.root}:", *rows, *stay, "Task lists and the project's files stay.")


def to_remove(place: Place, name: str | None = None, *, everything: bool = False) -> Removal:
    """What can be made again, of all loops that are over in the nearest project that has any, or of those
    with this name; with `everything` their records and state too, and without a name the project's."""
    require_person(place.env, "what is removed")
    here, over, staying = _chosen(place, name)
    found = [_whole(loop) if everything else _spare(loop) for loop in over]
    unread = _has_unread(here)
    if everything and name is None and not unread:
        found += [*_orphans(here), *_of_project(here, idle=not staying)]
    return Removal(here.root, everything, tuple(each for each in found if each.paths), staying, unread)


def clean(place: Place, found: Removal) -> Result:
    """Remove exactly that, but for a loop that somebody has taken up meanwhile."""
    require_person(place.env, "what is removed")
    here = Shelf(found.root, place.env)
    gone = _let_go(here, found)
    failed = [why for each in gone for path in each.paths if (why := _remove(path, here.root))]
    size = sum(each.size for each in gone)
    told = [f"Removed {figure.size(size)} of {len(gone)} {'entry' if len(gone) == 1 else 'entries'}."]
    told = [f"Not all could be removed. {why}." for why in failed] or told
    told += [
        f"! {each.told}: taken up or gone meanwhile, and left alone"
        for each in found.parts
        if each not in gone
    ]
    data = {**found.data, "found": [each.data for each in gone], "bytes": size, "removed": True}
    return Result({**data, "failed": failed}, tuple(told), 1 if failed else 0)


def _chosen(place: Place, name: str | None) -> tuple[Shelf, list[LoopFiles], tuple[str, ...]]:
    """The project, its loops that are over and meant, and the names of the meant ones that are not."""
    loops = [loop for loop in place.loops(*UNDER_WAY, shelf.ENDED) if _is_around(place, loop)]
    named = pick(place, name) if name is not None else None
    if named is not None and not _is_around(place, named):  # a folder may only say that it is a worktree
        raise UserError(f"{named.record.name} belongs to {named.record.root}; change to that folder first.")
    here = (named or loops[0]).shelf if named or loops else Shelf(place.project, place.env)
    meant = [loop for loop in loops if loop.record.root == here.root and _is_meant(loop, named, name)]
    ended_ids = {record.id for record in here.records(shelf.ENDED)}
    over = [loop for loop in meant if _is_over(loop, is_put_away=loop.record.id in ended_ids)]
    return here, over, tuple(loop.record.name for loop in meant if loop not in over)


def _is_around(place: Place, loop: LoopFiles) -> bool:
    return files.inside(place.cwd, loop.record.root)


def _is_meant(loop: LoopFiles, named: LoopFiles | None, name: str | None) -> bool:
    """All of a name, or one by its id."""
    if named is None or loop.record.id == named.record.id:
        return True
    return loop.record.name == named.record.name == name


def _is_over(loop: LoopFiles, *, is_put_away: bool = False) -> bool:
    """By its state; or by its record alone, where its state is lost."""
    return not supervisor.is_held(loop) and (loop.is_over or (is_put_away and not loop.is_newer))


def _has_unread(here: Shelf) -> bool:
    names = ((kind, name) for kind in (*UNDER_WAY, shelf.ENDED) for name in _records(here, kind))
    return any(here.load(kind, name) is None for kind, name in names)


def _records(here: Shelf, kind: str) -> list[str]:
    return [name for name in files.names(os.path.join(here.folder, kind)) if name.endswith(".json")]


def _spare(loop: LoopFiles) -> Part:
    roles = dict.fromkeys(role for name in LAYOUTS for role in traits(name).files)
    names = (*AGAIN, *roles, *OVER) if loop.state().outcome in FINAL else AGAIN
    paths = [os.path.join(loop.kept, name) for name in names]
    return _part(f"copies and indexes of {_loop(loop)}", paths, loop=loop.record.id)


def _whole(loop: LoopFiles) -> Part:
    paths = [*([loop.folder] if _runs(loop.record.root) else []), loop.kept]
    return _part(f"journal, evidence and state of {_loop(loop)}", paths, loop=loop.record.id)


def _loop(loop: LoopFiles) -> str:
    return f"{cut(loop.record.name, 24)} ({loop.state().outcome}, {loop.record.armed_at[:10]})"


def _orphans(here: Shelf) -> Iterator[Part]:
    """Folders of loops that no record here knows; one that says it has not ended may be another machine's."""
    known = {record.id for kind in (*UNDER_WAY, shelf.ENDED) for record in here.records(kind)}
    runs = _runs(here.root)
    for folder in (runs, here.kept("")) if runs else (here.kept(""),):
        for name in filter(ID.fullmatch, files.names(folder)):
            path = os.path.join(folder, name)
            is_folder = os.path.isdir(path) and not os.path.islink(path)
            if name not in known and is_folder and (folder != runs or not _goes_on(path)):
                yield _part(f"of no loop known here: {cut(name, 44)}", [path])


def _runs(root: str) -> str:
    """Where the project's loops have their folders; empty where a link stands in the way."""
    runs = run_folder(root)
    is_link = any(map(os.path.islink, (runs, os.path.dirname(runs))))
    return "" if is_link or not os.path.isdir(runs) else runs


def _goes_on(folder: str) -> bool:
    """Whether its own file says so; without one it is what a removal left that was killed."""
    path = os.path.join(folder, "loop.json")
    try:
        return jsontext.parse_object(files.read_quietly(path) or "").get("state") != ENDED
    except ValueError:
        return os.path.lexists(path)


def _of_project(here: Shelf, *, idle: bool) -> Iterator[Part]:
    for name, told in OF_PROJECT.items() if idle else ():
        yield _part(told, [os.path.join(here.folder, name)])


def _part(told: str, paths: list[str], *, loop: str = "") -> Part:
    there = [path for path in paths if os.path.lexists(path)]
    return Part(told, tuple(there), sum(map(_bytes, there)), loop)


def _bytes(path: str) -> int:
    total, todo = 0, [path]
    while todo:
        here = todo.pop()
        with suppress(OSError):
            if os.path.isdir(here) and not os.path.islink(here):
                todo += [os.path.join(here, name) for name in os.listdir(here)]
            else:
                total += os.lstat(here).st_size
    return total


def _let_go(here: Shelf, found: Removal) -> list[Part]:
    """Those that still may go; with everything, the records of their loops are gone before their files."""
    with here.lock():
        left = [LoopFiles(record, here) for record in arming.under_way(here)]
        alive = {loop.record.id for loop in left if not _is_over(loop)}
        is_idle = not alive and not _has_unread(here)
        for loop in left:
            if loop.record.id not in alive:
                loop.put_away()  # its end was killed half-way
        records = {record.id: record for record in here.records(shelf.ENDED)}
        known = alive.union(records)
        gone = [each for each in found.parts if _may_go(each, records=records, known=known, is_idle=is_idle)]
        if found.everything:
            ended.forget(here, [records[each.loop] for each in gone if each.loop])
    return gone


def _may_go(part: Part, *, records: Mapping[str, object], known: set[str], is_idle: bool) -> bool:
    """A loop's while it is over, a folder while no record names it, the project's while nobody needs it."""
    if part.loop:
        return part.loop in records
    names = {os.path.basename(path) for path in part.paths}
    return is_idle if names & OF_PROJECT.keys() else known.isdisjoint(names)


def _remove(path: str, root: str) -> str:
    """Why it could not be removed, or nothing. A link goes, and what it leads to stays; another `clean` may
    be at the same folder."""
    while os.path.lexists(path):
        try:
            _remove_once(path, root)
        except FileNotFoundError:
            continue
        except (OSError, RecursionError) as error:
            why = "too deep" if isinstance(error, RecursionError) else error.strerror or str(error)
            return f"{path}: {why}"
    return ""


def _remove_once(path: str, root: str) -> None:
    if not os.path.isdir(path) or os.path.islink(path):
        os.unlink(path)
    elif os.path.dirname(path) != run_folder(root):
        shutil.rmtree(path)  # in the person's own state directory
    else:
        _remove_run(os.path.basename(path), root)


def _remove_run(name: str, root: str) -> None:
    """Through folders that are none but the project's own, whatever takes their place meanwhile."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for step in os.path.relpath(run_folder(root), root).split(os.sep):
            inner = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        if sys.version_info >= (3, 11):
            shutil.rmtree(name, dir_fd=handle)
        else:
            shutil.rmtree(os.path.join(run_folder(root), name))
    finally:
        os.close(handle)
