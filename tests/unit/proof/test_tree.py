"""The tree that a check saw: which commit, and one figure for what is in it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from ralphloop.proof import tree
from ralphloop.proof.worktree import Git

ENV = {"PATH": os.environ["PATH"]}


class Repository:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "main"
        self.root.mkdir()
        self.env = {**ENV, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
        self.git("init", "--quiet", "--initial-branch=main")
        self.write("a.txt", "a")
        self.write("sub/b.txt", "b")
        self.commit()

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"]
        done = subprocess.run(
            ["git", *who, *words], cwd=self.root, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, path: str, text: str) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=x")

    def look(self) -> tree.Tree:
        return tree.look(str(self.root), ENV)


@pytest.fixture
def repository(tmp_path) -> Repository:
    return Repository(tmp_path.resolve())


def test_the_commit_is_the_one_that_git_says(repository):
    assert repository.look().head == repository.git("rev-parse", "HEAD")


def test_a_folder_without_git_has_neither_commit_nor_figure(tmp_path):
    assert tree.look(str(tmp_path), ENV) == tree.Tree(None, None)
    assert tree.look(str(tmp_path / "gone"), ENV) == tree.Tree(None, None)


def test_a_repository_without_a_commit_has_none(tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, env={**ENV, "HOME": str(tmp_path)})
    assert tree.look(str(tmp_path), ENV) == tree.Tree(None, None)


def test_the_path_has_no_say_in_which_git_looks(repository):
    assert tree.look(str(repository.root), {"PATH": "/nowhere"}) == repository.look()


CHANGES = {
    "a changed file": lambda found: found.write("a.txt", "A"),
    "a new file": lambda found: found.write("new.txt", ""),
    "a removed file": lambda found: (found.root / "a.txt").unlink(),
    "a change below": lambda found: found.write("sub/b.txt", "B"),
    "a link": lambda found: (found.root / "link").symlink_to("a.txt"),
    "a name that is no text": lambda found: Path(os.fsdecode(os.fsencode(found.root) + b"/\xff\n")).touch(),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_the_figure_tells_a_change_and_only_a_change(repository, kind):
    before = repository.look()
    assert repository.look() == before
    CHANGES[kind](repository)
    after = repository.look()
    assert (after.head, after.digest == before.digest) == (before.head, False)
    assert repository.look() == after


def test_where_a_link_leads_is_part_of_the_figure(repository):
    link = repository.root / "link"
    link.symlink_to("a.txt")
    before = repository.look()
    link.unlink()
    link.symlink_to("nowhere")
    assert repository.look().digest != before.digest


def test_ignored_files_are_no_part_of_it(repository):
    repository.write(".gitignore", "*.log\n")
    before = repository.look()
    repository.write("x.log", "x")
    assert repository.look() == before


def test_a_pipe_or_a_loop_of_links_does_not_hold_it_up(repository):
    os.mkfifo(repository.root / "pipe")
    (repository.root / "loop").symlink_to("loop")
    assert repository.look().digest


def test_variables_that_point_git_elsewhere_are_not_obeyed(repository, tmp_path):
    other = {"GIT_DIR": str(tmp_path), "GIT_WORK_TREE": "/", "GIT_INDEX_FILE": "/nowhere"}
    assert tree.look(str(repository.root), {**ENV, **other}) == repository.look()


def test_no_program_of_the_repositorys_choosing_runs(repository, tmp_path):
    mark = tmp_path / "ran"
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "diff.external"):
        repository.git("config", name, f"touch {mark}")
    repository.git("config", "core.hooksPath", str(tmp_path))
    hook = tmp_path / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    repository.write("a.txt", "A")
    assert repository.look().digest
    assert not mark.exists()


# One file


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path):
    place = tmp_path / "x"
    data = os.urandom(3 * 1024 * 1024)
    place.write_bytes(data)
    assert tree.digest_of(str(place)) == hashlib.sha256(data).hexdigest()


def test_what_is_no_regular_file_has_none(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for path in ("pipe", "loop", "gone", "pipe/below", "with\0nul"):
        assert tree.digest_of(str(tmp_path / path)) is None
    assert tree.digest_of("/dev/zero") is None


# What a repository may not make us do


@pytest.fixture
def luring(repository) -> Path:
    """A repository whose missing tree is to be had from a remote that is a command; the mark of that one."""
    mark = repository.root.parent / "ran"
    repository.git("sparse-checkout", "init", "--cone", "--sparse-index")
    repository.git("sparse-checkout", "set", "keep")
    for name, value in {
        "core.repositoryformatversion": "1", "extensions.partialClone": "origin",
        "remote.origin.promisor": "true", "remote.origin.url": f"ext::sh -c touch% {mark}",
        "protocol.ext.allow": "always",
    }.items():  # fmt: skip
        repository.git("config", name, value)
    gone = repository.git("rev-parse", "HEAD:sub")
    (repository.root / ".git" / "objects" / gone[:2] / gone[2:]).unlink()
    return mark


LISTING = ("ls-files", "--cached", "--others", "--exclude-standard")


def test_a_remote_that_is_a_command_does_lure_git_itself(repository, luring):
    repository.git(*LISTING)
    assert luring.exists()


@pytest.mark.parametrize("unknown", ["", "GIT_NO_LAZY_FETCH", "GIT_ALLOW_PROTOCOL"])
def test_a_look_at_a_repository_fetches_nothing(repository, luring, monkeypatch, unknown):
    monkeypatch.delitem(tree.NO_FETCH, unknown, raising=False)
    assert repository.look().head
    git = Git(str(repository.root), ENV, budget_s=60.0)
    git.ask(*LISTING)
    git.ask("status", "--porcelain")
    assert not luring.exists()
