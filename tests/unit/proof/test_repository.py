"""In which folder checks run: the project's, in the worktree of it that the session works in."""

from __future__ import annotations

import pytest

from ralphloop.proof.repository import folder_for
from unit.proof.test_tree import Repository


@pytest.fixture
def repository(tmp_path) -> Repository:
    return Repository(tmp_path.resolve())


def test_outside_a_worktree_checks_run_at_the_root(repository):
    root = str(repository.root)
    for cwd in (root, str(repository.root / "sub"), "/", "/nowhere", "relative", ""):
        assert folder_for(root, cwd) == root


@pytest.mark.parametrize("below", ["", "sub", "sub/../sub"])
def test_in_a_worktree_checks_run_at_its_root(repository, tmp_path, below):
    place = tmp_path.resolve() / "other place"
    repository.git("worktree", "add", "--quiet", "-b", "other", str(place))
    assert folder_for(str(repository.root), str(place / below)) == str(place)


def test_a_project_below_the_repository_has_its_place_in_the_worktree(repository, tmp_path):
    place = tmp_path.resolve() / "other"
    repository.git("worktree", "add", "--quiet", "-b", "other", str(place))
    assert folder_for(str(repository.root / "sub"), str(place)) == str(place / "sub")


def test_a_worktree_below_the_project_is_still_one(repository):
    place = repository.root / "trees" / "one"
    repository.git("worktree", "add", "--quiet", "-b", "other", str(place))
    assert folder_for(str(repository.root), str(place)) == str(place)


def test_the_worktree_of_another_repository_does_not_count(repository, tmp_path):
    (tmp_path / "second").mkdir()
    second = Repository(tmp_path.resolve() / "second")
    place = tmp_path.resolve() / "other"
    second.git("worktree", "add", "--quiet", "-b", "other", str(place))
    assert folder_for(str(repository.root), str(place)) == str(repository.root)


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: /nowhere", "gitdir: {}/.git/worktrees/", "x", "\0"])
def test_a_folder_that_only_says_that_it_is_a_worktree_is_none(repository, tmp_path, text):
    place = tmp_path / "fake"
    place.mkdir()
    (place / ".git").write_text(text.replace("{}", str(repository.root)))
    assert folder_for(str(repository.root), str(place)) == str(repository.root)
