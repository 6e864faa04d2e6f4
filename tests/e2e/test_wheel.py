"""The built wheel: it holds everything that runs, and runs where nothing else is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from e2e.client import REPOSITORY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, *build, "--wheel-dir", str(folder), str(REPOSITORY)], check=True, timeout=100
    )
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_what_is_not_python(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "ralphloop/hook/guard.sh",
        "ralphloop/loops/templates/RALPH_PROMPT.md",
        "ralphloop/py.typed",
        "ralphloop/testing/conformance/data/cases/none/no-list.toml",
    ):
        assert needed in names


def test_wheel_needs_what_contributing_gives_a_reason_for(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        needed = re.findall(r"^Requires-Dist: ([\w-]+)", archive.read(metadata).decode(), re.MULTILINE)
    reasons = (REPOSITORY / "CONTRIBUTING.md").read_text().partition("| at run time |")[2]
    assert needed == ["rich", "tomli"]
    assert all(f"| {name}" in reasons for name in needed)


def run_unpacked(wheel: Path, folder: Path, *words: str) -> str:
    """What a command prints, unpacked with the mode that a zip gives: nothing is executable."""
    site = folder / "a site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": str(site)}
    base = Path(sys.base_prefix) / "bin" / "python3"
    done = subprocess.run(
        [str(base), "-m", "ralphloop", *words],
        cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_demo_runs_from_the_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    assert "outcome         complete" in run_unpacked(wheel, tmp_path, "demo", "--fast")


def test_the_conformance_suite_runs_from_the_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    """Its cases are in the wheel, and the hook is the one that `install` would register."""
    told = run_unpacked(wheel, tmp_path, "conformance", "--only", "*/another-session.toml")
    assert "all               2        0        0        2" in told
