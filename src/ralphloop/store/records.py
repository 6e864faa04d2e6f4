"""The records of stops: a switch per project, and for each loop a ring of the newest ones."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.store import files, shelf
from ralphloop.store.files import Lock
from ralphloop.store.loop import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ralphloop.store.shelf import Shelf

MOST, MOST_BYTES = 100, 32 * 1024 * 1024  # of one loop
NOBODY = "nobody"  # in the place of a loop's id, for stops that were left alone: no loop has such an id
WAIT_S = 2.0  # a stop is not held up for its record


class Kept:
    """Where one record is; numbers are counted through the whole project."""

    __slots__ = ("loop", "number", "path")

    def __init__(self, number: int, loop: str, path: str) -> None:
        self.number = number
        self.loop = loop
        self.path = path


def switch(here: Shelf, *, on: bool) -> None:
    place = os.path.join(here.folder, shelf.RECORD)
    if not on:
        return files.remove(place)
    files.make_folder(here.folder)
    return files.write_text(place, iso(time.time()) + "\n")


def kept(here: Shelf) -> list[Kept]:
    """Every record of the project, oldest first."""
    found = []
    for loop_id in files.names(os.path.join(here.folder, "kept")):
        folder = _folder(here, loop_id)
        for name in files.names(folder):
            number = name[: -len(".json")]
            if name.endswith(".json") and number.isdigit() and number.isascii():
                found.append(Kept(int(number), loop_id, os.path.join(folder, name)))
    return sorted(found, key=lambda one: one.number)


def keep(here: Shelf, loop_id: str, data: dict[str, Any]) -> int:
    """Write a record down, and let go of the loop's oldest ones beyond the bounds; its number."""
    folder = _folder(here, loop_id)
    files.make_folder(os.path.dirname(folder))
    files.make_folder(folder)
    text = jsontext.render(data) + "\n"
    with _lock(here):
        known = kept(here)
        number = known[-1].number + 1 if known else 1
        path = os.path.join(folder, "%04d.json" % number)
        _sweep(folder)
        files.write_text(path, text)
        _let_go([*(one for one in known if one.loop == loop_id), Kept(number, loop_id, path)])
    return number


def load(one: Kept) -> dict[str, Any]:
    """What a record holds; ValueError or OSError if it cannot be read."""
    return jsontext.parse_object(files.read_text(one.path) or "")


def clear(here: Shelf) -> int:
    """Remove every record of the project, and what killed ones left; how many there were."""
    folders = [_folder(here, loop_id) for loop_id in files.names(os.path.join(here.folder, "kept"))]
    if not any(files.names(folder) for folder in folders):
        return 0
    with _lock(here):
        found = kept(here)
        for one in found:
            files.remove(one.path)
        for folder in folders:
            _sweep(folder)
    return len(found)


def _folder(here: Shelf, loop_id: str) -> str:
    return os.path.join(here.kept(loop_id), "records")


def _lock(here: Shelf) -> Lock:
    return Lock(os.path.join(here.folder, "record.lock"), wait_s=WAIT_S)


def _sweep(folder: str) -> None:
    """Take away what killed writes left. Call it under the lock, without which nobody writes here."""
    for name in files.names(folder):
        if name.startswith(".") and name.endswith(".tmp"):
            files.remove(os.path.join(folder, name))


def _let_go(found: list[Kept]) -> None:
    """Remove the oldest, but never the last one."""
    sizes = [_size(one.path) for one in found]
    first = 0
    while first < len(found) - 1 and (len(found) - first > MOST or sum(sizes[first:]) > MOST_BYTES):
        files.remove(found[first].path)
        first += 1


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
