"""Which git we start: the one that a person recorded, or one of the system's, whatever the PATH says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ralphloop.errors import GitError
from ralphloop.proof import executable, tree
from ralphloop.proof.worktree import Git
from unit.proof.test_tree import Repository

REAL = shutil.which("git", path=os.pathsep.join(executable.GIT_PLACES)) or ""


def program(place: Path, script: str = f'#!/bin/sh\nexec {REAL} "$@"\n') -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(script)
    place.chmod(0o755)
    return place


class Person:
    """With a home, a repository, and a git in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.repository = Repository(folder)
        self.root, self.home = self.repository.root, folder / "home"
        self.home.mkdir()
        self.own = program(folder / "tools" / "git")
        self.env = {"PATH": f"{self.own.parent}:/usr/bin:/bin", "HOME": str(self.home)}

    def recorded(self) -> str:
        place = self.home / ".local/state/ralphloop/git"
        return place.read_text() if place.exists() else ""

    def record(self, cwd: Path | None = None, path: str = "") -> str:
        env = {**self.env, "PATH": path} if path else self.env
        executable.record_git(str(cwd or self.root), env)
        return self.recorded()

    def write(self, text: object) -> None:
        place = self.home / ".local/state/ralphloop/git"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n")

    def find(self, cwd: Path | None = None) -> str:
        return executable.find_git(str(cwd or self.root), {**self.env, "PATH": "/nowhere"})


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path.resolve())


def test_what_a_person_uses_is_recorded_and_found_without_a_path(person: Person) -> None:
    assert person.record() == f"{person.own}\n"
    assert person.find() == str(person.own)
    assert (person.home / ".local/state/ralphloop/git").stat().st_mode & 0o777 == 0o600


def test_without_a_record_it_is_one_of_the_systems_places(person: Person) -> None:
    assert person.find() == REAL


def test_what_is_recorded_already_is_not_written_again(person: Person) -> None:
    person.record()
    before = (person.home / ".local/state/ralphloop/git").stat().st_ino
    person.record()
    assert (person.home / ".local/state/ralphloop/git").stat().st_ino == before


def test_nothing_is_recorded_where_the_path_leads_to_no_git(person: Person) -> None:
    assert person.record(path="/nowhere:relative::.") == ""


def test_a_relative_place_on_the_path_is_never_recorded(person: Person, monkeypatch) -> None:
    program(person.root / "git")
    monkeypatch.chdir(person.root)
    assert person.record(path=f":.:bin:{person.own.parent}") == f"{person.own}\n"


@pytest.mark.parametrize("how", ["file", "link in", "link out", "folder link", "worktree", "below"])
def test_a_git_in_the_repository_is_neither_recorded_nor_used(person: Person, tmp_path: Path, how) -> None:
    inside, cwd = program(person.root / "bin" / "git"), person.root
    if how == "link in":  # a link in the repository to a good one
        inside.unlink()
        inside.symlink_to(REAL)
    elif how == "link out":
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "git").symlink_to(inside)
        inside = tmp_path / "links" / "git"
    elif how == "folder link":
        (tmp_path / "linked").symlink_to(inside.parent)
        inside = tmp_path / "linked" / "git"
    elif how == "worktree":
        cwd = tmp_path / "other"
        person.repository.git("worktree", "add", "--quiet", str(cwd))
    elif how == "below":
        cwd = person.root / "sub"
    assert person.record(cwd, f"{inside.parent}:{person.own.parent}") == f"{person.own}\n"
    person.write(inside)
    assert person.find(cwd) == REAL


def test_a_home_that_is_kept_in_git_is_no_project(person: Person) -> None:
    own = program(person.home / "bin" / "git")
    (person.home / ".git").mkdir()
    project = person.home / "code" / "shop"
    project.mkdir(parents=True)
    assert person.record(project, f"{own.parent}:/usr/bin") == f"{own}\n"
    assert person.find(project) == str(own)


@pytest.mark.parametrize(
    "said", ["", "git", "bin/git", "/nowhere/git", "/etc/passwd", "/usr", "/\0", "x" * 9000]
)
def test_a_record_that_leads_to_no_program_counts_for_nothing(person: Person, said: str) -> None:
    person.write(said)
    assert person.find() == REAL


def test_one_that_is_gone_counts_for_nothing(person: Person) -> None:
    person.record()
    person.own.unlink()
    assert person.find() == REAL


def test_a_look_and_a_commit_start_the_one_that_is_recorded(person: Person, tmp_path: Path) -> None:
    mark, lie = tmp_path / "ran", tmp_path / "lied"
    program(person.own, f'#!/bin/sh\necho x >>{mark}\nexec {REAL} "$@"\n')
    program(tmp_path / "lies" / "git", f"#!/bin/sh\ntouch {lie}\n")
    person.record()
    env = {**person.env, "PATH": f"{tmp_path / 'lies'}:/usr/bin:/bin"}
    assert tree.look(str(person.root), env) == person.repository.look()
    looks = len(mark.read_text())
    assert Git(str(person.root), env, budget_s=60.0).out("rev-parse", "HEAD") == person.repository.look().head
    assert len(mark.read_text()) > looks > 0
    assert not lie.exists()


def test_without_any_git_there_is_nothing_to_say(person: Person, monkeypatch) -> None:
    monkeypatch.setattr(executable, "GIT_PLACES", ("/nowhere",))
    assert tree.look(str(person.root), person.env) == tree.Tree(None, None)
    with pytest.raises(GitError, match="git cannot be started"):
        Git(str(person.root), person.env, budget_s=60.0).out("status")
