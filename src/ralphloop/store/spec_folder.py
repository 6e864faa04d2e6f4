"""What a stop does beside the loop in a spec's folder: stale notes go, a finished spec closes in its epic."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.store import files
from ralphloop.tasklists import spec_state
from ralphloop.tasklists.registry import own_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.store.shelf import Record

STALE_S = 3600.0


def tidy(record: Record, *, now: float) -> None:
    """Remove the notes that parallel tasks left behind more than an hour ago."""
    folder = os.path.dirname(own_file(record))
    for name in files.names(folder):
        path = os.path.join(folder, name)
        if spec_state.is_orphan(name) and not os.path.islink(path) and _is_stale(path, now):
            os.unlink(path)


def _is_stale(path: str, now: float) -> bool:
    try:
        return os.path.isfile(path) and now - os.stat(path).st_mtime > STALE_S
    except OSError:
        return False


def close_epic(record: Record, epic: str) -> None:
    """Mark the spec completed in the epic that it belongs to, if that epic is the current one."""
    from ralphloop.tasklists import epic as epics

    path = epics.epic_path(record, epic)
    if files.read_quietly(epics.epic_pointer(record)) is None or not files.inside(path, record.root):
        return
    text = files.read_quietly(path)
    closed = epics.close_epic(text, record.name) if text is not None else None
    if closed is not None:
        files.write_shared(path, closed, root=record.root)
