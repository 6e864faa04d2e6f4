"""Arming records: which loops the person on this machine started, out of the agent's reach.

They live in the user's state directory under the project's real path, so a copied or cloned project
has none: `armed/<loop>.json` waits for a session, `owned/<session>.json` has one, `ended/<loop>.json`
is over. A record moves by one rename. A stamp beside them, under the path of a loop's own file and
with that file's mtime, tells the shell guard that this file belongs to a loop that has ended (`ended.py`).
"""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.domain.model import Fields, Limits, Supervision
from ralphloop.store import files
from ralphloop.store.files import Lock
from ralphloop.tasklists.registry import LAYOUTS, traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Any, Iterator, Mapping, Optional

ARMED, OWNED, ENDED = "armed", "owned", "ended"
# For the lock that all loops of a project share: of dozens the last waits for all others, and the client
# gives a session's first hook 20 s.
WAIT_S = 15.0
RECORD = "record"  # a file of this name: the person wants every stop here kept


def home(env: Mapping[str, str]) -> str:
    """The user's state directory; the shell guard computes the same path."""
    base = env.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "ralphloop")


class Record(Fields):
    """One arming: the loop, where its files are, and what it may spend."""

    FIRST = ("id",)
    KEYS = (
        "armed_at", "continue_with", "id", "layout", "limits", "name", "paths", "root", "session",
        "supervision", "unapproved",
    )  # fmt: skip

    id: str
    _: KW_ONLY
    layout: str
    name: str
    root: str
    paths: dict[str, str]
    limits: Limits
    armed_at: str
    session: Optional[str] = None  # until one is bound; empty for a client that sends no session id
    continue_with: str = "block"
    unapproved: bool = False  # whether its checks were not approved when it began, nor since
    supervision: Optional[Supervision] = None  # the terms of its session while a supervisor drives it
    more: Mapping[str, Any] = {}  # what a newer version says besides, which is kept

    def to_json(self) -> dict[str, Any]:
        data = {name: getattr(self, name) for name in self.KEYS}
        data.update(self.more)
        data["limits"] = self.limits.to_json()
        data["supervision"] = None if self.supervision is None else self.supervision.to_json()
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Record:
        texts = ("id", "layout", "name", "root", "armed_at")
        paths, session = data.get("paths"), data.get("session")
        good = all(isinstance(data.get(key), str) for key in texts) and data["layout"] in LAYOUTS
        if not good or not isinstance(paths, dict) or not isinstance(session, (str, type(None))):
            raise ValueError("not an arming record")
        layout = traits(data["layout"])
        missing = [role for role in layout.truth if role not in paths]
        if missing or not _is_name(data["id"]) or not _are_places(paths, layout.files):
            raise ValueError("not an arming record")
        return cls(
            data["id"],
            layout=data["layout"],
            name=data["name"],
            root=data["root"],
            paths=paths,
            limits=Limits.from_json(data.get("limits")),
            armed_at=data["armed_at"],
            session=session,
            continue_with="context" if data.get("continue_with") == "context" else "block",
            unapproved=data.get("unapproved") is True,
            supervision=Supervision.from_json(data.get("supervision")),
            more={name: value for name, value in data.items() if name not in cls.KEYS},
        )


def _is_name(text: str) -> bool:
    """Whether a loop can be called so: its folders are."""
    return files.is_path(text) and text not in ("", ".", "..") and os.path.basename(text) == text


def _are_places(paths: dict[str, object], names: dict[str, str]) -> bool:
    """Whether these can be paths of files so called: a record is read again before it is obeyed."""
    for role, path in paths.items():
        if not isinstance(path, str) or not files.is_path(path) or not os.path.isabs(path):
            return False
        if os.path.basename(path) != names.get(role):
            return False
    return True


class Shelf:
    """The arming records of one project."""

    def __init__(self, root: str, env: Mapping[str, str]) -> None:
        self.root = root
        self.home = home(env)
        self._tree = os.path.join(self.home, "by-path")
        self.folder = os.path.join(mirror(self._tree, root), "@ralph")

    @property
    def records_stops(self) -> bool:
        return os.path.exists(os.path.join(self.folder, RECORD))

    def kept(self, loop_id: str) -> str:
        """The folder with the last good copies of a loop's files, and its lock."""
        return os.path.join(self.folder, "kept", loop_id)

    def owned_by(self, session: Optional[str]) -> Optional[Record]:
        """The loop of this session; without a session id, the first one that has an owner."""
        if session is None:
            return next(self.records(OWNED), None)
        name = files.file_name(session)
        record = self.load(OWNED, name + ".json") if name else None
        if record is not None:
            record.session = session
        return record

    def records(self, kind: str, *, naming: str = "") -> Iterator[Record]:
        """All of them, or those in which this text stands somewhere: of many, the others are not parsed."""
        said = jsontext.render(naming) if naming else ""
        for name in files.names(os.path.join(self.folder, kind)):
            record = self.load(kind, name, saying=said)
            if record is not None:
                yield record

    def load(self, kind: str, name: str, *, saying: str = "") -> Optional[Record]:
        text = files.read_quietly(os.path.join(self.folder, kind, name))
        if text is None or not name.endswith(".json") or saying not in text:
            return None
        try:
            record = Record.from_json(jsontext.parse_object(text))
        except ValueError:
            return None
        return record if record.root == self.root else None

    def fresh(self, record: Record) -> Record:
        """The record as it stands now; the one that is given if it is gone."""
        folder, name = os.path.split(self._find(record))
        return (name and self.load(os.path.basename(folder), name)) or record

    def lock(self) -> Lock:
        files.make_folder(self.folder)
        return Lock(os.path.join(self.folder, "lock"), wait_s=WAIT_S)

    def put(self, record: Record, kind: str) -> None:
        """Move the record to where it belongs now, then write it. Call it under the lock."""
        place = self._place(record, kind)
        files.make_folder(os.path.dirname(place))
        old = self._find(record)
        is_past = ENDED in (kind, os.path.basename(os.path.dirname(old)))
        if is_past:
            from ralphloop.store import ended

            known = ended.distrust(self)
        if old and old != place:
            os.rename(old, place)
        files.write_text(place, jsontext.render(record.to_json()) + "\n", durable=True)
        if is_past:
            ended.note(self, record if kind == ENDED else None, known=known)

    def rewrite(self, record: Record) -> None:
        """Write the record anew where it is. Call it under the lock."""
        kind = os.path.basename(os.path.dirname(self._find(record)))
        if kind:
            self.put(record, kind)

    def _place(self, record: Record, kind: str) -> str:
        name = files.file_name(record.session or "") if kind == OWNED else record.id
        return os.path.join(self.folder, kind, name + ".json")

    def _find(self, record: Record) -> str:
        for kind in (ARMED, ENDED):
            place = self._place(record, kind)
            if os.path.exists(place):
                return place
        said = jsontext.render(record.id)
        for name in files.names(os.path.join(self.folder, OWNED)):
            known = self.load(OWNED, name, saying=said)
            if known is not None and known.id == record.id:
                return os.path.join(self.folder, OWNED, name)
        return ""

    def stamp_of(self, path: str) -> str:
        return mirror(self._tree, path)


def mirror(tree: str, path: str) -> str:
    drive, rest = os.path.splitdrive(path)
    return tree + os.sep + drive.strip(":") + rest if drive else tree + rest
