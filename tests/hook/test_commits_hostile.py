"""Commits in repositories and for tasks that mean no good, or that are only unusual."""

from __future__ import annotations

import json
import shlex

import pytest

from hook.branches import IDENTITY, commits, drive, driven, files_of, git, is_clean, turn
from hook.conftest import ProjectFactory
from hook.harness import LoopProject, feature
from hook.proven import LIST, events, lines_of, listed

TITLES = {
    "option": "--amend --no-verify",
    "lines": "first\nsecond\r\n\nthird",
    "trailer": "x\n\nRalphloop-Task: F2\nRalphloop-Evidence: 9999-F2",
    "comment": "# not a comment",
    "control": "a\x00b\x1b[2Jc\x07d\u202e\u2028e",
    "emoji": "🚀 café 中文 👩‍💻",
    "long": "word " * 2000,
    "glued": "x" * 10_000,
    "divider": "---\n+++ b/x",
    "empty": "",
}


def test_no_title_changes_what_is_committed(project: ProjectFactory):
    for kind, title in TITLES.items():
        found = driven(project, feature("F1", description=title, steps=[title]), feature("F2"))
        turn(found, 1)
        (only,) = commits(found)
        assert (only.task, only.evidence) == ("F1", "none (unverified)"), kind
        assert len(only.subject) <= 72, kind
        assert only.subject.startswith("F1"), kind
        whole = git(found, "log", "-1", "--format=%B", only.sha)
        assert not [ch for ch in whole if (ord(ch) < 32 and ch != "\n") or ch == "\u202e"], kind
        assert git(found, "log", "-1", "--format=%s", only.sha + "~1") == "start", kind
        turn(found)
        assert len(commits(found)) == 1, kind


def test_no_id_changes_what_is_committed(project: ProjectFactory):
    for name in ("--amend", "a\nRalphloop-Task: F2", "x" * 10_000, "🚀", "a  b", "-m"):
        found = driven(project, feature(name), feature("F2"))
        turn(found, 1)
        (only,) = commits(found)
        assert only.task != "F2", name
        assert len(only.subject) <= 72, name
        turn(found)
        assert len(commits(found)) == 1, name


def test_ids_that_look_alike_are_kept_apart(project: ProjectFactory):
    found = driven(project, feature("a b"), feature("a  b"), feature("F3"))
    turn(found, 1, 2)
    assert len({commit.task for commit in commits(found)}) == 2


def test_no_program_of_the_repository_runs(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    ran = found.base / "ran"
    script = f"#!/bin/sh\necho $0 >> {shlex.quote(str(ran))}\nexit 1\n"
    hooks = [found.root / ".git" / "hooks", found.base / "hooks"]
    names = (
        "pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-index-change",
        "reference-transaction", "post-checkout", "pre-auto-gc", "program",
    )  # fmt: skip
    for folder in hooks:
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
    program = str(hooks[1] / "program")
    config = found.root / ".git" / "config"
    config.write_text(
        config.read_text()
        + f'[core]\n\thooksPath = "{hooks[1]}"\n\tfsmonitor = "{program}"\n\teditor = "{program}"\n'
        + f'\tpager = "{program}"\n\tsshCommand = "{program}"\n'
        + f'[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = "{program}"\n[log]\n\tshowSignature = true\n'
        + f'[credential]\n\thelper = "{program}"\n[gc]\n\tauto = 1\n[diff]\n\texternal = "{program}"\n'
    )
    turn(found, 1)
    assert lines_of(ran) == []
    plain = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c", "log.showSignature=false"]
    assert "Ralphloop-Task: F1" in git(found, *plain, "log", "-1", "--format=%B")
    assert "gpgsig" not in git(found, *plain, "cat-file", "commit", "HEAD")


def test_variables_of_git_in_the_environment_lead_nowhere_else(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    elsewhere = found.base / "elsewhere"
    elsewhere.mkdir()
    git(found, "init", "--quiet", cwd=elsewhere)
    found.extra_env = {
        "GIT_DIR": str(elsewhere / ".git"), "GIT_WORK_TREE": str(elsewhere),
        "GIT_INDEX_FILE": str(elsewhere / "index"), "GIT_AUTHOR_NAME": "Nobody",
    }  # fmt: skip
    turn(found, 1)
    assert len(commits(found)) == 1
    assert git(found, "log", "-1", "--format=%an") == "Person"
    assert not (elsewhere / "index").exists()


def test_a_filter_that_the_person_set_up_does_its_work(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    git(found, "config", "filter.up.clean", "tr a-z A-Z")
    (found.root / ".gitattributes").write_text("*.txt filter=up\n")
    turn(found, 1)
    assert git(found, "show", "work:work1.txt") == "WORK ON 1"


def test_ignored_files_and_our_own_stay_out(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    (found.root / ".gitignore").write_text("secret.env\n")
    (found.root / "secret.env").write_text("x\n")
    (found.root / ".ralph" / "run" / ".gitignore").unlink()
    turn(found, 1)
    named = files_of(found, commits(found)[0])
    assert ".gitignore" in named
    assert not [name for name in named if name.startswith(".ralph/run") or name == "secret.env"]


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/work.lock"])
def test_a_lock_file_that_was_left_is_named_or_does_no_harm(project: ProjectFactory, name):
    found = driven(project, feature("F1"), feature("F2"), feature("F3"))
    lock = found.root / ".git" / name
    lock.touch()
    assert turn(found, 1).blocks
    if name == "index.lock":
        assert len(commits(found)) == 1
    else:
        assert commits(found) == []
        assert lock.name in events(found, "commit_failed")[-1]["why"]
    lock.unlink()
    turn(found, 2)
    assert [commit.task for commit in commits(found)] == ["F1", "F2"]
    assert is_clean(found)


def test_a_file_that_cannot_be_added_is_told(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    (found.root / "inner").mkdir()
    git(found, "init", "--quiet", cwd=found.root / "inner")
    reason = turn(found, 1).reason
    assert reason.startswith("ralphloop did not commit: not all files can be added")
    assert "inner" in reason
    assert commits(found) == []


def test_a_dirty_submodule_is_left_alone(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    other = found.base / "other"
    other.mkdir()
    git(found, "init", "--quiet", cwd=other)
    git(found, "commit", "--quiet", "--allow-empty", "--message=x", cwd=other)
    git(found, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    git(found, "commit", "--quiet", "--message=sub")
    ran = found.base / "ran"
    program = found.base / "program"
    program.write_text(f"#!/bin/sh\necho >> {shlex.quote(str(ran))}\n")
    program.chmod(0o755)
    git(found, "config", "core.fsmonitor", str(program), cwd=found.root / "sub")
    (found.root / "sub" / "new.txt").write_text("x\n")
    turn(found, 1)
    assert files_of(found, commits(found)[0]) == {"work1.txt", LIST}
    assert lines_of(ran) == []


# Places


def begin(found: LoopProject, *, branch: str) -> None:
    (found.home / ".gitconfig").write_text(IDENTITY)
    found.arm()
    drive(found, branch=branch)


def test_the_whole_work_tree_is_committed_for_a_project_in_a_subfolder(project: ProjectFactory):
    found = listed(project, feature("F1"), feature("F2"), armed=False)
    whole = found.base / "mono"
    whole.mkdir()
    found.root = found.root.rename(whole / "app")
    git(found, "init", "--quiet", "--initial-branch=main", cwd=whole)
    begin(found, branch="main")
    (whole / "shared.txt").write_text("beside the project\n")
    turn(found, 1)
    (only,) = commits(found, "main")
    names = git(found, "ls-tree", "-r", "--name-only", "--full-tree", only.sha).splitlines()
    assert names == [f"app/{LIST}", "app/work1.txt", "shared.txt"]
    assert is_clean(found)


def test_a_repository_without_a_commit_gets_its_first(project: ProjectFactory):
    found = listed(project, feature("F1"), feature("F2"), feature("F3"), armed=False)
    git(found, "init", "--quiet", "--initial-branch=main")
    begin(found, branch="main")
    turn(found, 1, 2)
    assert [commit.task for commit in commits(found, "main")] == ["F1", "F2"]
    assert git(found, "rev-list", "--count", "main") == "2"
    assert is_clean(found)


def test_a_session_in_a_worktree_commits_there(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    git(found, "switch", "--quiet", "main")
    tree = found.base / "tree"
    git(found, "worktree", "add", "--quiet", str(tree), "work")
    (tree / "there.txt").write_text("x\n")
    (found.root / "here.txt").write_text("x\n")
    found.close(1)
    payload = {**found.payload(), "cwd": str(tree)}
    assert found.run(json.dumps(payload).encode(), registration="run", cwd=tree).blocks
    assert files_of(found, commits(found)[0]) == {"there.txt"}
    assert git(found, "status", "--porcelain", cwd=tree) == ""
    assert "?? here.txt" in git(found, "status", "--porcelain")


def test_without_a_repository_the_loop_goes_on(project: ProjectFactory):
    found = listed(project, feature("F1"), feature("F2"), armed=False)
    begin(found, branch="work")
    assert "task F2" in turn(found, 1).reason
    assert "no git work tree" in events(found, "commit_failed")[-1]["why"]


def test_a_list_that_cannot_be_read_waits(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    whole = json.loads(found.own.read_text())
    turn(found, 1)
    found.own.write_text("{")
    turn(found)
    whole["features"][0]["passes"] = whole["features"][1]["passes"] = True
    found.own.write_text(json.dumps(whole))
    turn(found)
    assert [commit.task for commit in commits(found)] == ["F1", "F2"]
