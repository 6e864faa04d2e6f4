"""The suite itself: where it refuses to run, and that it notices a client that was not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
WORKER = ("-n", "1")
SKIP = "pytest.skip('Claude Code is not installed')"
CASES = """
import pytest

@pytest.mark.client
def test_in_the_client():
    {first}

def test_another():
    pass
"""


def suite(folder: Path, first: str = "pass", *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A run of two tests under our own conftest."""
    folder.mkdir(exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = client\n")
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "test_it.py").write_text(CASES.format(first=first))
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "no:cacheprovider", "-q", *words],
        cwd=folder,
        env={
            "PATH": os.defpath,
            "HOME": str(folder),
            "TMPDIR": str(temporary),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **env,
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_repository_above_the_temporary_folder_stops_it_at_once(tmp_path: Path) -> None:
    """A file is as good as a folder: a worktree has one."""
    for kind in ("folder", "file"):
        above = tmp_path / kind
        below = above / "deep" / "er"
        below.mkdir(parents=True)
        if kind == "folder":
            (above / ".git").mkdir()
        else:
            (above / ".git").write_text("gitdir: elsewhere\n")
        done = suite(tmp_path / "suite", TMPDIR=str(below))
        assert done.returncode == 3, done.stdout
        assert f"{above / '.git'} makes every scratch project in {below}" in done.stderr, kind
        assert "set TMPDIR to a folder without one" in done.stderr, kind
        assert "passed" not in done.stdout, kind


def test_it_runs_where_there_is_none(tmp_path: Path) -> None:
    done = suite(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 passed" in done.stdout


@pytest.mark.slow
def test_a_client_that_was_not_there_is_no_failure_unless_it_had_to_be(tmp_path: Path) -> None:
    assert suite(tmp_path, SKIP).returncode == 0
    for words in ((), WORKER):
        done = suite(tmp_path, SKIP, *words, RALPHLOOP_REQUIRE_CLIENT="1")
        assert done.returncode == 1, done.stdout
        assert "1 failed, 1 passed" in done.stdout, words
        assert "this was skipped" in done.stdout, words
        assert "Claude Code is not installed" in done.stdout, words


@pytest.mark.slow
def test_nor_is_a_run_without_any_test_in_the_client(tmp_path: Path) -> None:
    for words in ((), WORKER):
        done = suite(tmp_path, "pass", *words, RALPHLOOP_REQUIRE_CLIENT="1")
        assert done.returncode == 0, done.stdout
        done = suite(tmp_path, "pass", *words, "-m", "not client", RALPHLOOP_REQUIRE_CLIENT="1")
        assert done.returncode == 1, done.stdout
        assert "no test ran the client" in done.stdout, words
