"""The package as others get it: a clone, and a folder that stands in for the package registry."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from e2e.client import REPOSITORY

# An interpreter of the machine: a venv made with it has nothing of ours.
PYTHON = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
IDENTITY = ("-c", "user.name=Tester", "-c", "user.email=tester@example.invalid")


def must(words: Sequence[str | Path], **options: object) -> str:
    """What a command prints; a failed test with all its output if it fails."""
    done = subprocess.run(  # type: ignore[call-overload]
        [str(word) for word in words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        timeout=100, **options,
    )  # fmt: skip
    assert done.returncode == 0, f"{words} exited with {done.returncode}:\n{done.stdout}"
    return str(done.stdout)


def make_origin(folder: Path) -> Path:
    """A repository with the files of this one as they are now, committed or not."""
    origin = folder / "origin"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = must(listing, cwd=REPOSITORY).split("\0")[:-1]
    for name in names:
        source, target = REPOSITORY / name, origin / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        elif source.exists():
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=all of it"]):
        must(["git", *IDENTITY, *words], cwd=origin)
    return origin


def clone(origin: Path, folder: Path) -> Path:
    place = folder / "ralphloop"
    must(["git", "clone", "--quiet", origin, place])
    return place


def fill(shelf: Path) -> Path:
    """All that building and installing the package downloads, by the caller's own pip and its settings."""
    wanted = ["pip", "hatchling", "hatch-fancy-pypi-readme", "rich", 'tomli; python_version < "3.11"']
    words = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    done = subprocess.run(
        [sys.executable, *words, "--dest", str(shelf), *wanted], capture_output=True, check=False, timeout=100
    )
    if done.returncode != 0:  # its words may name the caller's index
        pytest.fail("pip could not download what the package is built with; try `pip download hatchling`")
    return shelf


def newcomer(home: Path, shelf: Path, *bins: Path) -> dict[str, str]:
    """The whole environment of somebody with git and a Python alone; the shelf is their registry."""
    home.mkdir(exist_ok=True)
    path = os.pathsep.join([*map(str, bins), str(PYTHON.parent), "/usr/bin", "/bin"])
    return {
        "HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TMPDIR": str(home.parent),
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(shelf), "UV_NO_CONFIG": "1",
        "UV_PYTHON": str(PYTHON), "UV_PYTHON_DOWNLOADS": "never",
    }  # fmt: skip
