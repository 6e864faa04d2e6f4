"""The long proofs in their short form: they run, they pass, and they notice what is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LOAD = [sys.executable, "benchmarks/load.py", "--loops", "4", "--at-once", "4", "--tasks", "3"]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_little_load_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "load.json"
    done = run(*LOAD, "--minutes", "0.1", "--json", str(file))
    found = json.loads(file.read_text())
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["lost_or_wrong"] == 0
    assert found["journals_moved_aside"] > 0
    assert found["stops"] >= found["tasks_closed"] >= 3 * found["loops_ended"] > 0
    assert found["median_ms"] <= found["p99_ms"] <= found["max_ms"]


def test_a_lost_update_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    from load import Ground, Work, lost_updates

    work = Work("one", Ground(tmp_path, tmp_path / "home"), answered=2, closed=2)
    folder = tmp_path / ".ralph" / "run" / "features-one-20260101T000000Z"
    folder.mkdir(parents=True)
    (folder / "loop.json").write_text(json.dumps({"outcome": None}))
    entries = [{"event": "stop", "decision": "continue", "claimed": [task]} for task in ("F1", "F2")]
    journal = folder / "journal.jsonl"
    journal.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert list(lost_updates(work)) == []
    journal.write_text(json.dumps(entries[0]) + "\n")
    assert [text.partition(": ")[2] for text in lost_updates(work)] == [
        "2 tasks closed, 1 claims in the journal",
        "2 stops answered, 1 continuations in the journal",
    ]


def test_the_long_proof_says_what_failed_and_keeps_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY))
    from soak import run as soak

    figures = tmp_path / "figures.json"
    parts = {"faults": lambda share: (0, {"points": 10_000 * share}), "load": lambda share: (1, {})}
    monkeypatch.setattr(soak, "PARTS", parts)
    monkeypatch.setattr(sys, "argv", ["run.py", "--share", "0.5", "--json", str(figures)])
    assert soak.main() == 1
    told = [line.split() for line in capsys.readouterr().out.splitlines() if not line.startswith("=")]
    assert told == [["faults", "held", "0", "s"], ["load", "FAILED", "0", "s"]]
    kept = json.loads(figures.read_text())
    assert kept["faults"] == {"points": 5000.0, "seconds": 0, "exit_code": 0}


def test_every_test_that_has_a_long_way_takes_it_in_a_soak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY))
    from soak import run as soak

    tests = (REPOSITORY / "tests").rglob("test_*.py")
    long = [
        path for path in tests if "from fakes.effort import" in path.read_text() and path != Path(__file__)
    ]
    assert {str(path.relative_to(REPOSITORY)) for path in long} == set(soak.KILLS)


def test_a_small_share_still_meets_a_hundred_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY))
    from soak import run as soak

    monkeypatch.setattr(soak, "with_figures", lambda *words: words)
    assert [soak.faults(share)[-1] for share in (0.001, 0.5)] == ["100", "5000"]
