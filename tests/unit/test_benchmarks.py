"""The benchmarks compare with every hook that is named, and give up where nothing can be started."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_a_hook_without_an_aim_gets_a_ratio_too() -> None:
    from sections import stop_ratios
    from timing import Series

    series = [Series("active", [10.0]), Series("node", [20.0]), Series("mine", [40.0])]
    found = {one.name: (one.value, one.verdict) for one in stop_ratios(series, ["node", "mine", "absent"])}
    assert found == {"active / node": (0.5, "missed"), "active / mine": (0.25, "reported")}


def test_a_loop_that_never_starts_ends_the_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import load

    monkeypatch.setattr(load, "command", lambda ground, word, *_, **__: word != "start")
    ground = load.Ground(tmp_path, tmp_path)
    with pytest.raises(TimeoutError, match="load0001 could not be started in 20 attempts"):
        ground.new_work()
    assert ground.counts["starts_tried_again"] == load.STARTS_MOST
