"""Which commands the person on this machine allowed to run in a project: outside of it, by exact text."""

from __future__ import annotations

import sys
import time

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.store import files
from ralphloop.store.loop import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

    from ralphloop.domain.model import TaskList
    from ralphloop.store.shelf import Shelf


_LOOKS, _PAUSE_S = 5, 0.02


def approved(here: Shelf) -> frozenset[str]:
    """The commands that may run in this project, if it still is the folder that they were approved for."""
    return frozenset() if is_within_reach(here) else recorded(here)


def recorded(here: Shelf) -> frozenset[str]:
    """The same, whether or not they count where they are kept."""
    known = files.read_object(_place(here))
    commands = known.get("commands")
    folder = known.get("folder")
    if not isinstance(commands, dict) or not isinstance(folder, str):
        return frozenset()
    is_dated = not folder.endswith(".")
    return frozenset(commands if folder == _identity(here.root, is_dated=is_dated) else ())


def approve(here: Shelf, commands: Iterable[str], *, by: str) -> None:
    """Add to what may run; what was approved for another folder of this name is forgotten."""
    if is_within_reach(here):
        raise OSError(22, why_void(here), here.home)
    with here.lock():
        known = approved(here)
        old = files.read_object(_place(here)).get("commands") if known else None
        entries: dict[str, Any] = dict(old) if isinstance(old, dict) else {}
        now = iso(time.time())
        for command in commands:
            entries.setdefault(command, {"at": now, "by": by})
        data = {"folder": _identity(here.root), "commands": entries}
        files.write_text(_place(here), jsontext.render(data) + "\n", durable=True)


def unapproved(here: Shelf, listed: TaskList) -> list[str]:
    """The commands of a list that may not run yet, in the list's order, each once."""
    wanted = listed.commands
    if not wanted:
        return []
    allowed = approved(here)
    return [command for command in wanted if command not in allowed]


def _place(here: Shelf) -> str:
    return os.path.join(here.folder, "approved.json")


def _identity(root: str, *, is_dated: bool = True) -> str:
    """What a folder keeps when it is renamed, and another one in its place does not have: its number and,
    because a file system gives the number of a removed folder to a new one, when it was made. One that
    `is_dated` is asked again: on a machine under load it was seen to say nothing once."""
    found = ""
    for left in range(_LOOKS - 1, -1, -1):
        try:
            born = _made_at(root)
            found = "%d.%s" % (os.stat(root).st_ino, born)
        except FileNotFoundError:
            return ""
        except OSError:
            born = ""
        if born or not is_dated or not left:
            break
        time.sleep(_PAUSE_S)
    return found


def _made_at(path: str) -> str:
    """The time of birth as the system tells it, which `os.stat` does not on Linux; empty if nobody can."""
    birth = getattr(os.stat(path), "st_birthtime", None)
    if birth is not None:
        return "%r" % birth
    try:
        import ctypes

        answer = ctypes.create_string_buffer(256)  # struct statx
        failed = ctypes.CDLL(None).statx(-100, os.fsencode(path), 0, 0x800, answer)
    except (ImportError, OSError, AttributeError):
        return ""
    data = answer.raw
    told = int.from_bytes(data[0:4], sys.byteorder) & 0x800
    return data[80:92].hex() if not failed and told else ""


def why_void(here: Shelf) -> str:
    """Why no approval counts here, and the cure; empty where they do."""
    return "; ".join(filter(None, void(here)))


def void(here: Shelf) -> tuple[str, str]:
    """What keeps approvals from counting here, and what to do about it; both empty where they do."""
    top = _around(here)
    if not top:
        return "", ""
    git = os.path.join(top, ".git")
    is_repository = os.path.exists(git)
    where = "the repository of %s, as the project does" % git if is_repository else "the project"
    told = "the state directory %s lies inside %s, so approvals in it do not count" % (here.home, where)
    cure = "move it out of %s and set XDG_STATE_HOME to its new place" % top
    return told, cure + (", or take that .git away" if is_repository else "")


def is_within_reach(here: Shelf) -> bool:
    """Whether the state directory lies in the project or in the repository around it: what is there may have
    come with it. Only the place in the person's own home is beyond doubt, for those who work there."""
    return bool(_around(here))


def _around(here: Shelf) -> str:
    """The project, or the topmost repository around it, if the state directory lies in it too."""
    if here.home == os.path.join(_own_home(), ".local", "state", "ralphloop"):
        return ""
    top = folder = here.root
    while folder != os.path.dirname(folder):
        if os.path.exists(os.path.join(folder, ".git")):
            top = folder
        folder = os.path.dirname(folder)
    return top if files.inside(here.home, top) else ""


def _own_home() -> str:
    """As the system knows it: a project's settings can set HOME."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return ""
