"""What first tries came to is put down beside what else is known by then, and never in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralphloop.domain.finding import CRITERIA, Finding
from ralphloop.domain.model import LoopState
from ralphloop.loops import proving
from ralphloop.proof import first_try, proof_record
from ralphloop.proof.proof_record import GREEN, RED, UNTRIED, ProofRecord, Proven, Tried
from ralphloop.store import approvals, tasks
from ralphloop.store.loop import LoopFiles
from unit.proof.baselines import Scene
from unit.proof.loops import Checked, task

DOUBT = Finding(CRITERIA, said="F1 is green only with changes to t.py", task="F1")
DONE = ProofRecord((DOUBT,), {"true": Tried(alone=GREEN, without=RED)}, round=7, proven=Proven(at="2026"))


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    return Checked(tmp_path).begin(task("F1", "true", passes=False), task("F2", "false", passes=False))


def keep(checked: Checked, **tried: Tried) -> ProofRecord:
    first_try.keep(checked.loop, tasks.parse_source(checked.loop.record), tried)
    return proof_record.load(checked.loop)


def test_a_check_that_is_green_already_is_noted(checked: Checked) -> None:
    found = keep(checked, true=Tried(GREEN), false=Tried(why="no time"))
    assert [one.said for one in found.notes] == [
        "F1: `true` was green before the work began",
        "F1: `true` is weak, because its last command is `true`",
        "F2 was not tried apart from the work: no time",
    ]
    assert found.tried == {"true": Tried(GREEN), "false": Tried(why="no time")}


def test_what_a_final_run_came_to_stays(checked: Checked) -> None:
    proof_record.save(checked.loop, DONE)
    found = keep(checked, true=Tried(GREEN), false=Tried(RED))
    assert _but_tried(found) == _but_tried(DONE)
    assert found.tried == {"true": Tried(GREEN, GREEN, RED), "false": Tried(RED)}


def test_a_loop_that_is_over_hears_nothing_new(checked: Checked) -> None:
    over = LoopState(id="L1", layout="features", name="demo", state="ended", outcome="cancelled")
    checked.loop.save(over)
    assert keep(checked, true=Tried(GREEN)).findings == ()


def test_a_first_try_is_not_made_or_told_twice(checked: Checked) -> None:
    keep(checked, true=Tried(GREEN), false=Tried(why="no time"))
    found = keep(checked, true=Tried(RED), false=Tried(RED))
    assert found.tried == {"true": Tried(GREEN), "false": Tried(why="no time")}


def _but_tried(found: ProofRecord) -> ProofRecord:
    told: Any = [one.to_json() for one in found.findings]
    return found._replace(findings=told, tried={})


def _tried(scene: Scene, loop: LoopFiles, end: ProofRecord | None = None) -> ProofRecord:
    """Try the checks; the session's stop comes to this end meanwhile."""

    def told(text: str) -> None:
        if text.startswith("trying") and end is not None:
            with loop.lock():
                proof_record.save(loop, end)

    proving.try_first(loop, tasks.parse_source(loop.record), env=scene.env, told=told)
    return proof_record.load(loop)


def test_a_stop_that_becomes_complete_meanwhile_keeps_its_doubts(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    loop = scene.loop
    scene.write("feature_list.json", '{"features": [{"id": "F1", "description": "x", "verify": "true"}]}')
    approvals.approve(loop.shelf, ["true"], by="terminal")
    scene.take("true", terms={"apart": True, "try_s": 60, "doubts": "tell"})
    found = _tried(scene, loop, DONE)
    assert _but_tried(found) == _but_tried(DONE)
    assert found.tried["true"]._replace(first=UNTRIED, why="") == DONE.tried["true"]
