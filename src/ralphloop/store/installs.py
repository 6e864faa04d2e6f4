"""A client's settings file that we change: its text, a backup beside it, a record of what in it is ours.

The record lives in the user's state directory under the file's real path.
"""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.store import files
from ralphloop.store.lock import Lock
from ralphloop.store.shelf import home, mirror

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

BACKUP = ".ralphloop-backup"
# Keys of the record that are about the file and not about its text: whether we made its folder and its
# backup, and what stood in the file when it held no settings (null: there was no file).
FOLDER, BACKED_UP, BEGAN = "folder", "backup", "began"


class SettingsFile:
    """`root` is the project that no link may lead out of; empty for the person's own settings."""

    __slots__ = ("_folder", "_record", "backup", "path", "place", "root")

    def __init__(self, path: str, env: Mapping[str, str], *, root: str = "") -> None:
        self.path = path
        self.place = os.path.realpath(path)
        self.root = root
        self.backup = path + BACKUP
        self._folder = os.path.join(home(env), "installs")
        self._record = mirror(self._folder, self.place) + ".json"

    @property
    def leads_out(self) -> bool:
        return bool(self.root) and not files.inside(self.path, self.root)

    def lock(self) -> Lock:
        files.make_folder(self._folder)
        return Lock(os.path.join(self._folder, "lock"))

    def read(self) -> Optional[str]:
        return files.read_text(self.path)

    def record(self) -> Optional[dict[str, Any]]:
        """What an installation left; None if there was none, or if that cannot be told."""
        try:
            return jsontext.parse_object(files.read_quietly(self._record) or "")
        except ValueError:
            return None

    def install(self, text: str, record: dict[str, Any], *, backup: Optional[str]) -> bool:
        """Write the text and its record, or leave everything as it was; whether the backup was made now, as
        only the first installation does. Call it under the lock."""
        known = files.read_quietly(self._record)
        folder = os.path.dirname(self.place)
        new_folder = not os.path.isdir(folder)
        new_backup = backup is not None and not os.path.lexists(self.backup)
        if new_folder:
            os.makedirs(folder)
        flags = {FOLDER: record.get(FOLDER) or new_folder, BACKED_UP: record.get(BACKED_UP) or new_backup}
        try:
            if new_backup:
                files.write_text(self.backup, backup or "")
            # The record first: what it tells of a text that was never written does no harm.
            self._save({**record, **flags})
            self._write(text)
        except OSError:
            self._undo(known, new_folder=new_folder, new_backup=new_backup)
            raise
        return new_backup

    def _save(self, record: dict[str, Any]) -> None:
        files.make_folder(os.path.dirname(self._record))
        files.write_text(self._record, jsontext.render(record) + "\n", durable=True)

    def _write(self, text: str) -> None:
        if self.root:
            files.write_shared(self.path, text, root=self.root)
        else:
            files.write_text(self.place, text)

    def _undo(self, known: Optional[str], *, new_folder: bool, new_backup: bool) -> None:
        if new_backup:
            _remove(self.backup)
        if new_folder:
            _remove_folder(os.path.dirname(self.place))
        if known is None:
            _remove(self._record)
        else:
            files.write_text(self._record, known)

    def uninstall(self, text: Optional[str]) -> bool:
        """Write what is left, None for no file, and forget the record; whether a backup of ours stays."""
        record = self.record() or {}
        if text is None:
            _remove(self.place)
        elif text != self.read():
            self._write(text)
        is_needed = record.get(BACKED_UP) is True and files.read_quietly(self.backup) not in (None, text)
        if record.get(BACKED_UP) is True and not is_needed:
            _remove(self.backup)
        if record.get(FOLDER) is True:
            _remove_folder(os.path.dirname(self.place))
        _remove(self._record)
        return is_needed


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _remove_folder(path: str) -> None:
    """Only if nothing is in it."""
    try:
        os.rmdir(path)
    except OSError:
        pass
