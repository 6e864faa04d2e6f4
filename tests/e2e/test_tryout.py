"""Trying it out without installing it: `make demo` in a fresh clone, pipx and uvx."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from e2e.packing import PYTHON, clone, fill, make_origin, must, newcomer

pytestmark = pytest.mark.slow

TOOLS = Path(sys.executable).parent
DEMO_S = 10  # the most that a demo may take; it takes about one where nobody looks on


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_origin(tmp_path_factory.mktemp("tryout"))


@pytest.fixture
def fresh(origin: Path, tmp_path: Path) -> Path:
    return clone(origin, tmp_path)


def refused(fresh: Path, env: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(
        ["make", "demo", *words], cwd=fresh, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == ""
    said, *more = done.stderr.splitlines()
    assert len(more) == 1, done.stderr  # make's own line
    return said


def test_make_demo_needs_no_installation(fresh: Path, tmp_path: Path) -> None:
    """No package index, no rich, no virtual environment; it says how to install and what to type then."""
    env = newcomer(tmp_path / "home", tmp_path / "nothing")
    must([PYTHON, "-I", "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('rich') is not None)"])
    begun = time.monotonic()
    told = must(["make", "demo", f"PYTHON={PYTHON}"], cwd=fresh, env=env)
    assert time.monotonic() - begun < DEMO_S
    assert "outcome         complete" in told
    assert "\n  pipx install .\n" in told
    assert must(["git", "status", "--porcelain"], cwd=fresh) == ""
    assert not (fresh / ".venv").exists()
    assert list((tmp_path / "home").iterdir()) == []


def test_make_demo_names_a_python_that_is_too_old(fresh: Path, tmp_path: Path) -> None:
    old = tmp_path / "old-python"
    old.write_text(f'#!/bin/sh\nexec {PYTHON} -c "import sys; sys.version_info = (3, 9, 6); $2"\n')
    old.chmod(0o755)
    said = refused(fresh, newcomer(tmp_path / "home", tmp_path), f"PYTHON={old}")
    assert (
        said == f"ralphloop needs Python 3.10 or newer, and {old} is 3.9.6: try make demo PYTHON=python3.12"
    )


def test_make_demo_says_that_there_is_no_python(fresh: Path, tmp_path: Path) -> None:
    said = refused(fresh, newcomer(tmp_path / "home", tmp_path), "PYTHON=python3.99")
    needed = "ralphloop needs Python 3.10 or newer: try make demo PYTHON=python3.12"
    assert said == f"There is no python3.99 here; {needed}"


@pytest.mark.parametrize(
    ("words", "backend"),
    [
        (["pipx", "run", "--spec", ".", "ralphloop", "demo"], "pip"),
        (["pipx", "run", "--spec", ".", "ralphloop", "demo"], "uv"),
        (["uvx", "--from", ".", "ralphloop", "demo"], ""),
    ],
    ids=["pipx", "pipx with uv", "uvx"],
)
def test_a_tool_that_runs_a_package_once_runs_the_demo(
    words: list[str], backend: str, fresh: Path, tmp_path: Path
) -> None:
    env = newcomer(tmp_path / "home", fill(tmp_path / "shelf")) | {"PIPX_DEFAULT_BACKEND": backend}
    told = must([TOOLS / words[0], *words[1:]], cwd=fresh, env=env)
    assert "outcome         complete" in told
    assert "\n  pipx install .\n" in told
    assert must(["git", "status", "--porcelain"], cwd=fresh) == ""
