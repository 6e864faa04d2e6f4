"""What a loop that has ended leaves for those who look later: a stamp of its file, and its id under the name
of its session, so that neither the guard nor a hook reads the records of all that has ended.

`last/<session>` holds the id of the loop that the session ended last. `last/.known` has the time of the
folder `ended/` that the ids were taken from. Without it, or with another time (a kill half-way, an end by
version 0.3.1), nobody relies on them; the next prompt or end here takes them anew out of the records.
"""

from __future__ import annotations

from ralphloop import errors
from ralphloop import system as os
from ralphloop.store import files
from ralphloop.store.files import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Optional

    from ralphloop.store.shelf import Record, Shelf

ENDED, LAST, KNOWN = "ended", "last", ".known"


def last(here: Shelf, session: str) -> Optional[Record]:
    """The last loop that this session has brought to its end."""
    name = files.file_name(session)
    if not name or not is_known(here):
        mine = [one for one in here.records(ENDED, naming=session) if one.session == session]
        return max(mine, key=_begun, default=None)
    return _marked(here, name, session)


def is_known(here: Shelf) -> bool:
    return _time(os.path.join(here.folder, ENDED)) == _time(_place(here, KNOWN))


def distrust(here: Shelf) -> bool:
    """Before a record moves: nobody relies on the marks until they are noted. Whether they were known."""
    was_known = is_known(here)
    files.unlink(_place(here, KNOWN))
    return was_known


def note(here: Shelf, record: Optional[Record], *, known: bool) -> None:
    """After a record moved: the one that has ended now, or all of them. Call it under the shelf's lock."""
    try:
        files.make_folder(os.path.join(here.folder, LAST))
        if record is None or not known:
            _note_all(here)
        elif record.session:
            name = files.file_name(record.session)
            before = _marked(here, name, record.session)
            if name and (before is None or _begun(before) <= _begun(record)):
                _mark(here, name, record.id)
        _stamp(_place(here, KNOWN), "", like=os.path.join(here.folder, ENDED))
    except OSError:
        pass  # it has moved all the same, and the next prompt notes it


def catch_up(here: Shelf) -> None:
    """Note what an earlier version, or a move that was cut off, did not; a busy shelf is not waited for."""
    if is_known(here):
        return
    try:
        with Lock(os.path.join(here.folder, "lock"), wait_s=0.0):
            note(here, None, known=distrust(here))
    except (OSError, errors.BusyError):
        pass


def forget(here: Shelf, records: Iterable[Record]) -> None:
    """Take the records of loops away that have ended: nobody finds them any more. Call it under the lock."""
    distrust(here)
    for record in records:
        files.remove(os.path.join(here.folder, ENDED, record.id + ".json"))
    if os.path.isdir(os.path.join(here.folder, ENDED)):
        note(here, None, known=False)


def stamp(here: Shelf, path: str, ended_at: str) -> None:
    """Note that the loop of this file is over, until the file changes."""
    try:
        _stamp(here.stamp_of(path), ended_at + "\n", like=path)
    except OSError:
        pass


def ended_at(here: Shelf, path: str) -> str:
    """When the last loop of this file ended; empty if there was none."""
    place = here.stamp_of(path)
    return (files.read_quietly(place) or "").strip() if os.path.isfile(place) else ""


def _note_all(here: Shelf) -> None:
    newest: dict[str, Record] = {}
    for record in here.records(ENDED):
        name = files.file_name(record.session) if record.session else ""
        if name and (name not in newest or _begun(newest[name]) < _begun(record)):
            newest[name] = record
    for name in files.names(os.path.join(here.folder, LAST)):
        if name not in newest and "." not in name:
            os.unlink(_place(here, name))
    for name, record in newest.items():
        if files.read_quietly(_place(here, name)) != record.id + "\n":
            _mark(here, name, record.id)


def _marked(here: Shelf, name: str, session: str) -> Optional[Record]:
    loop_id = (files.read_quietly(_place(here, name)) or "").strip() if name else ""
    record = here.load(ENDED, loop_id + ".json") if loop_id else None
    return record if record is not None and record.session == session else None


def _mark(here: Shelf, name: str, loop_id: str) -> None:
    files.write_text(_place(here, name), loop_id + "\n")


def _stamp(place: str, text: str, *, like: str) -> None:
    """A file with the time of another: first what it says, so that until then it is another time."""
    at = os.stat(like).st_mtime_ns
    files.make_folder(os.path.dirname(place))
    files.write_text(place, text)
    os.utime(place, ns=(at, at))


def _place(here: Shelf, name: str) -> str:
    return os.path.join(here.folder, LAST, name)


def _time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _begun(record: Record) -> tuple[str, str]:
    return record.armed_at, record.id
