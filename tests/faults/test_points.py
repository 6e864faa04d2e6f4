"""Three hundred faults at the calls by which the hook, the commands and the supervisor change the disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hook.harness import PATH, REPOSITORY

RUNNER = REPOSITORY / "soak" / "faults.py"
SEED = "6"
pytestmark = pytest.mark.slow


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A process without threads, in which forking is safe."""
    return subprocess.run(
        [sys.executable, str(RUNNER), "--seed", SEED, *words],
        env={"PATH": PATH, "HOME": str(folder)}, capture_output=True, text=True, timeout=800,
    )  # fmt: skip


@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", ["1/2", "2/2"])
def test_no_fault_loses_or_doubles_anything(tmp_path: Path, part: str) -> None:
    ended = run(tmp_path, "--points", "300", "--supervisor", "4", "--workers", "1", "--part", part)
    told = ended.stdout.splitlines()[-1] if ended.stdout else ""
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert told.endswith(": 0 lost")
    print(told)


def test_a_project_that_goes_while_a_check_is_written_down_stays_gone(tmp_path: Path) -> None:
    scenes = ("features/green", "features/done-checked")
    points = [f"--point={scene}:project-gone:{at}" for scene in scenes for at in range(25, 45)]
    ended = run(tmp_path, *points)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.timeout(400)
@pytest.mark.parametrize("carelessness", ["torn", "unsaid", "forgetful"])
def test_a_careless_store_is_found_out(tmp_path: Path, carelessness: str) -> None:
    """The same faults, where files are written in place, errors are kept quiet, or a ledger forgets."""
    careless = Path(__file__).with_name("careless.py")
    ended = subprocess.run(
        [sys.executable, str(careless), carelessness, str(tmp_path)],
        env={"PATH": PATH, "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lost, met = map(int, ended.stdout.split())
    assert 0 < lost <= met
