"""A git work tree as something to commit: whether it is in order, what is in it, and its branch's end."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from ralphloop import errors
from ralphloop.domain.prompt import line
from ralphloop.proof.git import Git

HEADS = "refs/heads/"
SPARE = "ralphloop-index-"
STALE_S = 24 * 3600.0
# in the git folder while something is under way -> what, and how it is ended
UNDER_WAY = {
    "MERGE_HEAD": ("a merge", "`git merge --abort`"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "`git cherry-pick --abort`"),
    "REVERT_HEAD": ("a revert", "`git revert --abort`"),
    "rebase-merge": ("a rebase", "`git rebase --abort`"),
    "rebase-apply": ("a rebase", "`git rebase --abort`"),
    "sequencer": ("a cherry-pick or revert", "`git cherry-pick --quit`"),
}


class Worktree:
    """All of the work tree that a folder lies in, not only the folder."""

    def __init__(self, folder: str, env: Mapping[str, str], *, budget_s: float) -> None:
        try:
            self.top = Git(folder, env, budget_s=budget_s).out("rev-parse", "--show-toplevel")
        except errors.GitError as error:
            raise errors.CommitError(_why_none(folder, error)) from error
        self.git = Git(self.top, env, budget_s=budget_s)
        self.git_folder = self.git.out("rev-parse", "--absolute-git-dir")

    @property
    def branch(self) -> str:
        """The one that is checked out; empty if none is."""
        at = self.git.ask("symbolic-ref", "--quiet", "HEAD") or ""
        return at[len(HEADS) :] if at.startswith(HEADS) else ""

    def must_be_settled(self) -> None:
        """Nothing that somebody has begun here is unfinished."""
        for name, (what, how) in UNDER_WAY.items():
            if os.path.exists(os.path.join(self.git_folder, name)):
                raise errors.RefusedError(f"{what} is under way", f"Finish it, or end it with {how}.")
        if self.git.ask("ls-files", "--unmerged"):
            raise errors.RefusedError("there are unmerged files", "Resolve them, and `git add` them.")

    def must_be_on(self, branch: str) -> None:
        at = self.branch
        if at != branch:
            where = f"the work tree is on `{line(at, 60)}`" if at else "HEAD is detached"
            cure = f"Switch back to `{line(branch, 60)}`, and leave commits and branches to ralphloop."
            raise errors.RefusedError(where, cure)

    def end_of(self, branch: str) -> str:
        """The branch's last commit; empty before the first one."""
        return self.git.ask("rev-parse", "--verify", "--quiet", HEADS + branch + "^{commit}") or ""

    def history(self, head: str, most: int) -> list[tuple[str, str]]:
        """The last commits and their messages, newest first."""
        if not head:
            return []
        text = self.git.out("rev-list", f"--max-count={most}", "--format=%B%x00", head)
        rows = (row.lstrip("\n").partition("\n") for row in text.split("\0"))
        return [(first[len("commit ") :], rest) for first, _, rest in rows if first]

    def write(self, tree: str, message: str, *, parent: str) -> str:
        """A commit that no branch has yet."""
        return self.git.out("commit-tree", *(["-p", parent] if parent else []), tree, stdin=message)

    def move(self, branch: str, *, old: str, new: str) -> None:
        """Let the branch end in another commit, if it still ends where it did."""
        self.git.out("update-ref", "-m", "commit by ralphloop", HEADS + branch, new, old or "0" * len(new))


class Index:
    """An index of our own beside the repository's: a lock file left by a killed git hinders no commit."""

    def __init__(self, place: Worktree) -> None:
        self._place = place
        self._real = os.path.join(place.git_folder, "index")

    def __enter__(self) -> Index:
        _sweep(self._place.git_folder)
        self._spare = tempfile.mkdtemp(prefix=SPARE, dir=self._place.git_folder)
        self._path = os.path.join(self._spare, "index")
        if os.path.exists(self._real):
            shutil.copy2(self._real, self._path)  # with its time, by which git knows what to look at again
        return self

    def __exit__(self, *about: object) -> None:
        shutil.rmtree(self._spare, ignore_errors=True)

    def take_all(self) -> str:
        """The tree of everything that is not ignored."""
        try:
            self._place.git.out("add", "--all", index=self._path)
        except errors.SlowError:
            raise
        except errors.GitError as error:
            raise errors.RefusedError(f"not all files can be added ({error})", "Put that right.") from error
        return self._place.git.out("write-tree", index=self._path)

    def take_tracked(self, folder: str) -> str:
        """The tree of what the index has, with the files of this folder that git knows as they are now."""
        self._place.git.out("add", "--update", "--", folder, index=self._path)
        return self._place.git.out("write-tree", index=self._path)

    def publish(self) -> None:
        """Make it the repository's index, unless another git is at that: then the next commit does it."""
        lock = self._real + ".lock"
        try:
            os.link(self._path, lock)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            if not _copied(self._path, lock):
                return
        os.replace(lock, self._real)


def _copied(path: str, lock: str) -> bool:
    """False if somebody holds the lock; one of ours that is not whole is taken away again."""
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return False
    try:
        with os.fdopen(handle, "wb") as target, open(path, "rb") as source:
            shutil.copyfileobj(source, target)
        shutil.copystat(path, lock)
    except OSError:
        os.unlink(lock)
        raise
    return True


def _sweep(folder: str) -> None:
    """What was left by runs that were killed."""
    for name in os.listdir(folder):
        place = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if name.startswith(SPARE) and os.stat(place).st_mtime < time.time() - STALE_S:
                shutil.rmtree(place, ignore_errors=True)


def _why_none(folder: str, error: errors.GitError) -> str:
    """Git's own words only where there is a repository that it does not take."""
    above = [folder, *map(str, Path(folder).parents)]
    has_answered = not isinstance(error, errors.SlowError) and not isinstance(error.__cause__, OSError)
    if has_answered and not any(os.path.lexists(os.path.join(place, ".git")) for place in above):
        return f"{folder} is in no git work tree, and commits need one: run `git init` there first."
    return f"{folder} is in no git work tree ({str(error).removeprefix('fatal: ')})."
