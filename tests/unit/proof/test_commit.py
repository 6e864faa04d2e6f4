"""Whether a loop may begin with commits, and what git is asked for."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from ralphloop.domain.model import Supervision, Task
from ralphloop.errors import CommitError, GitError, SlowError
from ralphloop.proof import commit
from ralphloop.proof.worktree import Git, Index, Worktree, check, switch
from unit.domain.cases import each
from unit.proof.loops import Checked, task

IDENTITY = "[user]\n\tname = Person\n\temail = person@example.invalid\n"


class Repository:
    def __init__(self, base: Path, root: Path | None = None) -> None:
        self.root = root or base / "main"
        self.root.mkdir(exist_ok=True)
        home = base / "home"
        home.mkdir(exist_ok=True)
        (home / ".gitconfig").write_text(IDENTITY)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home)}
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.root, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def begin(self) -> Repository:
        self.write("a.txt", "a\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=start")
        return self

    def write(self, path: str, text: str = "x\n") -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def prepare(self, branch: str = "", **options) -> str:
        found = check(str(self.root), self.env, branch=branch, **options)
        return switch(str(self.root), self.env, branch=found)

    def refuse(self, branch: str = "") -> str:
        """Why; and the repository is as it was."""
        before = self.git("for-each-ref"), (self.root / ".git" / "HEAD").read_text()
        with pytest.raises(CommitError) as caught:
            self.prepare(branch)
        assert (self.git("for-each-ref"), (self.root / ".git" / "HEAD").read_text()) == before
        return str(caught.value)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path.resolve()).begin()


# Before the start


def test_the_branch_that_is_checked_out_will_do(repository):
    assert repository.prepare() == "main"


def test_a_new_branch_is_made_from_head(repository):
    assert repository.prepare("feat/cart") == "feat/cart"
    assert repository.git("symbolic-ref", "--short", "HEAD") == "feat/cart"
    assert repository.git("rev-parse", "feat/cart") == repository.git("rev-parse", "main")
    assert repository.prepare("feat/cart") == "feat/cart"


def test_a_branch_that_is_there_is_switched_to(repository):
    repository.git("branch", "work")
    repository.git("commit", "--quiet", "--allow-empty", "--message=more")
    assert repository.prepare("work") == "work"
    assert repository.git("log", "-1", "--format=%s") == "start"


def test_a_detached_head_needs_a_branch(repository):
    repository.git("switch", "--quiet", "--detach")
    assert "--branch" in repository.refuse()
    assert repository.prepare("work") == "work"


def test_a_dirty_tree_is_refused_and_its_files_are_named(repository):
    repository.write("a.txt", "changed\n")
    repository.write("new file.txt")
    repository.write("staged.txt")
    repository.git("add", "staged.txt")
    why = repository.refuse("work")
    for named in ("a.txt (changed)", "new file.txt (untracked)", "staged.txt (staged)"):
        assert named in why
    assert why.endswith("commit, stash (`git stash -u`) or ignore these files first.")
    repository.write(".claude/settings.local.json", "{}")
    assert "`echo .claude/settings.local.json >> .git/info/exclude`" in repository.refuse("work")


def test_of_many_files_ten_are_named(repository):
    for number in range(14):
        repository.write(f"n/{number:02}.txt")
    why = repository.refuse()
    assert why.count("(untracked)") == 10
    assert "and 4 more" in why


def test_the_task_list_our_own_files_and_ignored_ones_may_differ(repository):
    repository.write(".gitignore", "*.log\n")
    repository.git("add", ".gitignore")
    repository.git("commit", "--quiet", "--message=ignore")
    for path in (".ralph/loops/demo/feature_list.json", ".ralph/run/x/loop.json", "x.log"):
        repository.write(path)
    assert repository.prepare("work") == "work"
    repository.write("specs/demo/tasks.md")
    assert "specs/demo/tasks.md" in repository.refuse()
    assert repository.prepare(lists=[str(repository.root / "specs" / "demo")]) == "work"
    repository.write("specs/demo2/tasks.md")
    assert "specs/demo2/tasks.md" in repository.refuse()


def test_a_file_beside_a_project_in_a_subfolder_counts(repository):
    repository.write("app/x.txt")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message=app")
    app = str(repository.root / "app")
    repository.write("app/.ralph/loops/demo/feature_list.json")
    assert check(app, repository.env, branch="") == "main"
    repository.write("beside.txt")
    with pytest.raises(CommitError, match=r"beside\.txt"):
        check(app, repository.env, branch="")


@each("name", ["-x", "a..b", "a b", "HEAD", "x.lock", "@{-1}", "a\nb", "/", "ä:b"])
def test_a_name_that_is_none_is_refused(repository, name):
    assert "no name for a branch" in repository.refuse(name)


def test_a_branch_of_another_worktree_is_refused(repository, tmp_path):
    repository.git("worktree", "add", "--quiet", "-b", "work", str(tmp_path / "tree"))
    assert str(tmp_path / "tree") in repository.refuse("work")


def test_an_unfinished_merge_is_refused(repository):
    repository.git("branch", "side")
    repository.git("switch", "--quiet", "side")
    repository.git("commit", "--quiet", "--allow-empty", "--message=side")
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--no-commit", "side")
    assert repository.refuse().startswith("a merge is under way. ")


def test_without_an_identity_it_is_said_how_to_set_one(repository):
    Path(repository.env["HOME"], ".gitconfig").unlink()
    assert "git config user.email" in repository.refuse()


def test_outside_of_git_and_in_a_bare_repository_it_is_refused(tmp_path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with pytest.raises(CommitError, match="no git work tree, and commits need one: run `git init` there"):
        check(str(tmp_path), env, branch="")
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "bare")], env=env, check=True)
    with pytest.raises(CommitError, match="no git work tree"):
        check(str(tmp_path / "bare"), env, branch="")


def test_a_repository_without_a_commit_will_do(tmp_path):
    fresh = Repository(tmp_path.resolve())
    assert fresh.prepare() == "main"
    assert fresh.prepare("work") == "work"
    assert fresh.git("symbolic-ref", "HEAD") == "refs/heads/work"


# Git itself


def test_git_that_takes_too_long_is_ended_with_all_that_it_started(repository):
    git = Git(str(repository.root), repository.env, budget_s=2.0)
    mark = repository.root / "pid"
    begun = time.monotonic()
    with pytest.raises(SlowError):
        git.out("-c", f"alias.z=!echo $$ > '{mark}'; exec sleep 300", "z")
    assert time.monotonic() - begun < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)
    with pytest.raises(GitError):
        git.out("rev-parse", "HEAD")  # the time is over for all of them


def test_an_index_is_copied_where_no_links_can_be_made(repository, monkeypatch):
    def no_links(*_: str) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("os.link", no_links)
    place = Worktree(str(repository.root), repository.env, budget_s=60.0)
    lock = repository.root / ".git" / "index.lock"
    repository.write("new.txt")
    with Index(place) as index:
        index.take_all()
        lock.write_text("another git's")
        index.publish()
        assert (lock.read_text(), repository.git("ls-files")) == ("another git's", "a.txt")
        lock.unlink()
        index.publish()
        assert (lock.exists(), repository.git("ls-files")) == (False, "a.txt\nnew.txt")
        Path(index._path).unlink()
        with pytest.raises(FileNotFoundError):
            index.publish()
    assert not lock.exists()


def test_the_lock_of_one_that_was_killed_is_what_it_was_about_to_publish(repository):
    """Killed between its two steps: its index has two names, and git's own is still the old one."""
    place = Worktree(str(repository.root), repository.env, budget_s=60.0)
    lock = repository.root / ".git" / "index.lock"
    repository.write("new.txt")
    killed = Index(place).__enter__()
    killed.take_all()
    os.link(killed._path, lock)
    with Index(place):
        assert (lock.exists(), repository.git("ls-files")) == (False, "a.txt\nnew.txt")


def test_the_lock_of_another_git_is_left_alone(repository):
    lock = repository.root / ".git" / "index.lock"
    lock.write_text("another git's")
    with Index(Worktree(str(repository.root), repository.env, budget_s=60.0)) as index:
        index.take_all()
        index.publish()
    assert lock.read_text() == "another git's"


# The message


def test_the_trailers_are_read_from_the_end_only():
    about = commit.trailers_of("F1", loop_id="L1", evidence="0001-F1")
    listed = Task("F1", "x", steps=["Ralphloop-Task: F9", "", "Ralphloop-Evidence: none"])
    assert commit.trailers_in(commit.message(listed, about)) == about
    assert commit.trailers_in("Ralphloop-Task: F1\nRalphloop-Loop: L\nRalphloop-Evidence: e\n\nmore") is None
    assert commit.trailers_in("") is None


def test_a_title_that_does_not_fit_stands_in_full_below():
    about = commit.trailers_of("F1", loop_id="L1", evidence="e")
    text = commit.message(Task("F1", "word " * 40), about)
    subject, body, _ = text.split("\n\n")
    assert len(subject) <= 72
    assert body.count("word") == 40
    assert max(map(len, body.splitlines())) <= 72


# After the loop has ended


def test_whoever_drives_the_loop_can_catch_up_later(tmp_path):
    checked = Checked(tmp_path).begin(task("F1", "true"), task("F2"))
    repository = Repository(tmp_path, checked.root)
    checked.loop.record.supervision = Supervision(branch="main")
    checked.note("F1", state="claimed")
    checked.note("F2", state="unverified")
    checked.prove()
    for _ in range(2):
        assert commit.catch_up(checked.loop, cwd=str(checked.root), env=repository.env) == ""
    assert repository.git("log", "--format=%s").splitlines() == ["F2: Do F2", "F1: Do F1"]
    assert [row["evidence"] for row in checked.journal("commit")] == ["0001-F1", "none (unverified)"]
