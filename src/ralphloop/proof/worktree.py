"""A git work tree as something to commit: whether it is in order, what is in it, and its branch's end. Git
runs on it within a time limit, and without a program of the repository's choosing."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ralphloop import errors
from ralphloop.agents.registry import client
from ralphloop.domain.prompt import line
from ralphloop.proof import executable, tree

PREPARE_S = 120.0
SHOWN = 10
# in the project's folder: what git never sees, and lists that go into the first commit
RUN, LISTS = ".ralph/run/", ".ralph/loops/"
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
ENDING_S = 3.0  # git takes its lock files away when it is asked to end
OPTIONS = (
    *tree.OPTIONS, "--no-pager", "--no-replace-objects", "--literal-pathspecs",
    "-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
    "-c", "diff.ignoreSubmodules=dirty", "-c", "submodule.recurse=false",
    "-c", "core.splitIndex=false", "-c", "i18n.commitEncoding=UTF-8", "-c", "i18n.logOutputEncoding=UTF-8",
    "-c", "user.useConfigOnly=true", "-c", "advice.addEmbeddedRepo=false",
)  # fmt: skip


def check(root: str, env: Mapping[str, str], *, branch: str, lists: Iterable[str] = ()) -> str:
    """Make sure that commits can be made, on this branch or on the one that is checked out; its name.
    `lists` are folders of a task list, which may differ from the last commit."""
    with _in_words():
        place = Worktree(root, env, budget_s=PREPARE_S)
        place.must_be_settled()
        _must_have_author(place)
        _must_be_clean(place, root, lists)
        found = branch or place.branch
        if branch:
            _must_be_free(place, branch)
        elif not found:
            raise errors.CommitError("HEAD is detached: switch to a branch first, or name one with --branch.")
        return found


def switch(root: str, env: Mapping[str, str], *, branch: str) -> str:
    """Check the branch out, made from HEAD if there is none of this name."""
    with _in_words():
        place = Worktree(root, env, budget_s=PREPARE_S)
        if place.branch != branch:
            _must_be_free(place, branch)
            how = ("--no-guess",) if place.end_of(branch) else ("--no-track", "--create")
            place.git.out("switch", "--quiet", *how, branch)
        return branch


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except errors.RefusedError as error:
        raise errors.CommitError(f"{error}. {error.cure}") from error
    except errors.GitError as error:
        raise errors.CommitError(f"git: {error}") from error


def _must_have_author(place: Worktree) -> None:
    try:
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            place.git.out("var", name)
    except errors.GitError as error:
        how = "set `git config user.name` and `git config user.email`"
        raise errors.CommitError(f"git does not know who commits: {how}.") from error


def dirty(root: str, env: Mapping[str, str], *, lists: Iterable[str] = ()) -> list[str]:
    """What differs from the last commit and is neither ours nor a task list."""
    with _in_words():
        return [path for path, _ in _rows(Worktree(root, env, budget_s=PREPARE_S), root, lists)]


def _must_be_clean(place: Worktree, root: str, lists: Iterable[str]) -> None:
    rows = [f"{line(path, 120)} ({kind})" for path, kind in _rows(place, root, lists)]
    if rows:
        more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        told = ", ".join(rows[:SHOWN]) + more
        own = client().registration.LOCAL_SETTINGS
        is_there = any(row.startswith(own) for row in rows)
        how = f" `echo {own} >> .git/info/exclude` ignores what is this machine's." if is_there else ""
        raise errors.CommitError(
            f"the work tree is not clean: {told}. The agent's commits would mix with that: commit, stash "
            f"(`git stash -u`) or ignore these files first.{how}"
        )


def _rows(place: Worktree, root: str, lists: Iterable[str]) -> list[tuple[str, str]]:
    own = [os.path.join(root, RUN), os.path.join(root, LISTS), *lists]
    free = tuple(os.path.relpath(os.path.realpath(path), os.path.realpath(place.top)) + "/" for path in own)
    status = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    rows = place.git.out(*status, "--ignore-submodules=dirty").split("\0")
    return [(row[3:], _kind(row)) for row in rows if row and not row[3:].startswith(free)]


def _kind(row: str) -> str:
    if row.startswith("??"):
        return "untracked"
    return "changed" if row[1] != " " else "staged"


def _must_be_free(place: Worktree, branch: str) -> None:
    git = place.git
    if branch[:1] == "-" or branch == "HEAD" or git.ask("check-ref-format", HEADS + branch) is None:
        like = re.sub(r"[^\w/]+", "-", line(branch, 60)).strip("-/") or "overnight"
        told = f"{line(branch, 60)!r} is no name for a branch: git allows no blank and few signs in one"
        raise errors.CommitError(f"{told}; choose another, such as `{like}`.")
    if place.branch != branch and place.end_of(branch):
        taken = git.ask("for-each-ref", "--format=%(worktreepath)", HEADS + branch)
        if taken:
            raise errors.CommitError(f"the branch {branch} is checked out in {taken}: run it there.")


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
        self._lock = self._real + ".lock"

    def __enter__(self) -> Index:
        self._finish()
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
        try:
            os.link(self._path, self._lock)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            if not _copied(self._path, self._lock):
                return
        with contextlib.suppress(FileNotFoundError):  # somebody finished it for us
            os.replace(self._lock, self._real)

    def _finish(self) -> None:
        """Do what another of ours is about to do, or was killed at: its lock is its whole index, which has a
        second name in its own folder."""
        for spare in Path(self._place.git_folder).glob(f"{SPARE}*/index"):
            with contextlib.suppress(FileNotFoundError):
                if os.path.samefile(spare, self._lock):
                    os.replace(self._lock, self._real)


def _copied(path: str, lock: str) -> bool:
    """False if somebody holds the lock; one of ours that is not whole is taken away again."""
    try:
        with open(lock, "xb") as target, open(path, "rb") as source:
            shutil.copyfileobj(source, target)
        shutil.copystat(path, lock)
    except FileExistsError:
        return False
    except OSError:
        with contextlib.suppress(OSError):
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


class Git:
    """Commands in one folder, all of them within one time limit. A filter that the repository's config sets
    up does run when files are added: without the one of git-lfs a commit would be wrong."""

    def __init__(
        self,
        folder: str,
        env: Mapping[str, str],
        *,
        budget_s: float,
        own: Mapping[str, str] | None = None,
        options: Iterable[str] = (),
    ) -> None:
        """`own` are variables that lead git to a folder of ours, whose files nobody else may read."""
        self._folder = folder
        self._words = (executable.find_git(folder, env), *OPTIONS, *options)
        self._env = {**tree.git_env(env), **(own or {})}
        self._umask = 0o077 if own else -1
        self._deadline = time.monotonic() + budget_s

    def out(self, *words: str, stdin: str = "", index: str = "") -> str:
        """What the command prints, without its last line end; GitError if it fails."""
        code, out, said = self.run(*words, stdin=stdin, index=index)
        if code != 0:
            raise errors.GitError(_last_words(said) or f"git {words[0]} failed ({code})")
        return os.fsdecode(out).rstrip("\n")

    def run(self, *words: str, stdin: str = "", index: str = "") -> tuple[int, bytes, bytes]:
        """Its exit code, and what it printed; GitError only if it does not start or takes too long."""
        env = {**self._env, "GIT_INDEX_FILE": index} if index else self._env
        try:
            process = subprocess.Popen(
                [*self._words, *words], cwd=self._folder, env=env,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True, umask=self._umask,
            )  # fmt: skip
        except OSError as error:
            raise errors.GitError(f"git cannot be started: {error}") from error
        try:
            out, said = process.communicate(
                stdin.encode("utf-8", "replace") or None, timeout=max(0.0, self._deadline - time.monotonic())
            )
        except subprocess.TimeoutExpired:
            raise errors.SlowError(f"git {words[0]} took too long") from None
        finally:
            _end(process)
        return process.returncode, out, said

    def ask(self, *words: str) -> str | None:
        """The same; None if git says no."""
        try:
            return self.out(*words)
        except errors.GitError:
            return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it is left, whatever happened."""
    for word in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            os.killpg(process.pid, word)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _last_words(said: bytes) -> str:
    """The line that says why: the first error, behind which git puts hints."""
    lines = [text for text in said.decode("utf-8", "replace").splitlines() if text.strip()]
    errors = [text for text in lines if text.startswith(("fatal:", "error:"))]
    return line((errors or lines or [""])[0])
