"""Whose list and whose session is free: a loop that has ended holds neither, wherever its record still is."""

from __future__ import annotations

import os

import pytest

from ralphloop.domain.model import ARMED, CANCELLED, ENDED, FAILED, PAUSED, RUNNING, LoopState
from ralphloop.errors import TakenError
from ralphloop.store import arming, ended, shelf
from ralphloop.store.files import is_locked
from ralphloop.store.loop import LoopFiles, run_folder
from ralphloop.tasklists.source import Source
from unit.layouts import FEATURES


@pytest.fixture
def listed(project) -> Source:
    path = project.features({"id": "F1", "description": "x", "passes": False})
    return Source(FEATURES, "demo", root=project.root, paths={"list": path})


def half_ended(project, record, kind: str, *, outcome: str = CANCELLED) -> LoopFiles:
    """A loop that was killed between its last state and its record, or found the shelf busy there."""
    project.shelf.put(record, kind)
    loop = LoopFiles(record, project.shelf)
    loop.make()
    loop.save(LoopState(id=record.id, state=ENDED, outcome=outcome, owner=record.session))
    return loop


def ids(project, kind: str) -> list[str]:
    return [record.id for record in project.shelf.records(kind)]


@pytest.mark.parametrize(
    ("kind", "before", "now"),
    [
        (shelf.OWNED, "S1", "S1"),
        (shelf.OWNED, "S1", "S2"),
        (shelf.OWNED, "S1", None),
        (shelf.ARMED, None, "S2"),
    ],
)
def test_the_list_of_a_loop_that_has_ended_is_free(project, listed, kind, before, now):
    half_ended(project, project.record("old", session=before), kind)
    assert arming.holder(listed, project.shelf) is None
    loop = arming.arm(listed, project.shelf, session=now, started=True)
    assert ids(project, shelf.ENDED) == ["old"]
    assert arming.holder(listed, project.shelf).id == loop.record.id
    assert ended.ended_at(project.shelf, listed.paths["list"])


def test_nor_does_it_hold_its_session(project, listed):
    other = {"list": os.path.join(project.root, "other", "feature_list.json")}
    half_ended(project, project.record("old", session="S1", paths=other), shelf.OWNED)
    arming.arm(listed, project.shelf, session="S1", started=True)
    assert ids(project, shelf.ENDED) == ["old"]
    assert project.shelf.owned_by("S1").id != "old"


@pytest.mark.parametrize("state", [RUNNING, PAUSED, ARMED])
@pytest.mark.parametrize("shown", [ENDED, RUNNING])
def test_a_loop_that_has_not_ended_holds_its_list_whatever_the_project_says(project, listed, state, shown):
    loop = half_ended(project, project.record("old", session="S1"), shelf.OWNED)
    loop.save(LoopState(id="old", state=state))
    with open(loop.path("loop.json"), "w", encoding="utf-8") as file:
        file.write(f'{{"id": "old", "state": "{shown}", "outcome": "cancelled"}}')
    assert arming.holder(listed, project.shelf).id == "old"
    with pytest.raises(TakenError):
        arming.arm(listed, project.shelf, session="S2", started=True)
    assert ids(project, shelf.OWNED) == ["old"]


def test_a_loop_that_has_ended_is_bound_to_no_session(project, listed):
    loop = half_ended(project, project.record("old"), shelf.ARMED)
    assert arming.bind(loop.record, project.shelf, session="S1") is None
    assert ids(project, shelf.ENDED) == ["old"]
    assert loop.load().state == ENDED


def test_one_that_is_taken_up_again_is_never_seen_as_ended(project, listed, monkeypatch):
    """Whoever looks does so under the shelf's lock: record and state change under it."""
    loop = half_ended(project, project.record("old", session="S1"), shelf.ENDED, outcome=FAILED)
    held = []
    save = LoopFiles.save

    def note(self, state, **how):
        held.append(is_locked(os.path.join(project.shelf.folder, "lock")))
        save(self, state, **how)

    monkeypatch.setattr(LoopFiles, "save", note)
    arming.take_up(loop, loop.load())
    assert held == [True]
    assert ids(project, shelf.OWNED) == ["old"]


@pytest.mark.parametrize("kind", [shelf.ARMED, shelf.ENDED, "kept", "run"])
def test_an_id_that_a_loop_has_or_had_is_not_given_again(project, listed, monkeypatch, kind):
    monkeypatch.setattr(arming.time, "time", lambda: 1_700_000_000.0)
    first = arming.arm(listed, project.shelf, session="S1", started=True, writes=False).record.id
    if kind in ("kept", "run"):
        os.makedirs(project.shelf.kept(first) if kind == "kept" else run_folder(project.root) + "/" + first)
    else:
        project.shelf.put(project.record(first), kind)
    assert (
        arming.arm(listed, project.shelf, session="S2", started=True, writes=False).record.id == first + "-2"
    )


@pytest.mark.parametrize("name", ["feature_list.json", "other.json"])
def test_of_two_that_chose_the_same_id_at_once_one_gets_it(project, listed, monkeypatch, name):
    monkeypatch.setattr(arming, "new_id", lambda *_, **__: "same")
    arming.arm(listed, project.shelf, session="S1", started=True)
    other = Source(FEATURES, "demo", root=project.root, paths={"list": os.path.join(project.root, name)})
    with pytest.raises(TakenError):
        arming.arm(other if name == "other.json" else listed, project.shelf, session="S2", started=True)
    assert project.shelf.owned_by("S1").id == "same"
    assert project.shelf.owned_by("S2") is None
    assert LoopFiles(project.shelf.owned_by("S1"), project.shelf).load().owner == "S1"


def test_a_loop_that_ends_at_this_moment_keeps_its_record(project, listed, monkeypatch):
    project.shelf.put(project.record("old", session="S1"), shelf.OWNED)
    looks = iter([False, True, True])
    monkeypatch.setattr(LoopFiles, "is_over", property(lambda _: next(looks)))
    with pytest.raises(TakenError):
        arming.arm(listed, project.shelf, session="S1", started=True)
    assert ids(project, shelf.OWNED) == ["old"]


@pytest.mark.parametrize("act", ["take_up", "release"])
def test_a_limit_that_was_changed_since_the_loop_was_read_stands(project, listed, act):
    """As a supervisor does it after a wait in which the person raised one."""
    loop = arming.arm(listed, project.shelf, session="S1", started=True)
    changed = project.shelf.fresh(loop.record)
    changed.limits.iterations = 77
    with project.shelf.lock():
        project.shelf.rewrite(changed)
    if act == "take_up":
        arming.take_up(loop, loop.state(), limits={"attempts": 9}, anew=False)
    else:
        arming.release(loop)
    found = project.shelf.fresh(loop.record).limits
    assert (found.iterations, found.attempts) == (77, 9 if act == "take_up" else 5)


def test_an_ended_record_that_is_written_anew_leaves_its_mark_good(project, listed):
    loop = arming.arm(listed, project.shelf, session="S1", started=True)
    state = loop.state()
    state.state, state.outcome = ENDED, FAILED
    loop.rest(state)
    assert ended.is_known(project.shelf)
    with project.shelf.lock():
        project.shelf.rewrite(loop.record)
    assert ended.is_known(project.shelf)
    assert ended.last(project.shelf, "S1").id == loop.record.id
