"""A whole catalogue: where its entries are, and playing them side by side, each in a forked process."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ralphloop.errors import CaseError, UserError
from ralphloop.lab.catalogue.ground import Program
from ralphloop.lab.catalogue.item import Item, find
from ralphloop.lab.catalogue.playing import BROKEN, SKIPPED, Played, expected, lacks, play
from ralphloop.lab.conformance import suite
from ralphloop.lab.conformance.processes import none_left
from ralphloop.lab.scratch import remove_old, scratch_folder

PREFIX = "ralphloop-catalogue-"
JOBS = 2
LONGEST_S = 300  # of one entry; an alarm ends it then
# What every play would import; a forked process has it already.
WARM = (
    "ralphloop.hook.session_event", "ralphloop.engine.stop", "ralphloop.engine.session",
    "ralphloop.engine.claim", "ralphloop.engine.checks", "ralphloop.proof.prove", "ralphloop.store.repair",
    "ralphloop.store.pins", "ralphloop.store.spec_folder",
)  # fmt: skip


class Part(NamedTuple):
    """An entry in one of its layouts."""

    item: Item
    layout: str
    off: tuple[str, ...] = ()  # clauses that are switched off for it


def chosen(kind: str, named: Path | None, only: Sequence[str]) -> list[Item]:
    """The entries of a catalogue, ours or of a folder that is named, that one of the globs names."""
    folder = named or suite.folder()
    if folder is None:
        raise UserError(suite.NO_CASES + ".")
    try:
        items = find(folder.resolve(), kind, only)
    except CaseError as error:
        raise UserError(f"{error}.") from None
    if not items:
        told = "has such a name; --list shows them" if only else "is there"
        raise UserError(f"no entry in {folder / kind} {told}.")
    return items


def parts(items: Sequence[Item]) -> list[Part]:
    return [Part(item, layout) for item in items for layout in item.layouts]


def play_all(
    wanted: Sequence[Part],
    *,
    program: Program,
    jobs: int | None = None,
    keep: bool = False,
    told: Callable[[Played], None] = lambda played: None,
) -> list[Played]:
    """Each in a folder and a process of its own; whatever ends this, none of them is left. With `keep` the
    folders of those stay that did not come out as their files say."""
    for name in WARM:
        import_module(name)
    gc.collect()
    gc.freeze()
    remove_old(PREFIX)
    kept = "kept-" if keep else ""  # by this name it is not removed as an old one
    with scratch_folder(f"{PREFIX}{kept}{os.getpid()}-", keep=keep) as scratch:
        crew = _Crew(scratch, program=program, keep=keep)
        try:
            results = dict(crew.work(wanted, jobs=jobs or JOBS, told=told))
        finally:
            crew.end()
        with contextlib.suppress(OSError):
            scratch.rmdir()  # nothing was to be kept
    gc.unfreeze()
    return [results[at] for at in range(len(wanted))]


class _Crew:
    """The processes that are playing, by the pipe that each of them answers through."""

    def __init__(self, scratch: Path, *, program: Program, keep: bool) -> None:
        self._scratch, self._program, self._keep = scratch, program, keep
        self._pids: dict[int, int] = {}
        self._said: dict[int, bytes] = {}

    def work(
        self, wanted: Sequence[Part], *, jobs: int, told: Callable[[Played], None]
    ) -> Iterator[tuple[int, Played]]:
        waiting = list(enumerate(wanted))[::-1]
        busy: dict[int, tuple[int, Part]] = {}
        with selectors.DefaultSelector() as pipes:
            while waiting or busy:
                while waiting and len(busy) < jobs:
                    at, part = waiting.pop()
                    missing = lacks(part.item)
                    if missing:
                        played = _blank(part, SKIPPED, f"{missing} is not here")
                        told(played)
                        yield at, played
                        continue
                    handle = self._begin(at, part)
                    busy[handle] = (at, part)
                    pipes.register(handle, selectors.EVENT_READ)
                for key, _ in pipes.select() if busy else ():
                    if self._hear(key.fd):
                        continue
                    pipes.unregister(key.fd)
                    at, part = busy.pop(key.fd)
                    played = self._ended(key.fd, part)
                    told(played)
                    yield at, played

    def _begin(self, at: int, part: Part) -> int:
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            os.close(reading)
            self._become(self._scratch / str(at), part, writing)
        os.close(writing)
        self._pids[reading], self._said[reading] = pid, b""
        return reading

    def _become(self, folder: Path, part: Part, writing: int) -> None:
        """The forked side: play, say what came of it, and be gone."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LONGEST_S)
        try:
            with none_left():
                played = play(part.item, part.layout, folder=folder, program=self._program, off=part.off)
            if not (self._keep and not played.as_said):
                _remove(folder)
            data = json.dumps(played.to_json()).encode()
            while data:
                data = data[os.write(writing, data) :]
        except BaseException:
            os.write(writing, json.dumps({"bug": traceback.format_exc()}).encode())
        finally:
            os._exit(0)

    def _hear(self, handle: int) -> bool:
        data = os.read(handle, 1 << 16)
        self._said[handle] += data
        return bool(data)

    def _ended(self, handle: int, part: Part) -> Played:
        os.close(handle)
        os.waitpid(self._pids.pop(handle), 0)
        said = self._said.pop(handle)
        values = json.loads(said) if said else {"bug": f"its process was ended, perhaps after {LONGEST_S} s"}
        if "bug" in values:
            return _blank(part, BROKEN, values["bug"])
        return Played(**values)

    def end(self) -> None:
        for handle, pid in self._pids.items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
            os.close(handle)


def _blank(part: Part, came: str, why: str) -> Played:
    item = part.item
    return Played(
        item.file, item.family, item.title, part.layout, expected(item), came=came, why=why,
        as_said=came == SKIPPED,
    )  # fmt: skip


def _remove(folder: Path) -> None:
    """Also what an entry has made read-only."""

    def retry(function: Callable[[str], object], path: str, _: object) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            function(path)

    shutil.rmtree(folder, onerror=retry)
