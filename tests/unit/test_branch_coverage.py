"""The measured coverage is worth nothing where tests failed, and says so by its exit code."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "branch_coverage.py"


@pytest.mark.parametrize("only", [[], ["tests/unit"]], ids=["all", "some"])
@pytest.mark.parametrize(("code", "wanted"), [(0, 0), (1, 1)])
def test_a_test_that_fails_while_it_is_measured_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, only: list[str], code: int, wanted: int
) -> None:
    spec = importlib.util.spec_from_file_location("branch_coverage", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    shown: list[object] = []
    monkeypatch.setattr(found.Copy, "make", lambda copy: None)
    monkeypatch.setattr(found.Copy, "run", lambda copy, tests, options, *, client: code)
    monkeypatch.setattr(found.Copy, "combine", lambda copy: None)
    monkeypatch.setattr(found, "report", lambda *words, missing: shown.append(words) is None)
    monkeypatch.setattr(sys, "argv", ["branch_coverage.py", *only, "--work", str(tmp_path)])
    assert found.main() == wanted
    assert len(shown) == 1
