"""The published figures are what was measured, put into words by one script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "figures.py"
KEPT = json.loads((REPOSITORY / "docs" / "benchmarks.json").read_text())


def test_the_page_is_what_the_kept_figures_say() -> None:
    assert subprocess.run([sys.executable, str(SCRIPT), "--check"]).returncode == 0


def test_our_hook_passed_every_case_and_the_others_were_played_too() -> None:
    results = KEPT["conformance"]
    assert set(results) == {"ralphloop", "bash + jq", "node"}
    assert results["ralphloop"]["passed"] == results["ralphloop"]["total"] >= 150
    assert all(found["passed"] + found["failed"] >= 100 for found in results.values())
    assert all(50 < sum(found["reports"].values()) < found["total"] for found in results.values())
    assert results["ralphloop"]["reports"]["failed"] == 0


def test_as_many_cases_were_played_as_there_are() -> None:
    cases = list((REPOSITORY / "conformance" / "cases").rglob("*.toml"))
    assert KEPT["conformance"]["ralphloop"]["total"] == len(cases)
