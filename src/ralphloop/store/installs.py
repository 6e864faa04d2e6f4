"""A client's file that we change: its text, a backup beside it, a record of what in it is ours.

The record lives in the user's state directory under the file's real path.
"""

from __future__ import annotations

from ralphloop import errors
from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.store import files
from ralphloop.store.files import Lock
from ralphloop.store.shelf import home, mirror

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, Optional, TypeVar

    T = TypeVar("T")

BACKUP = ".ralphloop-backup"
# Keys of the record that are about the file and not about its text: whether we made its folder, the backup
# that we made, the guard that our hooks start, what stood in the file when it held no settings (null: there
# was no file), and of such a file the text that we wrote.
FOLDER, BACKED_UP, GUARD, BEGAN, WHOLE = "folder", "backup", "guard", "began", "whole"
TRIES = 5


def settled(work: Callable[[], T]) -> T:
    """Do it, and start over if the file changed meanwhile; SettingsChangedError if it never holds still."""
    for _ in range(TRIES - 1):
        try:
            return work()
        except errors.SettingsChangedError:
            pass
    return work()


def free_name(path: str) -> str:
    """This path, or with the next number that nothing is called by."""
    number, name = 1, path
    while os.path.lexists(name):
        number += 1
        name = "%s-%d" % (path, number)
    return name


class SettingsFile:
    """`root` is the project that no link may lead out of; empty for the person's own settings."""

    __slots__ = ("_folder", "_record", "path", "place", "root")

    def __init__(self, path: str, env: Mapping[str, str], *, root: str = "") -> None:
        self.path = path
        self.place = os.path.realpath(path)
        self.root = root
        self._folder = os.path.join(home(env), "installs")
        self._record = mirror(self._folder, self.place) + ".json"

    @property
    def leads_out(self) -> bool:
        return bool(self.root) and not files.inside(self.path, self.root)

    def lock(self) -> Lock:
        files.make_folder(self._folder)
        return Lock(os.path.join(self._folder, "lock"))

    def read(self) -> Optional[str]:
        return files.read_text(self.place)

    def record(self) -> Optional[dict[str, Any]]:
        """What an installation left; None if there was none, or if that cannot be told."""
        try:
            return jsontext.parse_object(files.read_quietly(self._record) or "")
        except ValueError:
            return None

    @property
    def is_ours_alone(self) -> bool:
        """Whether it held nothing before us and is to the byte what we wrote."""
        whole = (self.record() or {}).get(WHOLE)
        return isinstance(whole, str) and files.read_quietly(self.place) == whole

    def backup_of(self, record: Mapping[str, Any]) -> str:
        """The backup that this record tells of; empty if there is none."""
        name = record.get(BACKED_UP)
        return (
            os.path.join(os.path.dirname(self.path), os.path.basename(name)) if isinstance(name, str) else ""
        )

    def install(self, before: Optional[str], text: str, record: dict[str, Any], *, keep: bool) -> str:
        """Write the text and its record, or leave everything as it was; the backup if one was made now, as
        only the first installation does, if it has something to `keep`. Call it under the lock."""
        known = files.read_quietly(self._record)
        folder = os.path.dirname(self.place)
        new_folder = not os.path.isdir(folder)
        backup = free_name(self.path + BACKUP) if keep and known is None else ""
        if new_folder:
            os.makedirs(folder)
        said = {FOLDER: record.get(FOLDER) or new_folder}
        if backup:
            said[BACKED_UP] = os.path.basename(backup)
        try:
            if backup:
                files.write_text(backup, before or "")
            # The record first: what it tells of a text that was never written does no harm.
            self._save({**record, **said})
            self._write(before, text)
        except (OSError, errors.SettingsChangedError):
            self._undo(known, backup=backup, new_folder=new_folder)
            raise
        return backup

    def amend(self, before: str, text: str, *, suffix: str) -> str:
        """Write the text of a file that was there, and nothing into the record; the backup that was made
        under this suffix. Call it under the lock."""
        backup = free_name(self.path + suffix)
        files.write_text(backup, before)
        try:
            self._write(before, text)
        except (OSError, errors.SettingsChangedError):
            files.unlink(backup)
            raise
        return backup

    def _save(self, record: dict[str, Any]) -> None:
        files.make_folder(os.path.dirname(self._record))
        files.write_text(self._record, jsontext.render(record) + "\n", durable=True)

    def _write(self, before: Optional[str], text: str) -> None:
        """Replace the file by one rename, unless it holds something else by then: clients and editors write
        it too, and know nothing of our lock."""
        spare = files.spare_of(self.place)
        files.write_text(spare, text, mode=0o644 if self.root else 0o600)
        try:
            if os.path.exists(self.place):
                os.chmod(spare, os.stat(self.place).st_mode & 0o777)
            self._must_hold(before)
            os.replace(spare, self.place)
        except BaseException:
            files.unlink(spare)
            raise

    def _must_hold(self, before: Optional[str]) -> None:
        if self.read() != before:
            raise errors.SettingsChangedError(self.path)

    def _undo(self, known: Optional[str], *, backup: str, new_folder: bool) -> None:
        if backup:
            files.unlink(backup)
        if new_folder:
            _remove_folder(os.path.dirname(self.place))
        if known is None:
            files.unlink(self._record)
        else:
            files.write_text(self._record, known)

    def uninstall(self, before: Optional[str], text: Optional[str]) -> str:
        """Write what is left, None for no file, and forget the record; the backup of ours that stays."""
        record = self.record() or {}
        if text is None:
            self._must_hold(before)
            files.unlink(self.place)
        elif text != before:
            self._write(before, text)
        backup = self.backup_of(record)
        if backup and files.read_quietly(backup) in (None, text):
            files.unlink(backup)
            backup = ""
        if record.get(FOLDER) is True:
            _remove_folder(os.path.dirname(self.place))
        files.unlink(self._record)
        return backup


def _remove_folder(path: str) -> None:
    """Only if nothing is in it."""
    try:
        os.rmdir(path)
    except OSError:
        pass
