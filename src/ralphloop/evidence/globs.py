"""Which files of a folder a pattern names."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator

from ralphloop.store import files

FILES_MAX = 20_000
NEVER = (".git", os.path.join(".ralph", "run"))
# What tools leave behind when they run is no attempt to get around a test.
BY_TOOLS = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store", "node_modules")


def matching(folder: str, patterns: Iterable[str]) -> Iterator[str]:
    """Paths below the folder that a pattern names; a folder's name stands for all that is in it. Links are
    named and not followed."""
    globs = [glob for glob in map(_plain, patterns) if glob]
    seen: set[str] = set()
    for top in {_literal(glob) for glob in globs}:
        for path in _walk(folder, top):
            if path not in seen and any(matches(path, glob) for glob in globs):
                seen.add(path)
                yield path


def _walk(root: str, top: str) -> Iterator[str]:
    start = os.path.join(root, top) if top else root
    is_ours = any((top + os.sep).startswith(never + os.sep) for never in NEVER)
    if is_ours or not files.inside(start, root):
        return
    if os.path.islink(start) or os.path.isfile(start):
        yield top
        return
    count = 0
    for folder, folders, names in os.walk(start):
        near = os.path.relpath(folder, root)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in BY_TOOLS and _join(near, name) not in NEVER]
        count += len(names)
        if count > FILES_MAX:
            raise OSError(f"more than {FILES_MAX} files below {start} to protect; name fewer")
        for name in links + names:
            if name not in BY_TOOLS and not name.endswith(".pyc"):
                yield _join(near, name)


def _plain(pattern: str) -> str:
    """The pattern relative to the project, empty if it can name nothing in there."""
    text = os.path.normpath(pattern.strip().replace("/", os.sep)) if pattern.strip() else ""
    return "" if not text or os.path.isabs(text) or text.split(os.sep)[0] == os.pardir else text


def _literal(glob: str) -> str:
    """The part of a pattern before its first wildcard, as a folder or a file."""
    parts = []
    for part in glob.split(os.sep):
        if any(char in part for char in "*?["):
            break
        parts.append(part)
    return "" if parts == [os.curdir] else os.sep.join(parts)


def matches(path: str, glob: str) -> bool:
    """`*` stays within a folder, `**` goes through any, and a folder's own name is all that is in it."""
    return glob == os.curdir or _match(path.split(os.sep), glob.split(os.sep))


def _match(parts: list[str], globs: list[str]) -> bool:
    if not globs:
        return True
    if globs[0] == "**":
        return any(_match(parts[at:], globs[1:]) for at in range(len(parts))) if globs[1:] else bool(parts)
    return bool(parts) and fnmatch.fnmatchcase(parts[0], globs[0]) and _match(parts[1:], globs[1:])


def _join(folder: str, name: str) -> str:
    return name if folder == os.curdir else os.path.join(folder, name)
