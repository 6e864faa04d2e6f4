"""A work tree seen with a git folder of ours: an index that began as a copy of the repository's, objects of
our own, and the settings of the start.

Nothing is written into the repository, not even a time: git sees the repository's objects only where it
writes none, because it renews the time of an object that it would write and finds there."""

from __future__ import annotations

import math
import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ralphloop import errors
from ralphloop.proof import repository
from ralphloop.proof.repository import Repository
from ralphloop.proof.worktree import Git
from ralphloop.store import files

LARGE, LARGE_MOST = 200 * 1024 * 1024, 1_000  # bytes of a file; how many such there are
PATIENCE_S = 5.0  # after which a look asks what keeps it
CLOCK_S = 1.0  # by which the clock of a file system may lie behind
SHARED = "look"  # in the state directory: the git folder for every repository without rules of its own
_SETTINGS = (  # of the repository's own, that say what a file's content is
    r"core\.(attributesfile|autocrlf|bigfilethreshold|checkroundtripencoding|eol|excludesfile|filemode|ignorecase"
    r"|precomposeunicode|protecthfs|protectntfs|symlinks)"
)
_FOREIGN = (
    r"filter\..*|include\.path"  # programs, or more settings: only of a repository that is this person's
)
_USUAL = {"core.filemode": "true", "core.ignorecase": "false", "core.symlinks": "true"}
_CONFIG = """[core]
	bare = false
	checkStat = default
	fsync = none
	ignoreStat = false
	quotePath = false
	safecrlf = false
	sharedRepository = umask
	trustctime = true
	untrackedCache = false
[index]
	version = 2
	sparse = false
"""
_LONG = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n"
_NO_COMMIT = rb"error: '(.+?)/?' does not have a commit checked out"
_TOLERATED = rb"does not have a commit checked out|Permission denied|unable to index file|adding files failed"


class Kept(NamedTuple):
    """How a work tree was looked at first, which is how it is looked at later."""

    name: str  # of its index in our folder
    git_folder: str  # ours
    objects: str  # the repository's
    settings: tuple[tuple[str, str], ...]  # the repository's
    id_size: int = 20

    def options(self) -> list[str]:
        return [word for name, value in self.settings for word in ("-c", f"{name}={value}")]

    def variables(self, folder: str, top: str, others: Sequence[str]) -> dict[str, str]:
        """What leads git to our folders over this work tree; the objects in `others` can be read."""
        found = {
            "GIT_DIR": self.git_folder, "GIT_WORK_TREE": top, "GIT_OBJECT_DIRECTORY": folder,
            "GIT_INDEX_FILE": os.path.join(folder, self.name), "LANGUAGE": "en",  # git's words are read
        }  # fmt: skip
        if others:
            found["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(map(_quoted, others))
        return found


def first(place: Repository, name: str, *, every: Sequence[tuple[str, str]], folder: str, home: str) -> Kept:
    """How to look at a work tree with these settings from now on; `home` is the state directory."""
    is_long = ("extensions.objectformat", "sha256") in every
    rules = {kind: _rules(place, kind) for kind in ("exclude", "attributes")}
    own = any(rules.values()) or is_long
    git_folder = os.path.join(folder, name + ".git") if own else os.path.join(home, SHARED)
    if own or not os.path.exists(os.path.join(git_folder, "HEAD")):
        _make(git_folder, _CONFIG + _LONG * is_long, rules)
    return Kept(name, git_folder, place.objects, _holding(place, every), 32 if is_long else 20)


def _rules(place: Repository, name: str) -> str:
    """What this clone ignores, or says of its files; empty where nothing but comments is there."""
    text = files.read_quietly(os.path.join(place.common, "info", name)) or ""
    return text if any(row.strip() and not row.startswith("#") for row in text.splitlines()) else ""


def _make(folder: str, config: str, rules: Mapping[str, str]) -> None:
    files.make_folder(os.path.join(folder, "refs"))
    files.write_text(os.path.join(folder, "config"), config)
    for name, text in rules.items():
        if text:
            files.make_folder(os.path.join(folder, "info"))
            files.write_text(os.path.join(folder, "info", name), text)
    files.write_text(os.path.join(folder, "HEAD"), "ref: refs/heads/none\n")  # with it the folder is whole


def _holding(place: Repository, every: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    pattern = _SETTINGS
    if os.stat(place.common).st_uid == os.geteuid():
        pattern += "|" + _FOREIGN
    held = [(name, value) for name, value in every if "=" not in name and re.fullmatch(pattern, name)]
    return tuple((name, value) for name, value in held if _USUAL.get(name) != value)


def _quoted(path: str) -> str:
    if os.pathsep not in path and not path.startswith('"'):
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _begun_since(path: str, at: float) -> bool:
    try:
        return os.lstat(path).st_ctime >= at - CLOCK_S
    except OSError:
        return False


class Look:
    """One work tree, now."""

    def __init__(
        self, kept: Kept, place: Repository, *, folder: str, env: Mapping[str, str], deadline: float
    ) -> None:
        self.kept, self.place, self.folder = kept, place, folder
        self.env, self.deadline = env, deadline
        self.index = os.path.join(folder, kept.name)
        self.large: list[str] = []  # files that `add_all` left out

    def over(self, kept: Kept, place: Repository) -> Look:
        """The same for another work tree."""
        return Look(kept, place, folder=self.folder, env=self.env, deadline=self.deadline)

    def below(self, path: str) -> Repository | None:
        """The repository at this path in it; files in the place of one count as such, with nothing known."""
        top = os.path.join(self.place.top, path)
        if os.path.realpath(top) != top:
            return None
        found = repository.at(top)
        if found is None and files.names(top):
            found = Repository(top, os.path.join(top, ".git"), self.place.common)
        return found

    def git(self, *others: str, most_s: float = math.inf, options: Sequence[str] = ()) -> Git:
        """With `others` the objects in these folders can be read; without, blobs and trees can be written."""
        return Git(
            self.place.top,
            self.env,
            budget_s=min(most_s, self.deadline - time.monotonic()),
            own=self.kept.variables(self.folder, self.place.top, others),
            options=[*self.kept.options(), *options],
        )

    def copy_index(self, index: str) -> tuple[list[str], list[str]]:
        """Copy the repository's index without the flags that let git overlook files: what had them and is
        there, and the repositories in it."""
        try:
            found = self._copied(os.path.join(self.place.git_folder, "index"), index)
        except FileNotFoundError:
            return [], []
        if found is None:
            self._unfold(index)
            found = self._copied(index, index)
        if found is None:
            raise ValueError("it is of a kind that is not known here")
        there = [path for path in found.skipped if os.path.lexists(os.path.join(self.place.top, path))]
        return sorted({*found.assumed, *there}), found.gitlinks

    def _copied(self, source: str, target: str) -> repository.Flagged | None:
        with open(source, "rb") as file:
            about, data = os.fstat(file.fileno()), file.read()
        found = repository.unflagged(data, id_size=self.kept.id_size)
        if found is None or source != target or found.data is not data:
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as copy:
                copy.write(data if found is None else found.data)
            os.utime(
                target, ns=(about.st_atime_ns, about.st_mtime_ns)
            )  # by it git knows what may have changed
        return found

    def _unfold(self, index: str) -> None:
        """Let git write the copy in its plain form."""
        for name in files.names(self.place.git_folder):
            if name.startswith("sharedindex."):
                shutil.copyfile(
                    os.path.join(self.place.git_folder, name), os.path.join(self.kept.git_folder, name)
                )
        words = ("update-index", "--index-version", "2", "--no-split-index", "--force-write-index")
        self.git(self.place.objects).out(*words, index=index)

    def add_all(self, index: str, gitlinks: Sequence[str], *, leave: Iterable[str] = ()) -> list[str]:
        """Take every file that is not ignored into the index; the repositories in this one. Where that takes
        long, what is too large is left out, and what was left out before."""
        self.large = sorted(filter(self._is_large, leave))
        began = time.time()
        try:
            code, said = self._add(index, most_s=PATIENCE_S)
        except errors.SlowError:
            self._sweep(index, began)
            self.large = sorted({*self.large, *self._large(index)})
            code, said = self._add(index)
        if self.large:
            gone = "".join(path + "\0" for path in self.large)
            self.git().out("update-index", "-z", "--force-remove", "--stdin", stdin=gone, index=index)
        wrong = [row for row in said.splitlines() if row.startswith((b"error:", b"fatal:"))]
        bad = [row for row in wrong if not re.search(_TOLERATED, row)]
        if bad or (code != 0 and not wrong):
            raise errors.GitError(os.fsdecode((bad or [b"git add failed"])[0]))
        without = [os.fsdecode(path) for path in re.findall(_NO_COMMIT, said)]
        if not gitlinks and b"embedded git repository" not in said:
            return without
        with open(index, "rb") as file:
            found = repository.unflagged(file.read(), id_size=self.kept.id_size)
        return sorted({*without, *(found.gitlinks if found else ())})

    def _add(self, index: str, *, most_s: float = math.inf) -> tuple[int, bytes]:
        words = ["add", "--all", "--ignore-errors"]
        if not self.large:
            code, _, said = self.git(most_s=most_s).run(*words, index=index)
            return code, said
        but = [f":(literal,exclude){path}" for path in self.large[:LARGE_MOST]]
        git = self.git(most_s=most_s, options=["--no-literal-pathspecs"])
        code, _, said = git.run(*words, "--", ".", *but, index=index)
        return code, said

    def _large(self, index: str) -> list[str]:
        """Of the files that a look would read those that are too large for it."""
        words = ("ls-files", "-z", "--modified", "--others", "--exclude-standard")
        return [path for path in self.git().out(*words, index=index).split("\0") if self._is_large(path)]

    def _is_large(self, path: str) -> bool:
        """By the size that it shows, however little of it is on the disk."""
        try:
            about = os.lstat(os.path.join(self.place.top, path))
        except (OSError, ValueError):
            return False
        return stat.S_ISREG(about.st_mode) and about.st_size > LARGE

    def _sweep(self, index: str, began: float) -> None:
        """Take away what a git that was ended had written by half."""
        files.remove(index + ".lock")
        for folder, _, names in os.walk(self.folder):
            for path in (
                os.path.join(folder, name) for name in names if name.startswith(("tmp_obj_", "tmp_pack_"))
            ):
                if _begun_since(path, began):
                    files.remove(path)
