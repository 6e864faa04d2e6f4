"""The command `make fuzz`: what it calls a finding, and when it fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fuzz import run

LOG = "#2\tINITED cov: 7 ft: 9\n#512\tpulse  cov: 9 ft: 9\n"
CRASH = "crash-0a1b"


@pytest.fixture
def fuzzed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command with a child that ends as given, and writes what it is said to have found."""
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "HERE", tmp_path / "fuzz")
    stamps = iter(range(1, 9))

    def go(code: int, log: str, *, found: str = "", target: str = "state") -> int:
        def start(*_: object) -> tuple[int, str]:
            if found:
                place = tmp_path / "fuzz" / "findings" / target / found
                place.write_text("input")
                run.os.utime(place, ns=(0, next(stamps)))
            return code, log

        monkeypatch.setattr(run, "_start", start)
        monkeypatch.setattr(sys, "argv", ["run.py", "--target", target])
        return run.main()

    return go


@pytest.mark.parametrize(("target", "log"), [("state", LOG), ("life", "executions: 50\n")])
def test_a_run_that_finds_nothing_is_fine(fuzzed: Any, target: str, log: str) -> None:
    assert fuzzed(0, log, target=target) == 0


def test_what_is_found_again_is_a_finding_again(fuzzed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert fuzzed(77, LOG, found=CRASH) == 1
        told = capsys.readouterr().out
        assert f"--target state --replay fuzz/findings/state/{CRASH}" in told
        assert run.LOG not in told
    assert fuzzed(0, LOG) == 0


@pytest.mark.parametrize("target", ["state", "life"])
def test_a_target_that_does_not_start_fails_each_time(
    fuzzed: Any, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    for log in ("ImportError: a", "ImportError: b"):
        assert fuzzed(1, log, target=target) == 1
        told = capsys.readouterr().out
        assert f"{target} did not run as it should: exit code 1, see fuzz/findings/{target}/last.log" in told
        assert "--replay" not in told
        assert (run.HERE / "findings" / target / run.LOG).read_text() == log


def test_a_run_without_a_single_execution_fails(fuzzed: Any) -> None:
    assert fuzzed(0, "") == 1


def test_an_interpreter_that_lacks_something_is_told_in_one_sentence(
    fuzzed: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None if name == "atheris" else name)
    assert fuzzed(0, LOG) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "has no atheris: run it with .venv/bin/python" in told.err
    assert fuzzed(0, "executions: 50\n", target="life") == 0
