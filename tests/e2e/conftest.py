"""Fixtures of the end-to-end tests: the client, its scratch home, and scratch git projects."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from e2e.client import ClientHome, find_client

ProjectFactory = Callable[..., Path]


@pytest.fixture(scope="session")
def claude_binary() -> Path:
    binary = find_client()
    if binary is None:
        reason = "Claude Code is not installed: run `make`, or name a binary in RALPHLOOP_CLAUDE"
        if os.environ.get("RALPHLOOP_REQUIRE_CLIENT") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return binary


@pytest.fixture
def client_home(claude_binary: Path, tmp_path: Path) -> ClientHome:
    return make_home(tmp_path, claude_binary)


@pytest.fixture
def project(tmp_path: Path) -> ProjectFactory:
    """Build a git repository with one commit from `{path: text}`."""
    return functools.partial(make_project, tmp_path)


def make_home(folder: Path, binary: Path) -> ClientHome:
    path = folder.resolve() / "home"
    path.mkdir()
    return ClientHome(path, binary)


def make_project(folder: Path, files: Mapping[str, str], name: str = "project") -> Path:
    root = folder.resolve() / name
    root.mkdir()
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message=start")
    return root


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"]
    env = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout
