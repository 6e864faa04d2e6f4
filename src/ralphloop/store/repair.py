"""Puts a damaged or lost task file back from its last good copy; what it replaces is kept."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.store import files
from ralphloop.tasklists.registry import own_file, traits

EXDEV = 18
NAME_MAX = 100  # of the name under which a rejected file is kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.store.loop import LoopFiles


def restore(loop: LoopFiles) -> str:
    """Put the last good copy back; the bad file stays beside the loop. The path that was restored."""
    role, path = traits(loop.record.layout).own, own_file(loop.record)
    good = files.read_text(os.path.join(loop.kept, role))
    if good is None:
        raise FileNotFoundError(role)
    if os.path.islink(path) and files.leads_out(path, loop.record.root):
        set_aside(loop, path)
    if not os.path.isdir(loop.record.root) or files.leads_out(path, loop.record.root):
        raise FileNotFoundError("%s is gone, or leads out of the project" % path)
    reject(loop, path)
    files.make_folder(os.path.dirname(path), below=loop.record.root)
    files.write_shared(path, good, root=loop.record.root)
    return path


def reject(loop: LoopFiles, path: str) -> str:
    """Keep what is about to be replaced; the name it is kept under, empty if there is nothing."""
    if not os.path.isfile(path):
        return ""
    bad = files.read_quietly(path)
    if bad is None:
        return set_aside(loop, path)
    place = _free_place(loop, path)
    files.write_text(place, bad)
    return os.path.basename(place)


def set_aside(loop: LoopFiles, path: str) -> str:
    """Move whatever is there, a folder or a link too, out of the way; the name it is kept under."""
    place = _free_place(loop, path)
    try:
        os.rename(path, place)
    except OSError as error:
        if error.errno != EXDEV:
            raise
        _move(path, place)
    return os.path.basename(place)


def _move(path: str, place: str) -> None:
    """From another file system nothing can be renamed."""
    import shutil

    shutil.move(path, place)


def _free_place(loop: LoopFiles, path: str) -> str:
    folder = loop.own_folder("rejected")
    begun = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    count = 1
    while True:
        place = os.path.join(folder, "%s-%d-%s" % (begun, count, os.path.basename(path)[-NAME_MAX:]))
        if not os.path.lexists(place):
            return place
        count += 1
