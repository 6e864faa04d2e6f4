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
                if len(seen) > FILES_MAX:
                    raise OSError(f"more than {FILES_MAX} files to protect; name fewer")
                yield path


def _walk(root: str, top: str) -> Iterator[str]:
    start = os.path.join(root, top) if top else root
    is_ours = any((top + os.sep).startswith(never + os.sep) for never in NEVER)
    if is_ours or not files.inside(start, root):
        return
    if os.path.islink(start) or os.path.isfile(start):
        yield top
        return
    for folder, folders, names in os.walk(start):
        near = os.path.relpath(folder, root)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in BY_TOOLS and _join(near, name) not in NEVER]
        for name in links + names:
            if name not in BY_TOOLS and not name.endswith(".pyc"):
                yield _join(near, name)


def _plain(pattern: str) -> str:
    """The pattern relative to the project, empty if it can name nothing in there."""
    text = os.path.normpath(pattern.strip().replace("/", os.sep)) if pattern.strip() else ""
    if not files.is_path(text):
        return ""
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
    """Place by place: which parts of the pattern can end at each part of the path."""
    reached = _past_any({0}, globs)
    for part in parts:
        if len(globs) in reached:
            return True
        after = set()
        for at in reached:
            if globs[at] == "**":
                after.add(at if at + 1 < len(globs) else at + 1)
            elif fnmatch.fnmatchcase(part, globs[at]):
                after.add(at + 1)
        reached = _past_any(after, globs)
    return len(globs) in reached


def _past_any(reached: set[int], globs: list[str]) -> set[int]:
    """`**` may stand for no folder at all, but for the last one."""
    found = set(reached)
    for at in range(len(globs) - 1):
        if at in found and globs[at] == "**":
            found.add(at + 1)
    return found


def _join(folder: str, name: str) -> str:
    return name if folder == os.curdir else os.path.join(folder, name)
