"""What a loop keeps when its file was written by somebody else."""

from __future__ import annotations

import pytest

from ralphloop.domain.model import ENDED, RUNNING, STATES, Limits, LoopState
from unit.domain.cases import each

GOOD = {"id": "L", "state": RUNNING, "iteration": 7, "attempts": {"F1": 2}, "told": ["x"], "owner": "S"}


@pytest.mark.parametrize(
    "data", [{}, {"id": "L"}, {"state": RUNNING}, {**GOOD, "state": "odd"}, {**GOOD, "id": 5}]
)
def test_without_an_id_and_a_known_state_it_is_no_loop(data):
    with pytest.raises(ValueError, match="not a loop"):
        LoopState.from_json(data)


@pytest.mark.parametrize("state", STATES)
def test_a_loop_survives_json(state):
    values = {
        name: {bool: True, int: 3, float: 1.5, str: "t", list: ["a"], dict: {"F1": 1}}.get(
            type(default), default
        )
        for name, default in LoopState.DEFAULTS.items()
    }
    loop = LoopState(**{**values, "state": state, "owner": "S", "outcome": "complete", "resume_at": 9.5})
    assert LoopState.from_json(loop.to_json()).to_json() == loop.to_json()


WRONG = [
    ("iteration", "3"), ("iteration", None), ("iteration", True), ("iteration", float("nan")),
    ("iteration", 1e300), ("iteration", []), ("owner", 5), ("owner", ["S"]), ("owner", True),
    ("outcome", "odd"),
    ("outcome", 5), ("outcome", ["complete"]), ("detail", None), ("attempts", []), ("attempts", None),
    ("served", {}), ("told", "abc"), ("restored", 1), ("restored", "yes"), ("resume_at", "soon"),
    ("resume_at", True), ("resume_at", float("inf")), ("elapsed_s", "9"), ("transcript_end", -1.5e99),
]  # fmt: skip


@each(("field", "value"), WRONG)
def test_a_value_of_the_wrong_type_is_dropped_and_the_rest_is_kept(field, value):
    loop = LoopState.from_json({**GOOD, field: value, "unknown": 1})
    assert getattr(loop, field) == LoopState.DEFAULTS[field]
    kept = {name: expected for name, expected in GOOD.items() if name != field}
    assert {name: getattr(loop, name) for name in kept} == kept


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("attempts", {"F1": 2, "F2": "x", "F3": None, "F4": True}, {"F1": 2}),
        ("told", ["a", 5, None, ["b"]], ["a"]),
        ("served", [{}, "p1", "claude"], ["p1", "claude"]),
    ],
)
def test_wrong_values_inside_a_list_or_table_are_dropped_too(field, value, kept):
    assert getattr(LoopState.from_json({**GOOD, field: value}), field) == kept


def test_a_copy_shares_nothing_with_its_loop():
    loop = LoopState.from_json(GOOD)
    other = loop.copy()
    other.attempts["F1"] = 9
    other.told.append("y")
    assert (loop.attempts, loop.told) == ({"F1": 2}, ["x"])
    assert LoopState().attempts is not LoopState().attempts


@pytest.mark.parametrize(
    ("state", "live"), [("armed", True), ("waiting", True), ("paused", False), (ENDED, False)]
)
def test_a_loop_is_live_until_it_rests(state, live):
    assert LoopState(state=state).live is live


@pytest.mark.parametrize("value", [0, -1, True, "9", None, [], float("nan"), float("inf")])
def test_a_limit_that_is_no_positive_number_is_the_default(value):
    limits = Limits.from_json({"iterations": value, "attempts": 9})
    assert (limits.iterations, limits.attempts) == (15, 9)


@pytest.mark.parametrize("data", [None, [], "x", 3])
def test_limits_of_the_wrong_shape_are_the_defaults(data):
    assert Limits.from_json(data).to_json() == Limits().to_json()


def test_limits_survive_json():
    limits = Limits(iterations=3, attempts=2, time_s=60.0, no_progress=1, replies=9)
    assert Limits.from_json(limits.to_json()).to_json() == limits.to_json()
