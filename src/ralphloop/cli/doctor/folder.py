"""`doctor` on places: whether the state directory and the task lists lie where they can be used."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress

from ralphloop.cli.doctor.finding import FATAL, FINE, WARNING, Finding
from ralphloop.errors import NoLocksError
from ralphloop.loops.client import writable
from ralphloop.loops.place import Place
from ralphloop.store import approvals, disk, lock, shelf, tasks
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import own_file

BLOCK = 4096


def examine(place: Place) -> Iterator[Finding]:
    yield _state_folder(place)
    wrong, cure = _trouble(place.project)
    if wrong:
        yield Finding("project", FATAL, wrong, _begun(cure))
    for source in place.sources():
        if not writable(source).fine:
            told = f"{own_file(source)} lies below .claude/, where Claude Code lets the agent edit nothing"
            fix = f"Let it claim with `ralphloop done ID`, or move the list to .ralph/loops/{source.name}/"
            yield Finding("list", WARNING, told, fix)


def _state_folder(place: Place) -> Finding:
    folder = shelf.home(place.env)
    nearest = folder
    while not os.path.lexists(nearest) and nearest != os.path.dirname(nearest):
        nearest = os.path.dirname(nearest)
    if not os.path.isdir(nearest) or not os.access(nearest, os.W_OK | os.X_OK):
        told = f"the state directory {folder} cannot be written ({nearest} is in the way)"
        return Finding("state", FATAL, told, "Make it writable, or set XDG_STATE_HOME to another place")
    wrong, cure = _trouble(nearest)
    if wrong:
        return Finding("state", FATAL, f"the state directory {folder} cannot be used: {wrong}", _begun(cure))
    wrong, cure = approvals.void(Shelf(place.project, place.env))
    if wrong:
        return Finding("state", FATAL if _has_checks(place) else WARNING, wrong, _begun(cure))
    return Finding("state", FINE, f"the state directory {folder} can be written")


def _has_checks(place: Place) -> bool:
    """Whether a list here has checks, of which none could run."""
    for source in place.sources():
        with suppress(ValueError, OSError):
            if any(task.verify for task in tasks.parse_source(source).tasks):
                return True
    return False


def _begun(cure: str) -> str:
    """As the sentence that it is here."""
    return cure[:1].upper() + cure[1:]


def _trouble(folder: str) -> tuple[str, str]:
    """What keeps a loop from writing here or from locking what it wrote, tried with a file without a name,
    and the cure."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(BLOCK))
            file.flush()
            _lock(file.fileno(), folder)
    except OSError as error:
        error.filename = error.filename if isinstance(error, NoLocksError) else os.path.join(folder, "")
        return disk.told(error)
    return "", ""


def _lock(handle: int, folder: str) -> None:
    try:
        lock.try_lock(handle)
    except OSError as error:
        raise NoLocksError(error.errno, error.strerror, folder) from None
