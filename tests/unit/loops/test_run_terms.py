"""Whether `run` may let the client start what a folder brings: a worktree is its main checkout here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from e2e.cli_project import Project
from ralphloop.errors import UserError
from ralphloop.loops.run_terms import must_be_trusted

SETTINGS = ".claude/settings.json"


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A repository that brings settings of its own, with a worktree `beside` it."""
    main = tmp_path / "main"
    (main / ".claude").mkdir(parents=True)
    (main / SETTINGS).write_text("{}")
    identity = ("-c", "user.name=P", "-c", "user.email=p@example.invalid")
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        (*identity, "commit", "--quiet", "-m", "begin"),
        ("worktree", "add", "--quiet", str(tmp_path / "beside")),
    ):
        subprocess.run(["git", *words], cwd=main, check=True)
    return main


def trusting(home: Path, *folders: Path) -> dict[str, str]:
    projects = {str(folder): {"hasTrustDialogAccepted": True} for folder in folders}
    home.mkdir()
    (home / ".claude.json").write_text(json.dumps({"projects": projects}))
    return {"HOME": str(home)}


def test_a_worktree_is_trusted_as_its_main_checkout_is(main: Path, tmp_path: Path) -> None:
    env, inner = trusting(tmp_path / "home", main), tmp_path / "beside/web"
    inner.mkdir()
    must_be_trusted(str(tmp_path / "beside"), env)
    must_be_trusted(str(inner), env)


def test_without_that_it_is_refused_by_name(main: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=SETTINGS):
        must_be_trusted(str(tmp_path / "beside"), trusting(tmp_path / "home"))


def test_a_folder_that_only_says_that_it_is_a_worktree_is_not_trusted(main: Path, tmp_path: Path) -> None:
    """It may come in an archive; the main checkout knows its worktrees."""
    forged = tmp_path / "forged"
    (forged / ".claude").mkdir(parents=True)
    (forged / SETTINGS).write_text("{}")
    (forged / ".git").write_text((tmp_path / "beside/.git").read_text())
    with pytest.raises(UserError, match=SETTINGS):
        must_be_trusted(str(forged), trusting(tmp_path / "home", main))


def test_the_main_checkout_s_own_settings_count_in_a_worktree(main: Path, tmp_path: Path) -> None:
    (tmp_path / "beside" / SETTINGS).unlink()
    env = trusting(tmp_path / "home")
    must_be_trusted(str(tmp_path / "beside"), env)
    (main / ".claude/settings.local.json").write_text("{}")
    with pytest.raises(UserError, match=r"settings\.local\.json"):
        must_be_trusted(str(tmp_path / "beside"), env)


def test_what_install_wrote_needs_no_trust_until_somebody_changes_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    env = project.env()
    project.fine("install")
    must_be_trusted(str(project.root), env)
    project.fine("install", "--statusline")
    must_be_trusted(str(project.root), env)
    assert "trust" not in project.run("doctor", "--no-live").out
    path = project.root / ".claude/settings.local.json"
    path.write_text(path.read_text().replace("guard.sh", "other.sh"))
    with pytest.raises(UserError, match=r"settings\.local\.json"):
        must_be_trusted(str(project.root), env)
    told = " ".join(project.run("doctor", "--no-live").out.split())
    assert (
        "! trust: `ralphloop run` refuses here: Claude Code would run what .claude/settings.local.json"
        in told
    )
    assert "start `claude` here once and accept, then run again." in told


def test_what_install_added_to_settings_of_others_needs_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(".claude/settings.local.json", '{"permissions": {"allow": ["Bash(make:*)"]}}')
    project.fine("install")
    with pytest.raises(UserError, match=r"settings\.local\.json"):
        must_be_trusted(str(project.root), project.env())
