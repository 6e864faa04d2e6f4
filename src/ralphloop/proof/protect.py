"""Files that the agent must leave as they were: kept at the start, put back before a claim is judged."""

from __future__ import annotations

import fnmatch
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ralphloop import errors
from ralphloop.domain import jsontext
from ralphloop.proof.tree import digest_of
from ralphloop.store import files, pins, repair
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import layout as layout_of
from ralphloop.tasklists.registry import traits

FILES_MAX = 20_000
CRITERIA = "criteria"  # in the place of a glob: every file that judges
SEARCH_S = 0.5  # for the criteria of a project that are told, and not protected
NEVER = (".git", os.path.join(".ralph", "run"))
# What tools leave behind when they run is no attempt to get around a test.
BY_TOOLS = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store", "node_modules")
KEPT_MAX = 20 * 1024 * 1024  # bytes of one file; of a larger one only the digest is kept
CHANGED, REMOVED, ADDED = "changed", "removed", "added"
_LINK = "link:"


class Touched(NamedTuple):
    path: str
    what: str
    restored: bool


class Protected:
    """The pinned files of one loop, compared with a folder."""

    def __init__(self, loop: LoopFiles, folder: str) -> None:
        self._loop = loop
        self._folder = folder
        # the loop's own files are the agent's to edit
        self._own = {os.path.relpath(path, loop.record.root) for path in loop.record.paths.values()}
        self._place = os.path.join(loop.kept, "protected.json")
        self._known = self._load()

    def _load(self) -> dict[str, Any] | None:
        try:
            known = jsontext.parse_object(files.read_quietly(self._place) or "")
        except ValueError:
            return None
        return known if _is_sound(known) else None

    @property
    def pinned(self) -> bool:
        return self._known is not None

    def snapshot(self, patterns: Iterable[str]) -> dict[str, str]:
        """The files that the patterns name, with their digests; of a link also what it leads to."""
        found: dict[str, str] = {}
        for path in self._matching(patterns):
            for one in (path, self._target(path)):
                digest = self._digest(one) if one else None
                if digest is not None:
                    found[one] = digest
        return found

    def _matching(self, patterns: Iterable[str]) -> Iterator[str]:
        return (path for path in matching(self._folder, patterns) if path not in self._own)

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
            raise errors.ProtectedChangedError
        kept = {path: [digest, self._keep(path, digest), self._size(path)] for path, digest in found.items()}
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
        for path, (digest, _, size) in pinned.items():
            # The size first: a file can be made so large that reading it takes all of the time.
            now = self._digest(path) if self._size(path) == size else ""
            if now != digest:
                gone = not os.path.lexists(os.path.join(self._folder, path))
                found.append(Touched(path, REMOVED if gone else CHANGED, False))
        new = [path for path in self._matching(self._known["patterns"]) if path not in pinned]
        return found + [Touched(path, ADDED, False) for path in new if self._is_file(path)]

    def put_back(self) -> list[Touched]:
        """Restore what was changed or removed, and take out what was added; what it was."""
        touched = []
        for entry in self.differing():
            try:
                done = self._put_back(entry)
            except OSError:
                done = False  # it cannot be put back by us: the claim is refused all the same
            touched.append(entry._replace(restored=done))
        if touched:
            self._loop.journal("protected", files=[f"{entry.path} ({entry.what})" for entry in touched])
        return touched

    def _put_back(self, entry: Touched) -> bool:
        if entry.what == ADDED:
            return self._take_out(entry.path)
        digest, mode, _ = (self._known or {})["files"][entry.path]
        return self._restore(entry.path, digest, mode)

    def _size(self, path: str) -> int:
        try:
            return os.lstat(os.path.join(self._folder, path)).st_size
        except OSError:
            return -1

    def _is_file(self, path: str) -> bool:
        """A pipe or a socket has no content to be protected."""
        place = os.path.join(self._folder, path)
        return os.path.islink(place) or os.path.isfile(place)

    def _digest(self, path: str) -> str | None:
        """What a file or link is, and the folder that links on the way to it lead to."""
        place = os.path.join(self._folder, path)
        if os.path.islink(place):
            return _LINK + os.readlink(place)
        content = digest_of(place)
        near = os.path.relpath(os.path.realpath(os.path.dirname(place)), os.path.realpath(self._folder))
        led = near != os.path.normpath(os.path.dirname(path))
        return content and (f"{content}@{near}" if led else content)

    def _keep(self, path: str, digest: str) -> int:
        """A copy by its digest; the file's mode, 0 if it is too large to be kept."""
        place = os.path.join(self._folder, path)
        if digest.startswith(_LINK):
            return 0
        stat = os.stat(place)
        if stat.st_size > KEPT_MAX:
            return 0
        copy = self._copy(digest)
        if not os.path.exists(copy):
            files.make_folder(os.path.dirname(copy))
            with open(place, "rb") as file:
                files.write_bytes(copy, file.read())
        if digest_of(copy) != _content(digest):
            os.unlink(copy)
            raise errors.ProtectedChangedError
        return stat.st_mode & 0o777

    def _copy(self, digest: str) -> str:
        return os.path.join(self._loop.kept, "protected", _content(digest))

    def _restore(self, path: str, digest: str, mode: int) -> bool:
        """Put a file or link back as it was; False if that cannot be done."""
        is_link = digest.startswith(_LINK)
        if not is_link and (not mode or digest_of(self._copy(digest)) != _content(digest)):
            return False
        place = os.path.join(self._folder, path)
        self._clear_the_way(path, through_links=not is_link and "@" in digest)
        if not files.inside(os.path.dirname(place), self._folder):
            return False
        files.make_folder(os.path.dirname(place), below=self._folder)
        if is_link:
            os.symlink(digest[len(_LINK) :], place)
            return True
        with open(self._copy(digest), "rb") as file:
            files.write_bytes(place, file.read())
        os.chmod(place, mode)
        return True

    def _clear_the_way(self, path: str, *, through_links: bool) -> None:
        """Set aside what stands in the file's place, and what has become of the folders above it."""
        place = self._folder
        *above, name = path.split(os.sep)
        for part in above:
            place = os.path.join(place, part)
            if os.path.lexists(place) and (
                not os.path.isdir(place) or (os.path.islink(place) and not through_links)
            ):
                repair.set_aside(self._loop, place)
        place = os.path.join(place, name)
        if os.path.lexists(place):
            repair.set_aside(self._loop, place)

    def _take_out(self, path: str) -> bool:
        place = os.path.join(self._folder, path)
        if not os.path.lexists(place) or not files.inside(os.path.dirname(place), self._folder):
            return False
        repair.set_aside(self._loop, place)
        return True


def _is_sound(known: dict[str, Any]) -> bool:
    """Whether the file is one that `pin` wrote."""
    patterns, pinned = known.get("patterns"), known.get("files")
    if not isinstance(patterns, list) or not isinstance(pinned, dict):
        return False
    whole = all(isinstance(row, list) and list(map(type, row)) == [str, int, int] for row in pinned.values())
    return whole and all(isinstance(pattern, str) for pattern in patterns)


def _content(digest: str) -> str:
    return digest.partition("@")[0]


def patterns_of(loop: LoopFiles, *, extra: Sequence[str] = ()) -> list[str]:
    """The `protect` globs of a loop's list as it was pinned."""
    record = loop.record
    texts = {traits(record.layout).criteria: pins.pinned(loop)}
    return patterns_in(record.layout, texts, root=record.root, extra=extra)


def patterns_in(
    layout: str, texts: Mapping[str, str | None], *, root: str, extra: Sequence[str] = ()
) -> list[str]:
    """The globs that a list names in these texts. Where it names the criteria, also those that the person's
    settings add to them, and the scripts in its checks that judge."""
    listed = layout_of(layout)
    said = listed.protect(texts)
    if CRITERIA not in said:
        return said
    from ralphloop.proof import criteria

    scripts = criteria.named_by(listed.parse(texts).commands, reader(root), criteria.table(extra))
    return [*said, *extra, *(re.sub(r"([*?[])", r"[\1]", path) for path in sorted(scripts))]


def reader(folder: str) -> Callable[[str], str | None]:
    """How the text of a file below the folder is read, by its path; None where there is no such file."""

    def read(path: str) -> str | None:
        place = os.path.join(folder, path)
        is_near = os.path.isfile(place) and files.inside(place, folder)
        return files.read_quietly(place) if is_near and os.path.getsize(place) <= KEPT_MAX else None

    return read


def pin(loop: LoopFiles, folder: str, *, extra: Sequence[str] = ()) -> int:
    """Keep the protected files as they are now; one that is being written gets a second look."""
    protected, patterns = Protected(loop, folder), patterns_of(loop, extra=extra)
    try:
        return protected.pin(patterns)
    except errors.ProtectedChangedError:
        return protected.pin(patterns)


def matching(folder: str, patterns: Iterable[str]) -> Iterator[str]:
    """Paths below the folder that a pattern names; a folder's name stands for all that is in it. Links are
    named and not followed."""
    named = list(patterns)
    globs = [glob for glob in map(_plain, [one for one in named if one != CRITERIA]) if glob]
    seen: set[str] = set()
    for path in chain(criteria_in(folder) if CRITERIA in named else (), _named(folder, globs)):
        if path not in seen:
            seen.add(path)
            if len(seen) > FILES_MAX:
                raise OSError(f"more than {FILES_MAX} files to protect; name fewer")
            yield path


def _named(folder: str, globs: Sequence[str]) -> Iterator[str]:
    for top in {_literal(glob) for glob in globs}:
        for path in _walk(folder, top):
            if any(matches(path, glob) for glob in globs):
                yield path


def criteria_in(folder: str, extra: Sequence[str] = (), *, within_s: float | None = None) -> Iterator[str]:
    """The files below the folder that judge, as far as they are found in this time; what tools made, and what
    is somebody else's, is not looked into."""
    from ralphloop.proof import criteria

    table = criteria.table(tuple(extra))
    until = None if within_s is None else time.monotonic() + within_s
    for path in _walk(folder, "", others=table.others):
        if until is not None and time.monotonic() > until:
            return
        if table.judges(path.replace(os.sep, "/")):
            yield path


def _walk(root: str, top: str, *, others: frozenset[str] = frozenset()) -> Iterator[str]:
    """`others` are folders that are not looked into, and with them any virtual environment."""
    start = os.path.join(root, top) if top else root
    is_ours = any((top + os.sep).startswith(never + os.sep) for never in NEVER)
    if is_ours or not files.inside(start, root):
        return
    if os.path.islink(start) or os.path.isfile(start):
        yield top
        return
    for folder, folders, names in os.walk(start):
        near = os.path.relpath(folder, root)
        if others and "pyvenv.cfg" in names and near != os.curdir:
            folders[:] = names[:] = []
        folders[:] = [name for name in folders if name not in others]
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
