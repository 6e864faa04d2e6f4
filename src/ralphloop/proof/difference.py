"""What is not as it was at the start, in a work tree and in the repositories in it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ralphloop import errors
from ralphloop.proof import criteria, repository
from ralphloop.proof.look import Kept, Look, first
from ralphloop.proof.protect import BY_TOOLS
from ralphloop.proof.repository import Repository
from ralphloop.proof.worktree import Git
from ralphloop.store import files

ADDED, CHANGED, REMOVED = "added", "changed", "removed"
GITLINK = "160000"
RENAMES_MAX = 1_000
LINES_MAX, BYTES_MAX = 50_000, 16_000_000  # of added lines: of one file; characters of all
DIFFED_MAX = 64_000_000  # bytes of files that are compared at once
HIDDEN_MAX = 5_000  # files in folders that are ignored
BINARY_LINES = 100  # by which one is known


class Change(NamedTuple):
    """One path that is not as at the start."""

    path: str
    kind: str
    old: str
    new: str


class Since(NamedTuple):
    tree: str
    changes: tuple[Change, ...]
    renamed: dict[str, str]  # removed -> added
    hidden: tuple[str, ...]  # ignored one by one, and younger than the start
    head: str
    branch: str
    top: str
    config: dict[str, str]
    exclude: str
    overlooked: tuple[str, ...]
    large: tuple[str, ...] = ()  # files that were too large to be read


class Comparison:
    """What has been found so far. `kept` are the work trees of the start, under their prefixes, `large` the
    files in them that were too large to be read."""

    def __init__(
        self, kept: Mapping[str, Kept], at: float, *, large: Sequence[str], home: str, scratch: str
    ) -> None:
        self.changes: dict[str, Change] = {}
        self.renamed: dict[str, str] = {}
        self.hidden: list[str] = []
        self.large: list[str] = []  # files that are there and were not read
        self._kept, self._at, self._left = kept, at, large
        self._home, self._scratch = home, scratch
        self._others = [one.objects for one in kept.values()]

    def note(self, change: Change) -> None:
        """A path that leaves one repository for another is neither removed nor added."""
        before = self.changes.get(change.path)
        if before is None or {before.kind, change.kind} != {ADDED, REMOVED}:
            self.changes[change.path] = change
            return
        old, new = before.old or change.old, before.new or change.new
        self.changes[change.path] = Change(change.path, CHANGED, old, new)
        if old == new:
            del self.changes[change.path]

    def compare(self, look: Look, *, prefix: str) -> str:
        """Note what differs in this work tree and in those in it; its tree."""
        known = self._known(prefix)
        index, inside, now = self.taken(look, prefix)
        below = {path: look.below(path) for path in inside}
        self._differences(look, self._base(look), now, prefix=prefix)
        self._note_large(look, prefix)
        self._hide(look, index, prefix)
        for path, place in below.items():
            if place is not None:
                self._inside(look, f"{prefix}{path}/", place)
        for name in known:
            if below.get(name[len(prefix) : -1]) is None:
                self._lose(look, name)
        return now

    def taken(self, look: Look, prefix: str) -> tuple[str, list[str], str]:
        """The index of the start with all that is there now, the repositories in it, and its tree."""
        index = self._copy(look)
        leave = [path[len(prefix) :] for path in self._left_in(prefix)]
        inside = look.add_all(index, self._known(prefix), leave=leave)
        return index, inside, look.git().out("write-tree", "--missing-ok", index=index)

    def _known(self, prefix: str) -> list[str]:
        """The repositories of the start that lie in this one and in no other."""
        return [name for name in self._kept if name and self._parent(name) == prefix]

    def _left_in(self, prefix: str) -> list[str]:
        """Those that were too large at the start, of this repository."""
        inner = self._known(prefix)
        left = [path for path in self._left if path.startswith(prefix)]
        return [path for path in left if not path.startswith(tuple(inner))]

    def _note_large(self, look: Look, prefix: str) -> None:
        """A file that is too large to be read has changed if it is younger than the start."""
        now = [prefix + path for path in look.large]
        left = self._left_in(prefix)
        self.large += now
        for path in now:
            if path not in left:
                self.note(Change(path, ADDED, "", ""))
            elif changed_at(os.path.join(look.place.top, path[len(prefix) :])) > self._at:
                self.note(Change(path, CHANGED, "", ""))
        for path in left:
            if not os.path.lexists(os.path.join(look.place.top, path[len(prefix) :])):
                self.note(Change(path, REMOVED, "", ""))

    def _copy(self, look: Look) -> str:
        """The index of the start, which knows again what was only touched since."""
        index = self._spare("index")
        if os.path.exists(look.index):
            shutil.copy2(look.index, index)
            look.git(*self._others, look.place.objects).run("update-index", "-q", "--refresh", index=index)
        return index

    def _spare(self, name: str) -> str:
        return os.path.join(self._scratch, f"{name}-{len(files.names(self._scratch))}")

    def _parent(self, name: str) -> str:
        """The innermost repository that this one lies in."""
        return max((other for other in self._kept if name.startswith(other) and name != other), key=len)

    def _base(self, look: Look) -> str:
        """The tree at the start, which is written when it is first asked for."""
        place = look.index + ".tree"
        known = files.read_quietly(place)
        if known:
            return known
        index = self._spare("base")
        if os.path.exists(look.index):
            shutil.copy2(look.index, index)
        found = look.git().out("write-tree", "--missing-ok", index=index)
        files.write_text(place, found)
        return found

    def _differences(self, look: Look, base: str, now: str, *, prefix: str) -> None:
        words = ("diff-tree", "-r", "-z", "--raw", "-M", f"-l{RENAMES_MAX}", "--no-ext-diff", base, now)
        rows = iter(look.git(*self._others, look.place.objects).out(*words).split("\0"))
        for row in rows:
            if not row.startswith(":"):
                continue
            old_mode, mode, old, new, kind = row[1:].split(" ")
            path = prefix + next(rows)
            target = prefix + next(rows) if kind[0] in "RC" else ""
            if GITLINK in (old_mode, mode):
                continue  # what is in it is looked at itself
            old, new = old.strip("0") and old, new.strip("0") and new
            if target:
                self.renamed[path] = target
                self.note(Change(path, REMOVED, old, ""))
                self.note(Change(target, ADDED, "", new))
            else:
                self.note(Change(path, {"A": ADDED, "D": REMOVED}.get(kind, CHANGED), old, new))

    def _hide(self, look: Look, index: str, prefix: str) -> None:
        """What is ignored by name, or lies right in a folder that is, unless a build made that."""
        words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        looked = 0
        for path in look.git().out(*words, index=index).split("\0"):
            names = [path]
            if path.endswith("/"):
                near = [] if _is_made(path) else files.names(os.path.join(look.place.top, path))
                names = [path + name for name in near[: HIDDEN_MAX - looked]]
                looked += len(names)
            for name in filter(None, names):
                full = os.path.join(look.place.top, name)
                if changed_at(full) > self._at and (name == path or not os.path.isdir(full)):
                    self.hidden.append(prefix + name)

    def _inside(self, look: Look, prefix: str, place: Repository) -> None:
        """One that came after the start began empty: everything in it is new."""
        known = self._kept.get(prefix)
        spare = os.path.relpath(self._spare("new"), look.folder)
        every = repository.settings(place)
        kept = known or first(place, spare, every=every, folder=look.folder, home=self._home)
        self._others.append(place.objects)
        self.compare(look.over(kept, place), prefix=prefix)

    def _lose(self, look: Look, name: str) -> None:
        """A repository is no longer one: what was in it is gone, unless it was found elsewhere."""
        for prefix in (prefix for prefix in self._kept if prefix.startswith(name)):
            own = look.over(self._kept[prefix], look.place)
            for row in own.git().out("ls-files", "-z", "--stage").split("\0"):
                about, _, path = row.partition("\t")
                if path and not about.startswith(GITLINK):
                    self.note(Change(prefix + path, REMOVED, about.split(" ")[1], ""))


def _is_made(folder: str) -> bool:
    """Whether tools or a build made it, by the name of a folder above or its own."""
    others = {*criteria.sections()["others"], *criteria.sections()["folders of builds"], *BY_TOOLS, ".ralph"}
    parts = folder.rstrip("/").split("/")
    return not others.isdisjoint(parts) or any(re.match(r"(?:cmake-)?build\b", part) for part in parts)


def changed_at(path: str) -> float:
    """By the clock of the file system, which nobody but the system sets."""
    try:
        return os.lstat(path).st_ctime
    except OSError:
        return 0.0


def overlooked(look: Look, kept: Mapping[str, Kept], index: str) -> tuple[str, ...]:
    """What git is told not to look at now; an index that cannot be read hides nothing from us."""
    found: list[str] = []
    for prefix, one in kept.items():
        place = look.below(prefix[:-1]) if prefix else look.place
        if place is not None:
            with contextlib.suppress(OSError, ValueError, errors.GitError):
                found += [prefix + path for path in look.over(one, place).copy_index(index)[0]]
    return tuple(found)


class Added(NamedTuple):
    """The lines that files have now and had not."""

    lines: dict[str, list[tuple[int, str]]]
    left_out: tuple[str, ...] = ()  # files of which not all was read


def lines(look: Look, others: Sequence[str], since: Since, paths: Iterable[str]) -> Added:
    """Of these files in this order, while there is room: of a renamed one against what it was before."""
    known = {change.path: change for change in since.changes}
    before = {new: known[old].old for old, new in since.renamed.items()}
    pairs = [
        Pair(path, known[path].old or before.get(path, ""), known[path].new)
        for path in dict.fromkeys(paths)
        if path in known and known[path].new
    ]
    found, left_out, room = {}, {pair.path for pair in pairs}, BYTES_MAX
    with contextlib.suppress(OSError, errors.GitError):
        for some in _portions(look.git(*others), pairs):
            for path, added in _added(look, others, some).items():
                size = sum(len(text) + 1 for _, text in added)
                if size <= room:
                    found[path], room = added[:LINES_MAX], room - size
                    left_out -= {path} if len(added) <= LINES_MAX else set()
    return Added(found, tuple(pair.path for pair in pairs if pair.path in left_out))


class Pair(NamedTuple):
    """What was in a file, nothing if it is new, and what is."""

    path: str
    old: str
    new: str


def _portions(git: Git, pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """As many at once as fit into memory, without those that do not; what is lost by now was never there."""
    sizes = _sizes(git, [one for pair in pairs for one in (pair.old, pair.new) if one])
    some: list[Pair] = []
    held = 0
    for pair in pairs:
        size = sizes.get(pair.old, 0) + sizes.get(pair.new, DIFFED_MAX)
        if some and held + size > DIFFED_MAX:
            yield some
            some, held = [], 0
        if size < DIFFED_MAX:
            some.append(pair if pair.old in sizes else pair._replace(old=""))
            held += size
    if some:
        yield some


def _sizes(git: Git, ids: list[str]) -> dict[str, int]:
    rows = (row.split(" ") for row in git.out("cat-file", "--batch-check", stdin="\n".join(ids)).split("\n"))
    return {row[0]: int(row[2]) for row in rows if row[1:2] == ["blob"]}


def _added(look: Look, others: Sequence[str], pairs: Sequence[Pair]) -> dict[str, list[tuple[int, str]]]:
    """By one git for all: in two trees of ours each pair has a number for its name. Their contents are text,
    whatever attributes say; none of a binary one."""
    trees = [_tree(look, [one.old for one in pairs]), _tree(look, [one.new for one in pairs])]
    words = ("diff-tree", "-p", "--unified=0", "--text", "--no-renames", "--no-color", "--no-ext-diff",
             "--no-textconv", "--src-prefix=", "--dst-prefix=")  # fmt: skip
    found: dict[str, list[tuple[int, str]]] = {one.path: [] for one in pairs}
    rows: list[tuple[int, str]] = []
    number = 0
    for row in look.git(*others).out(*words, *trees).split("\n"):
        if row.startswith("diff --git "):
            rows, number = found[pairs[int(row.rpartition(" ")[2])].path], 0
        elif row.startswith("@@ "):
            hunk = re.match(r"@@ -\S+ \+(\d+)", row)
            number = int(hunk[1]) if hunk else 0
        elif number and row.startswith("+"):
            rows.append((number, row[1:]))
            number += 1
    return {path: [] if _is_binary(rows) else rows for path, rows in found.items()}


def _tree(look: Look, blobs: Sequence[str]) -> str:
    rows = (f"100644 blob {blob}\t{number:07}\0" for number, blob in enumerate(blobs) if blob)
    return look.git().out("mktree", "-z", "--missing", stdin="".join(rows))


def _is_binary(rows: Sequence[tuple[int, str]]) -> bool:
    return any("\0" in text for _, text in rows[:BINARY_LINES])
