"""Which commands the person on this machine allowed to run in a project: outside of it, by exact text."""

from __future__ import annotations

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


def approved(here: Shelf) -> frozenset[str]:
    """The commands that may run in this project, if it still is the folder that they were approved for."""
    known = _load(here)
    if known.get("folder") != _identity(here.root) or _is_within_reach(here):
        return frozenset()
    commands = known.get("commands")
    return frozenset(commands if isinstance(commands, dict) else ())


def approve(here: Shelf, commands: Iterable[str], *, by: str) -> None:
    """Add to what may run; what was approved for another folder of this name is forgotten."""
    with here.lock():
        known = approved(here)
        old = _load(here).get("commands") if known else None
        entries: dict[str, Any] = dict(old) if isinstance(old, dict) else {}
        now = iso(time.time())
        for command in commands:
            entries.setdefault(command, {"at": now, "by": by})
        data = {"folder": _identity(here.root), "commands": entries}
        files.write_text(_place(here), jsontext.render(data) + "\n", durable=True)


def unapproved(here: Shelf, listed: TaskList) -> list[str]:
    """The commands of a list that may not run yet, in the list's order, each once."""
    wanted = dict.fromkeys(command for task in listed.tasks for command in task.verify)
    if not wanted:
        return []
    allowed = approved(here)
    return [command for command in wanted if command not in allowed]


def _place(here: Shelf) -> str:
    return os.path.join(here.folder, "approved.json")


def _load(here: Shelf) -> dict[str, Any]:
    try:
        return jsontext.parse_object(files.read_quietly(_place(here)) or "{}")
    except ValueError:
        return {}


def _identity(root: str) -> str:
    """What a folder keeps when it is renamed, and another one in its place does not have."""
    try:
        return "%d" % os.stat(root).st_ino
    except OSError:
        return ""


def _is_within_reach(here: Shelf) -> bool:
    """Whether the state directory was moved into the project: what lies there may have come with it. Who
    works in the home folder itself has it there anyway."""
    if not files.inside(here.folder, here.root):
        return False
    return not files.inside(os.path.expanduser("~"), here.root)
