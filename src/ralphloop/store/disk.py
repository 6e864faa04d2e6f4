"""What the disk refuses, in one sentence with its cure; loaded only where it does."""

from __future__ import annotations

from ralphloop import errors
from ralphloop import system as os
from ralphloop.store import files, shelf

_FULL = (27, 28, 69, 122)  # EFBIG, ENOSPC, and EDQUOT of macOS and Linux
_READ_ONLY = 30


def refused(error: OSError) -> str:
    """Why nothing can be done here."""
    return str(error) if isinstance(error, errors.NewerError) else "cannot write (%s)" % sentence(error)


def sentence(error: OSError) -> str:
    """What is wrong, and what to do where that is known."""
    return "; ".join(filter(None, told(error)))


def told(error: OSError) -> tuple[str, str]:
    """Which path and what is wrong with it, and what to do, empty where that is not known."""
    path = os.path.realpath(error.filename) if isinstance(error.filename, str) else ""
    why = error.strerror or str(error)
    if isinstance(error, errors.NoLocksError):
        what = "%s cannot be locked (%s): no loop can run on a file system without locks" % (path, why)
        return what, "move the state directory to a local disk" + _SET
    if not path:
        return str(error), ""
    folder = _nearest(os.path.dirname(path))
    if error.errno in _FULL:
        return "%s: %s, with %s free in %s" % (path, why, _free(folder), folder), "make room there"
    if error.errno == _READ_ONLY or isinstance(error, PermissionError):
        return "%s: %s" % (path, why), "make %s writable for you%s" % (folder, _elsewhere(path))
    return "%s: %s" % (path, why), ""


_SET = " and set XDG_STATE_HOME to its new place"


def _elsewhere(path: str) -> str:
    """The other cure, of what lies in the state directory."""
    is_ours = files.inside(path, os.path.realpath(shelf.home(os.environ)))
    return ", or move the state directory" + _SET if is_ours else ""


def _nearest(folder: str) -> str:
    """The folder, or the first above it that there is."""
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def _free(folder: str) -> str:
    try:
        found = os.statvfs(folder)
    except (OSError, AttributeError):
        return "too little"
    return "%.1f MB" % (found.f_bavail * found.f_frsize / 1e6)
