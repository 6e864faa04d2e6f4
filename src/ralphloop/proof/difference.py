"""What is not as it was at the start, in a work tree and in the repositories in it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ralphloop import errors
from ralphloop.proof import repository
from ralphloop.proof.look import Kept, Look, first
from ralphloop.proof.repository import Repository
from ralphloop.proof.worktree import Git
from ralphloop.store import files

ADDED, CHANGED, REMOVED = "added", "changed", "removed"
GITLINK = "160000"
RENAMES_MAX = 1_000
LINES_MAX, FILES_MAX, BYTES_MAX = 2_000, 200, 2_000_000  # of added lines: per file; files; bytes of all


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


class Comparison:
    """What has been found so far. `kept` are the work trees of the start, under their prefixes."""

    def __init__(self, kept: Mapping[str, Kept], at: float, *, home: str, scratch: str) -> None:
        self.changes: dict[str, Change] = {}
        self.renamed: dict[str, str] = {}
        self.hidden: list[str] = []
        self._kept, self._at = kept, at
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
        index = self._copy(look)
        known = [name for name in self._kept if name and self._parent(name) == prefix]
        below = {path: look.below(path) for path in look.add_all(index, known)}
        now = look.git().out("write-tree", "--missing-ok", index=index)
        self._differences(look, self._base(look), now, prefix=prefix)
        self._hide(look, index, prefix)
        for path, place in below.items():
            if place is not None:
                self._inside(look, f"{prefix}{path}/", place)
        for name in known:
            if below.get(name[len(prefix) : -1]) is None:
                self._lose(look, name)
        return now

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
        words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        for path in look.git().out(*words, index=index).split("\0"):
            is_file = path and not path.endswith("/")
            if is_file and changed_at(os.path.join(look.place.top, path)) > self._at:
                self.hidden.append(prefix + path)

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


def lines(git: Git, since: Since, paths: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
    """The lines that these files have now and had not: of a renamed one against what it was before."""
    wanted, known = set(paths), {change.path: change for change in since.changes}
    before = {new: known[old].old for old, new in since.renamed.items()}
    chosen = [one for one in since.changes if one.new and one.path in wanted][:FILES_MAX]
    sizes, left = _sizes(git, [one.new for one in chosen]), BYTES_MAX
    found: dict[str, list[tuple[int, str]]] = {}
    for one in chosen:
        if sizes.get(one.new, left + 1) > left:
            continue  # too large for a person to read
        with contextlib.suppress(errors.GitError):
            found[one.path] = _added(git, one.old or before.get(one.path, ""), one.new)[:LINES_MAX]
            left -= sum(len(text) for _, text in found[one.path])
    return found


def _sizes(git: Git, ids: list[str]) -> dict[str, int]:
    rows = (row.split(" ") for row in git.out("cat-file", "--batch-check", stdin="\n".join(ids)).split("\n"))
    return {row[0]: int(row[2]) for row in rows if row[1:2] == ["blob"]}


def _added(git: Git, old: str, new: str) -> list[tuple[int, str]]:
    """The lines of one blob that another has not; none of a binary one."""
    if old == new:
        return []
    if not old:
        text = git.out("cat-file", "blob", new)
        return [] if "\0" in text[:8000] else list(enumerate(text.split("\n"), 1))
    words = ("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", old, new)
    found: list[tuple[int, str]] = []
    number = 0
    for row in git.out(*words).split("\n"):
        hunk = re.match(r"@@ -\S+ \+(\d+)", row)
        if hunk:
            number = int(hunk[1])
        elif number and row.startswith("+"):
            found.append((number, row[1:]))
            number += 1
    return found
