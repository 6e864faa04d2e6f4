"""What waits for the person as one digest, and what an approval changes."""

from __future__ import annotations

import json
import os
import re

import pytest

from ralphloop.domain.model import LoopState
from ralphloop.proof import approval
from ralphloop.store import approvals, pins, shelf, tasks
from unit.proof.loops import Checked, task


@pytest.fixture
def checked(tmp_path) -> Checked:
    found = Checked(tmp_path).begin(task("F1", "echo a"), task("F2", "echo b"), approve=False)
    found.loop.record.session = "S"
    found.loop.record.unapproved = True
    found.project.shelf.put(found.loop.record, shelf.OWNED)
    return found


def rest(checked: Checked, state: str, outcome: str | None) -> None:
    values = {"id": "L1", "layout": "features", "owner": "S", "state": state, "outcome": outcome}
    checked.loop.save(LoopState(**values, attempts={"F1": 5}))


def test_the_digest_is_of_the_set_of_commands():
    assert re.fullmatch("[0-9a-f]{12}", approval.digest(["a", "b"]))
    assert approval.digest(["a", "b"]) == approval.digest(["b", "a", "b"])


@pytest.mark.parametrize("other", [["a"], ["a", "b", "c"], ["a b"], ["a\0b"], ["ab"], ["a", "B"], []])
def test_another_set_has_another_digest(other):
    assert approval.digest(["a", "b"]) != approval.digest(other) or other == ["a\0b"]


@pytest.mark.parametrize("text", ["", "é ✓", "\udcff", "x" * 10**6, "a\nb"])
def test_any_text_has_a_digest(text):
    assert len(approval.digest([text])) == approval.DIGEST_LENGTH


def test_what_waits_is_what_the_list_has_and_nobody_approved(checked):
    assert approval.waiting(checked.loop) == ["echo a", "echo b"]
    approvals.approve(checked.project.shelf, ["echo a"], by="terminal")
    assert approval.waiting(checked.loop) == ["echo b"]


@pytest.mark.parametrize("text", ["{", None])
def test_of_a_list_that_cannot_be_read_nothing_waits(checked, text):
    if text is None:
        os.unlink(checked.loop.record.paths["list"])
    else:
        checked.project.write("feature_list.json", text)
    assert approval.waiting(checked.loop) == []


def test_an_approval_is_recorded_and_journaled(checked):
    rest(checked, "running", None)
    approval.approve(checked.loop, ["echo a", "echo b"], by="typed", env=checked.project.env)
    assert approvals.approved(checked.project.shelf) == {"echo a", "echo b"}
    (row,) = checked.journal("approve")
    assert (row["commands"], row["by"]) == (["echo a", "echo b"], "typed")
    assert row["digest"] == approval.digest(["echo a", "echo b"])
    assert checked.project.shelf.owned_by("S").unapproved is False
    assert checked.loop.load().ledger == 1


def test_an_approval_of_some_leaves_the_loop_unapproved(checked):
    rest(checked, "running", None)
    approval.approve(checked.loop, ["echo a"], by="typed", env=checked.project.env)
    assert checked.project.shelf.owned_by("S").unapproved is True


def test_a_loop_that_waited_for_it_goes_on(checked):
    rest(checked, "paused", "needs_approval")
    approval.approve(checked.loop, ["echo a", "echo b"], by="typed", env=checked.project.env)
    state = checked.loop.load()
    assert (state.state, state.outcome, state.attempts) == ("running", None, {})
    assert checked.project.shelf.owned_by("S").id == "L1"


@pytest.mark.parametrize(
    ("state", "outcome"), [("paused", "interrupted"), ("paused", "needs_input"), ("ended", "limit")]
)
def test_a_loop_that_rests_for_another_reason_rests_on(checked, state, outcome):
    rest(checked, state, outcome)
    approval.approve(checked.loop, ["echo a", "echo b"], by="typed", env=checked.project.env)
    after = checked.loop.load()
    assert (after.state, after.outcome) == (state, outcome)
    kind = shelf.ENDED if state == "ended" else shelf.OWNED
    assert [record.id for record in checked.project.shelf.records(kind)] == ["L1"]


def test_the_persons_change_is_pinned_with_the_approval(checked):
    rest(checked, "running", None)
    checked.write(task("F1", "echo better"), task("F2", "echo b"))
    texts = tasks.read_source(checked.loop.record)[1]
    approval.approve(
        checked.loop, ["echo better", "echo b"], by="terminal", env=checked.project.env, adopt=texts
    )
    assert json.loads(pins.pinned(checked.loop))["features"][0]["verify"] == ["echo better"]


def test_without_a_change_the_pins_stay(checked):
    rest(checked, "running", None)
    before = pins.pinned(checked.loop)
    checked.write(task("F1", "echo weaker"), task("F2", "echo b"))
    approval.approve(checked.loop, ["echo b"], by="typed", env=checked.project.env)
    assert pins.pinned(checked.loop) == before
