"""A `git` that an agent puts first on the PATH of its session is never started by us."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hook.branches import commits, driven, turn
from hook.conftest import ProjectFactory
from hook.harness import PATH, LoopProject, feature
from hook.proven import cli, listed

REAL = shutil.which("git") or ""


class Liar:
    """First on PATH, and it says that it ran."""

    def __init__(self, found: LoopProject) -> None:
        self.mark = found.base / "lied"
        self.folder = found.base / "lies"
        self.folder.mkdir()
        script = self.folder / "git"
        script.write_text(f'#!/bin/sh\necho "$@" >>{self.mark}\nexec {REAL} "$@"\n')
        script.chmod(0o755)
        self.env = {"PATH": f"{self.folder}:{PATH}"}
        found.extra_env.update(self.env)

    @property
    def told(self) -> str:
        return self.mark.read_text() if self.mark.exists() else ""


def test_no_stop_and_no_commit_starts_it(project: ProjectFactory) -> None:
    found = driven(project, feature("F1", verify="git --version"), feature("F2"))
    liar = Liar(found)
    assert turn(found, 1).blocks
    assert [one.task for one in commits(found)] == ["F1"]
    # the check itself is the session's, and shows that the lie was first on its PATH
    assert liar.told.splitlines() == ["--version"]


@pytest.mark.parametrize("words", [("done", "F1"), ("verify", "F1")])
def test_no_command_about_a_task_starts_it(project: ProjectFactory, words: tuple[str, ...]) -> None:
    found = listed(project, feature("F1", verify="true"), feature("F2"), armed=False)
    found.commit_all()
    found.arm()
    liar = Liar(found)
    done = cli(found, *words, env={**liar.env, "CLAUDECODE": "1"})
    assert done.returncode == 0, done
    assert found.journal() or words[0] == "verify"
    assert liar.told == ""


RECORD = Path(".local/state/ralphloop/git")


@pytest.mark.parametrize("words", [("start", "demo"), ("install",)])
def test_an_agents_own_start_or_install_records_no_git(
    project: ProjectFactory, words: tuple[str, ...]
) -> None:
    found = listed(project, feature("F1"), armed=False)
    found.commit_all()
    liar = Liar(found)
    done = cli(found, *words, env={**liar.env, "CLAUDECODE": "1"})
    assert done.returncode == 0 or "inside Claude Code" in done.stderr
    assert not (found.home / RECORD).exists()


@pytest.mark.parametrize("words", [("start", "demo"), ("install",)])
def test_a_persons_start_or_install_records_theirs(project: ProjectFactory, words: tuple[str, ...]) -> None:
    found = listed(project, feature("F1"), armed=False)
    found.commit_all()
    own = Liar(found)
    assert cli(found, *words, env=own.env).returncode == 0
    assert (found.home / RECORD).read_text() == f"{own.folder / 'git'}\n"
