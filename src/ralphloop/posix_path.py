"""Paths without `os`: the functions of `os.path` that the hot path uses, for POSIX."""

from __future__ import annotations

from posix import environ, getcwd, lstat, readlink, stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_KIND = 0o170000
_FOLDER, _FILE, _LINK = 0o040000, 0o100000, 0o120000
_LINKS_MAX = 40  # as many as Linux follows


def join(path: str, *parts: str) -> str:
    for part in parts:
        if part.startswith("/"):
            path = part
        else:
            path += part if not path or path.endswith("/") else "/" + part
    return path


def split(path: str) -> tuple[str, str]:
    folder, slash, name = path.rpartition("/")
    return folder.rstrip("/") or folder + slash, name


def dirname(path: str) -> str:
    return split(path)[0]


def basename(path: str) -> str:
    return path.rpartition("/")[2]


def splitdrive(path: str) -> tuple[str, str]:
    return "", path


def isabs(path: str) -> bool:
    return path.startswith("/")


def normpath(path: str) -> str:
    # POSIX lets two leading slashes mean something else than one.
    lead = "" if not path.startswith("/") else "//" if path[1:2] == "/" != path[2:3] else "/"
    kept: list[str] = []
    for part in path.split("/"):
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part not in ("", ".", "..") or (part == ".." and not lead):
            kept.append(part)
    return lead + "/".join(kept) or "."


def abspath(path: str) -> str:
    return normpath(path if isabs(path) else join(getcwd(), path))


def realpath(path: str) -> str:
    """The path without links; what cannot be followed stays as it is."""
    left = (path if isabs(path) else join(getcwd(), path)).split("/")
    left.reverse()
    real, links = "", 0
    while left:
        part = left.pop()
        if part == "..":
            real = real.rpartition("/")[0]
        elif part not in ("", "."):
            here = real + "/" + part
            target = _target(here) if links < _LINKS_MAX else ""
            if not target:
                real = here
                continue
            links += 1
            real = "" if isabs(target) else real
            left.extend(reversed(target.split("/")))
    return real or "/"


def _target(path: str) -> str:
    try:
        return readlink(path)
    except (OSError, ValueError):
        return ""


def exists(path: str) -> bool:
    return _mode(path, stat) != 0


def lexists(path: str) -> bool:
    return _mode(path, lstat) != 0


def isfile(path: str) -> bool:
    return _mode(path, stat) & _KIND == _FILE


def isdir(path: str) -> bool:
    return _mode(path, stat) & _KIND == _FOLDER


def islink(path: str) -> bool:
    return _mode(path, lstat) & _KIND == _LINK


def _mode(path: str, look: Callable[[str], object]) -> int:
    try:
        return look(path).st_mode  # type: ignore[attr-defined, no-any-return]
    except (OSError, ValueError):
        return 0


def expanduser(path: str) -> str:
    """A leading `~` of the user's own; another user's is left as it is."""
    if path != "~" and not path.startswith("~/"):
        return path
    home = environ.get(b"HOME", b"").decode("utf-8", "surrogateescape")
    if not home:
        import pwd
        from posix import getuid

        home = pwd.getpwuid(getuid()).pw_dir
    return (home.rstrip("/") + path[1:]) or "/"
