"""The published figures are what was measured, put into words by one script."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "figures.py"
KEPT = json.loads((REPOSITORY / "docs" / "benchmarks.json").read_text())


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location("figures", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_page_is_what_the_kept_figures_say() -> None:
    assert subprocess.run([sys.executable, str(SCRIPT), "--check"]).returncode == 0


def test_our_hook_passed_every_case_and_the_others_were_played_too() -> None:
    results = KEPT["conformance"]
    assert set(results) == {"ralphloop", "bash+jq", "node"}
    assert results["ralphloop"]["passed"] == results["ralphloop"]["total"] >= 150
    assert all(found["passed"] + found["failed"] >= 100 for found in results.values())
    assert all(50 < sum(found["reports"].values()) < found["total"] for found in results.values())
    assert results["ralphloop"]["reports"]["failed"] == 0


def test_as_many_cases_were_played_as_there_are() -> None:
    cases = list((REPOSITORY / "conformance" / "cases").rglob("*.toml"))
    assert KEPT["conformance"]["ralphloop"]["total"] == len(cases)


def test_a_hook_whose_program_is_missing_is_named_and_not_played(
    figures: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "jq" else f"/usr/bin/{name}")
    options = figures.hooks()
    assert options["ralphloop"] == []
    assert options["bash+jq"] is None
    assert figures.suite(options["bash+jq"]) is None
    assert options["node"][0] == "--hook"
    told = figures.page({**KEPT, "conformance": {**KEPT["conformance"], "bash+jq": None}})
    assert "bash+jq is not installed: left out." in told
    assert "| bash+jq |" not in told.partition("\n## stop\n")[0]


@pytest.mark.parametrize(
    ("quick", "told"), [(True, 'out of `make bench BENCH="--quick"`,'), (False, "out of `make bench`,")]
)
def test_the_page_says_how_long_the_benchmarks_ran(figures: ModuleType, quick: bool, told: str) -> None:
    assert told in figures.page({**KEPT, "bench": {**KEPT["bench"], "quick": quick}})


def test_benchmarks_of_few_rounds_are_called_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    import run as bench

    (stop,) = [one for one in KEPT["bench"]["sections"] if one["name"] == "stop"]
    part = bench.PARTS["stop"]
    wanted = part.quick_rounds if KEPT["bench"]["quick"] else part.rounds
    assert {one["runs"] for one in stop["series"]} == {wanted}


@pytest.mark.parametrize("part", KEPT["soak"])
def test_the_published_soak_held(part: str) -> None:
    assert KEPT["soak"][part]["exit_code"] == 0


def test_journals_moved_aside_in_the_published_load() -> None:
    assert KEPT["soak"]["load"]["journals_moved_aside"] > 0
