"""Files that the agent must leave as they were: kept at the start, put back before a claim is judged."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.evidence.tree import digest_of
from ralphloop.store import files, pins, repair
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import layout as layout_of

KEPT_MAX = 20 * 1024 * 1024  # bytes of one file; of a larger one only the digest is kept
FILES_MAX = 20_000
CHANGED, REMOVED, ADDED = "changed", "removed", "added"
NEVER = (".git", os.path.join(".ralph", "run"))
# What tools leave behind when they run is no attempt to get around a test.
BY_TOOLS = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store", "node_modules")


class Touched(NamedTuple):
    path: str
    what: str
    restored: bool


class ChangedError(Exception):
    """A file changed after it was looked at."""


class Protected:
    """The pinned files of one loop, compared with a folder."""

    def __init__(self, loop: LoopFiles, folder: str) -> None:
        self._loop = loop
        self._folder = folder
        self._place = os.path.join(loop.kept, "protected.json")
        self._known = self._load()

    def _load(self) -> dict[str, Any] | None:
        try:
            return jsontext.parse_object(files.read_quietly(self._place) or "")
        except ValueError:
            return None

    @property
    def pinned(self) -> bool:
        return self._known is not None

    def snapshot(self, patterns: Iterable[str]) -> dict[str, str]:
        """The files that the patterns name, with their digests; of a link also what it leads to."""
        found: dict[str, str] = {}
        for path in matching(self._folder, patterns):
            for one in (path, self._target(path)):
                digest = self._digest(one) if one else None
                if digest is not None:
                    found[one] = digest
        return found

    def _target(self, path: str) -> str:
        """What a link in the project leads to in the project; empty if it is none."""
        place = os.path.join(self._folder, path)
        if not os.path.islink(place) or not files.inside(place, self._folder):
            return ""
        return os.path.relpath(os.path.realpath(place), os.path.realpath(self._folder))

    def pin(self, patterns: Iterable[str], *, seen: Mapping[str, str] | None = None) -> int:
        """Keep a copy of every file that the patterns name, how many there are; with `seen`, only if they
        are still as they were seen."""
        globs = list(patterns)
        found = self.snapshot(globs)
        if seen is not None and found != seen:
            raise ChangedError
        kept = {path: [digest, self._keep(path, digest)] for path, digest in found.items()}
        self._known = {"patterns": globs, "files": kept}
        files.make_folder(self._loop.kept)
        files.write_text(self._place, jsontext.render(self._known) + "\n", durable=True)
        return len(kept)

    def differing(self) -> list[Touched]:
        """What is not as it was pinned; nothing is touched."""
        if self._known is None or not self._known["patterns"]:
            return []
        pinned: dict[str, list[Any]] = self._known["files"]
        found = []
        for path, (digest, _) in pinned.items():
            now = self._digest(path)
            if now != digest:
                found.append(Touched(path, REMOVED if now is None else CHANGED, False))
        new = [path for path in matching(self._folder, self._known["patterns"]) if path not in pinned]
        return found + [Touched(path, ADDED, False) for path in new]

    def put_back(self) -> list[Touched]:
        """Restore what was changed or removed, and take out what was added; what it was."""
        touched = []
        for entry in self.differing():
            if entry.what == ADDED:
                done = self._take_out(entry.path)
            else:
                digest, mode = (self._known or {})["files"][entry.path]
                done = self._restore(entry.path, digest, mode)
            touched.append(entry._replace(restored=done))
        if touched:
            self._loop.journal("protected", files=[f"{entry.path} ({entry.what})" for entry in touched])
        return touched

    def _digest(self, path: str) -> str | None:
        place = os.path.join(self._folder, path)
        if os.path.islink(place):
            return "link:" + os.readlink(place)
        return digest_of(place)

    def _keep(self, path: str, digest: str) -> int:
        """A copy by its digest; the file's mode, 0 if it is too large to be kept."""
        place = os.path.join(self._folder, path)
        if digest.startswith("link:"):
            return 0
        stat = os.stat(place)
        if stat.st_size > KEPT_MAX:
            return 0
        copy = self._copy(digest)
        if not os.path.exists(copy):
            files.make_folder(os.path.dirname(copy))
            with open(place, "rb") as file:
                files.write_bytes(copy, file.read())
        if digest_of(copy) != digest:
            os.unlink(copy)
            raise ChangedError
        return stat.st_mode & 0o777

    def _copy(self, digest: str) -> str:
        return os.path.join(self._loop.kept, "protected", digest)

    def _restore(self, path: str, digest: str, mode: int) -> bool:
        place = os.path.join(self._folder, path)
        folder = os.path.dirname(place)
        if digest_of(self._copy(digest)) != digest or not mode or not files.inside(folder, self._folder):
            return False
        repair.reject(self._loop, place)
        files.make_folder(folder)
        if os.path.isdir(place) and not os.path.islink(place):
            return False
        with open(self._copy(digest), "rb") as file:
            files.write_bytes(place, file.read())
        os.chmod(place, mode)
        return True

    def _take_out(self, path: str) -> bool:
        place = os.path.join(self._folder, path)
        if not files.inside(os.path.dirname(place), self._folder):
            return False
        repair.reject(self._loop, place)
        os.unlink(place)
        return True


def matching(folder: str, patterns: Iterable[str]) -> Iterator[str]:
    """Paths below the folder that a pattern names; a folder's name stands for all that is in it."""
    globs = [glob for glob in map(_plain, patterns) if glob]
    seen: set[str] = set()
    for top in {_literal(glob) for glob in globs}:
        for path in _walk(folder, top):
            if path not in seen and any(matches(path, glob) for glob in globs):
                seen.add(path)
                yield path


def _walk(root: str, top: str) -> Iterator[str]:
    start = os.path.join(root, top) if top else root
    if not files.inside(start, root):
        return
    if os.path.islink(start) or os.path.isfile(start):
        yield top
        return
    count = 0
    for folder, folders, names in os.walk(start):
        near = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if name not in BY_TOOLS and _join(near, name) not in NEVER]
        count += len(names)
        if count > FILES_MAX:
            raise OSError(f"more than {FILES_MAX} files below {start} to protect; name fewer")
        for name in names:
            if name not in BY_TOOLS and not name.endswith(".pyc"):
                yield _join(near, name)


def patterns_of(loop: LoopFiles) -> list[str]:
    """The `protect` globs of a loop's list as it was pinned."""
    return patterns_in(loop.record.layout, {pins.role_of(loop.record.layout): pins.pinned(loop)})


def patterns_in(layout: str, texts: Mapping[str, str | None]) -> list[str]:
    """The globs that a list names in these texts."""
    return layout_of(layout).protect(texts)


def pin(loop: LoopFiles, folder: str) -> int:
    """Keep the protected files as they are now."""
    return Protected(loop, folder).pin(patterns_of(loop))


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
