"""One test for many values: none is passed over, none hides another, and none leaves anything to the next."""

from __future__ import annotations

import os
import threading

import pytest

from unit.domain.cases import each

VALUES = [3, 1, 4, 1, 5]
SOON_S = 30.0


def test_each_value_is_played_in_its_order():
    played = []
    each("value", VALUES)(lambda value: played.append(value))()
    assert played == VALUES


def test_a_row_has_a_value_for_each_name():
    played = []
    each(("one", "two"), {"a": (1, 2), "b": (3, 4)}.values())(lambda two, one: played.append((one, two)))()
    assert played == [(1, 2), (3, 4)]


def test_every_value_that_failed_is_named_with_its_failure():
    def fails(value):
        if value == "raises not":
            with pytest.raises(ValueError, match="x"):
                int("5")
        if value == "skips":
            pytest.skip("no")
        assert value in ("good", "raises not", "skips"), "it is bad"

    with pytest.raises(pytest.fail.Exception) as failed:
        each("value", ["good", "bad", "raises not", "skips", "worse"])(fails)()
    told = str(failed.value)
    assert told.startswith("4 of 5 values failed:\n  'bad'\n  'raises not'\n  'skips'\n  'worse'\n")
    assert "it is bad" in told
    assert "DID NOT RAISE" in told


@each(("ids", "names"), [(["a", "b"], ["a", "b"]), (str, ["1", "2"]), (repr, ["1", "2"])])
def test_a_value_is_called_as_it_is_asked(ids, names):
    def fails(value):
        raise AssertionError(value)

    with pytest.raises(pytest.fail.Exception) as failed:
        each("value", [1, 2], ids=ids)(fails)()
    assert str(failed.value).splitlines()[1:3] == [f"  {name}" for name in names]


def test_each_value_has_a_folder_and_an_environment_of_its_own(tmp_path, monkeypatch):
    def writes(value, tmp_path, monkeypatch):
        assert not os.listdir(tmp_path)
        assert "LEFT_BY_A_VALUE" not in os.environ
        (tmp_path / "file").write_text(str(value))
        monkeypatch.setenv("LEFT_BY_A_VALUE", "1")

    each("value", VALUES)(writes)(tmp_path=tmp_path, monkeypatch=monkeypatch)
    assert [(tmp_path / str(place) / "file").read_text() for place in range(5)] == [*map(str, VALUES)]
    assert "LEFT_BY_A_VALUE" not in os.environ


def test_values_that_wait_for_each_other_are_played_at_once(tmp_path):
    all_there = threading.Barrier(len(VALUES), timeout=SOON_S)

    def waits(value, tmp_path):
        (tmp_path / "file").write_text(str(value))
        all_there.wait()
        assert value != 4, "it is bad"

    with pytest.raises(pytest.fail.Exception) as failed:
        each("value", VALUES, at_once=True)(waits)(tmp_path=tmp_path)
    assert str(failed.value).startswith("1 of 5 values failed:\n  4\n")
    assert "it is bad" in str(failed.value)
    assert len(list(tmp_path.glob("*/file"))) == 5


def test_no_patch_is_shared_by_values_that_are_played_at_once():
    with pytest.raises(AssertionError):
        each("value", VALUES, at_once=True)(lambda value, monkeypatch: None)


@pytest.mark.parametrize(
    ("names", "values"),
    [("value", []), ("other", [1]), ("value", [pytest.param(1)])],
    ids=["no value", "a name that the test does not take", "a value in pytest's wrapping"],
)
def test_a_table_that_would_show_nothing_is_refused(names, values):
    with pytest.raises(AssertionError):
        each(names, values)(lambda value: None)


def test_a_row_that_is_too_short_or_too_long_is_refused():
    for row in ((1,), (1, 2, 3)):
        with pytest.raises(ValueError, match="zip"):
            each(("one", "two"), [row])
