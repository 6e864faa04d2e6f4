"""Which loops the service starts again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphloop.domain import model
from ralphloop.domain.model import ENDED, OUTCOMES, PAUSED, LoopState, Supervision
from ralphloop.errors import UserError
from ralphloop.loops import pausing, upkeep
from ralphloop.loops.upkeep import Upkeep, is_wanted
from ralphloop.store import arming, supervisor
from ralphloop.store.shelf import Shelf
from ralphloop.store.supervisor import Holder
from ralphloop.tasklists.source import Source
from unit.layouts import FEATURES


@pytest.mark.parametrize("told_to_end", [False, True])
def test_a_loop_that_needs_a_person_is_never_started(told_to_end: bool) -> None:
    holder = Holder(boot="an earlier start", told_to_end=told_to_end)
    wanted = {
        outcome for outcome in OUTCOMES if is_wanted(LoopState(id="x", state=PAUSED, outcome=outcome), holder)
    }
    assert wanted == {model.RATE_LIMITED} | ({model.INTERRUPTED} if told_to_end else set())
    for outcome in OUTCOMES:
        assert not is_wanted(LoopState(id="x", state=ENDED, outcome=outcome), holder), outcome
    for state in (model.RUNNING, model.WAITING, model.ARMED):
        assert is_wanted(LoopState(id="x", state=state), holder), state


def test_a_loop_that_cannot_be_helped_keeps_no_other_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_client(*_: object) -> int:
        raise UserError("no client")

    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    monkeypatch.setattr(upkeep.drive, "run_again", no_client)
    for name in ("broken", "sound"):
        root = tmp_path / name
        path = root / ".ralph/loops" / name / "feature_list.json"
        path.parent.mkdir(parents=True)
        path.write_text('{"features": [{"id": "F1", "description": "x", "passes": false}]}')
        source = Source(FEATURES, name, root=str(root), paths={"list": str(path)})
        loop = arming.arm(
            source, Shelf(str(root), env), session=name, started=True, supervision=Supervision()
        )
        supervisor.say(loop, Holder(pid=1, boot="an earlier start", cwd=str(root)))
        if name == "broken":
            Path(loop.kept, "service.json").mkdir()
    told: list[str] = []
    Upkeep(env, told.append).look()
    assert len(told) == 2, told
    assert "broken" in told[0]
    assert "is passed over" in told[0]
    assert "could not be started (try 1 of 3): no client" in told[1]


def test_the_time_of_a_killed_supervisor_counts_up_to_its_last_sign_of_life(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    path = tmp_path / ".ralph/loops/shop/feature_list.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"features": [{"id": "F1", "description": "x", "passes": false}]}')
    source = Source(FEATURES, "shop", root=str(tmp_path), paths={"list": str(path)})
    loop = arming.arm(source, Shelf(str(tmp_path), env), session="S", started=True, supervision=Supervision())
    state = loop.state()
    supervisor.say(loop, Holder(pid=1, boot="this start"))
    (said,) = Path(loop.kept).glob("supervisor.json")
    os.utime(said, (state.seen_at + 60, state.seen_at + 60))
    pausing._count_until_killed(loop)
    assert loop.state().elapsed_s == pytest.approx(60, abs=1)
    pausing._count_until_killed(loop)
    assert loop.state().elapsed_s == pytest.approx(60, abs=1)
