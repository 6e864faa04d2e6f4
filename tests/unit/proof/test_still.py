"""What is still as it was proven, in real repositories: the folder, the branch, its commit and the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ralphloop.proof import baseline, proof_record
from ralphloop.proof.proof_record import ProofRecord, Proven
from ralphloop.proof.still import still_proven
from ralphloop.store.loop import LoopFiles
from unit.domain.cases import each
from unit.store.conftest import Project

NAMED = ("-c", "user.name=me", "-c", "user.email=me@example.invalid")


class Ground:
    """A repository with one commit, and a loop over a list in it that was proven there."""

    def __init__(self, folder: Path) -> None:
        (folder / "home").mkdir()
        (folder / "project").mkdir()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
        self.project = Project(folder)
        self.root = Path(self.project.root)
        self.loop: LoopFiles = self.project.loop()
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def git(self, *words: str, folder: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *NAMED, *words],
            cwd=folder or self.root,
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("commit", "--quiet", "--allow-empty", "-m", "a step")
        return self.git("rev-parse", "HEAD")

    def proven(self, folder: Path | None = None) -> str:
        place = folder or self.root
        head, branch = (
            self.git("rev-parse", "HEAD", folder=place),
            self.git("branch", "--show-current", folder=place),
        )
        at = Proven("", head, branch, str(place), "2026-01-31T10:00:05Z")
        proof_record.save(self.loop, ProofRecord(proven=at))
        return head

    def told(self, changed: int | None = None) -> str:
        return still_proven(self.loop, self.env, changed=lambda *_: changed)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_nothing_is_said_where_nothing_is_known(ground: Ground) -> None:
    assert ground.told() == ""
    proof_record.save(ground.loop, ProofRecord())
    assert ground.told(changed=3) == ""


def test_what_nobody_touched_is_still_the_proven_one(ground: Ground) -> None:
    ground.proven()
    assert still_proven(ground.loop, ground.env) == "branch and commit are still the proven ones"
    assert ground.told(0) == "the tree is still the proven one; branch and commit are still the proven ones"


@each(
    ("files", "told"),
    [(1, "1 file has changed since; "), (3, "3 files have changed since; "), (None, "branch and commit ")],
)
def test_changed_files_are_counted(tmp_path: Path, files: int | None, told: str) -> None:
    ground = Ground(tmp_path)
    ground.proven()
    assert ground.told(files).startswith(told)


def test_commits_made_since_are_counted(ground: Ground) -> None:
    head = ground.proven()
    ground.commit()
    assert ground.told(0) == f"the tree is still the proven one; 1 commit made since ({head[:10]} was proven)"
    ground.commit()
    assert ground.told() == f"2 commits made since ({head[:10]} was proven)"


def test_a_branch_that_was_set_back_is_told(ground: Ground) -> None:
    first = ground.git("rev-parse", "HEAD")
    ground.commit()
    head = ground.proven()
    ground.git("reset", "--quiet", "--hard", first)
    assert ground.told() == f"the last commit is not built on the proven one ({head[:10]})"


def test_another_branch_is_told(ground: Ground) -> None:
    ground.proven()
    ground.git("switch", "--quiet", "--create", "other")
    assert ground.told() == "the branch is now other, and it was main"
    ground.git("switch", "--quiet", "--detach")
    assert ground.told() == "no branch is checked out now, and it was main"


def test_a_head_without_a_branch_can_be_the_proven_one(ground: Ground) -> None:
    ground.git("switch", "--quiet", "--detach")
    ground.proven()
    assert ground.told() == "the commit is still the proven one"
    ground.git("switch", "--quiet", "main")
    assert ground.told() == "the branch is now main, and it was none"


def test_another_worktree_is_named_also_when_it_is_gone(ground: Ground, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    ground.git("worktree", "add", "--quiet", "-b", "work", str(beside))
    ground.proven(beside)
    assert ground.told() == (
        f"it was proven in another worktree: {beside}; branch and commit are still the proven ones"
    )
    shutil.rmtree(beside)
    assert ground.told() == f"the folder that was proven is gone: {beside}"


def test_a_repository_that_is_gone_is_told(ground: Ground) -> None:
    ground.proven()
    shutil.rmtree(ground.root / ".git")
    assert ground.told() == "git finds no commit there any more"


def test_a_record_that_names_no_commit_asks_git_nothing(ground: Ground) -> None:
    at = Proven("", "--output=x", "main", str(ground.root))
    proof_record.save(ground.loop, ProofRecord(proven=at))
    assert ground.told() == ""
    assert ground.told(2) == "2 files have changed since"


# The tree


@pytest.fixture
def kept(ground: Ground) -> Ground:
    """With a start that was kept, and the work of today proven."""
    found = ground
    (found.root / "app.py").write_text("before")
    (found.root / "feature_list.json").write_text("{}")
    base, why = baseline.take(found.loop, str(found.root), found.env, commands=(), terms={})
    assert base is not None, why
    (found.root / "app.py").write_text("the work")
    since, why = baseline.since(found.loop, base, str(found.root), found.env)
    assert since is not None, why
    head = found.git("rev-parse", "HEAD")
    proof_record.save(
        found.loop, ProofRecord(proven=Proven(since.tree, head, "main", str(found.root), "2026"))
    )
    return found


SAME = "the tree is still the proven one; branch and commit are still the proven ones"


def test_the_proven_tree_is_compared_with_what_is_there(kept: Ground) -> None:
    assert still_proven(kept.loop, kept.env) == SAME
    (kept.root / "app.py").write_text("other work")
    (kept.root / "new.py").write_text("x")
    told = "2 files have changed since; branch and commit are still the proven ones"
    assert still_proven(kept.loop, kept.env) == told
    (kept.root / "app.py").write_text("the work")
    (kept.root / "new.py").unlink()
    assert still_proven(kept.loop, kept.env) == SAME


def test_the_loops_own_files_are_no_work(kept: Ground) -> None:
    (kept.root / "feature_list.json").write_text("[]")
    for path in (".ralph/run/L1/journal.jsonl", ".ralph/loops/demo/progress.txt"):
        (kept.root / path).parent.mkdir(parents=True, exist_ok=True)
        (kept.root / path).write_text("x")
    assert still_proven(kept.loop, kept.env) == SAME


def test_a_commit_of_the_proven_work_leaves_the_tree_as_it_was(kept: Ground) -> None:
    kept.git("add", "--all")
    kept.commit()
    assert still_proven(kept.loop, kept.env).startswith("the tree is still the proven one; 1 commit made")


def test_who_compares_leaves_nothing_behind(kept: Ground, tmp_path: Path) -> None:
    def everything() -> dict[Path, tuple[int, int]]:
        found = [path for path in tmp_path.rglob("*") if path.is_file()]
        return {path: (path.stat().st_size, path.stat().st_ctime_ns) for path in found}

    (kept.root / "app.py").write_text("other work")
    before = everything()
    assert still_proven(kept.loop, kept.env).startswith("1 file has changed since")
    assert everything() == before


@pytest.mark.parametrize("lost", ["objects", "record", "tree"])
def test_without_what_was_kept_nothing_is_said_of_the_tree(kept: Ground, lost: str) -> None:
    own = Path(kept.loop.kept)
    if lost == "objects":
        shutil.rmtree(own / "baseline")
    elif lost == "record":
        (own / "baseline.json").unlink()
    else:
        proven = Proven("0" * 40, "", "", str(kept.root))
        proof_record.save(kept.loop, ProofRecord(proven=proven))
    (kept.root / "app.py").write_text("other work")
    told = still_proven(kept.loop, kept.env)
    assert not [word for word in ("tree", "changed") if word in told]
