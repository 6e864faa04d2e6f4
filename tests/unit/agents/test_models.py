"""The table of models: which row an id means, and what a message costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralphloop.agents.claude import usage
from ralphloop.agents.transcript import Charge
from unit.domain.cases import each

TABLE = json.loads(Path(usage.__file__).with_name("models.json").read_text())
PRICES = ("input_usd", "output_usd", "cache_write_usd", "cache_write_1h_usd", "cache_read_usd")


@each(
    ("model", "name"),
    [
        ("claude-opus-4-5", "claude-opus-4-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("eu.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("Claude-Fable-5-2", "claude-fable-5-2"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-1-20250805-v1:0",
            "claude-opus-4-1",
        ),
    ],
)
def test_an_id_is_found_whatever_it_is_written_with(model, name):
    found = usage.known_model(model)
    assert found is not None
    assert found.name == name


@each(
    "model",
    [
        "", "claude", "claude-", "<synthetic>", "gpt-5", "opus", "claude-opus-4-9", "claude-opus-6",
        "claude-opus-5-fast", "claude-sonnet-4-55", "claude-instant-1", "xclaude-opus", "claude-opus-4-5x",
        "claude-opus-4-2025",
    ],
)  # fmt: skip
def test_a_model_that_is_not_in_the_table_is_unknown(model):
    assert usage.known_model(model) is None
    assert usage.cost_usd(Charge("", model, 1, 1, 1, 1, 1)) is None


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-6", 200_000),
        ("claude-sonnet-4-6[1m]", 1_000_000),
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-opus-5-5", 1_000_000),
        ("claude-opus-5-5[1m]", 1_000_000),
    ],
)
def test_the_window_is_the_one_that_was_asked_for(model, window):
    found = usage.known_model(model)
    assert found is not None
    assert found.window == window


MILLION = 1_000_000


@each(
    ("charge", "usd"),
    [
        (Charge("", "claude-opus-4-5", MILLION, 0, 0, 0, 0), 5.0),
        (Charge("", "claude-opus-4-5", 0, MILLION, 0, 0, 0), 25.0),
        (Charge("", "claude-opus-4-5", 0, 0, MILLION, 0, 0), 6.25),
        (Charge("", "claude-opus-4-5", 0, 0, 0, MILLION, 0), 10.0),
        (Charge("", "claude-opus-4-5", 0, 0, 0, 0, MILLION), 0.5),
        (Charge("", "claude-sonnet-4-5-20250929", 1000, 500, 200, 100, 10_000), 0.01485),
        (Charge("", "claude-opus-5-5", 0, 0, 0, 0, MILLION), 0.2),
        (Charge("", "claude-opus-5", MILLION, 0, 0, 0, 0, fast=True), 10.0),
        (Charge("", "claude-opus-4-6", MILLION, 0, 0, 0, 0, fast=True), 30.0),
        (Charge("", "claude-opus-5", MILLION, 0, 0, 0, 0, us_only=True), 5.5),
        (Charge("", "claude-haiku-5-5", 0, MILLION, 0, 0, 0, prompt=100_000), 0.5),
        (Charge("", "claude-haiku-5-5", 0, MILLION, 0, 0, 0, prompt=100_001), 2.5),
        (Charge("", "claude-opus-5", 0, 0, 0, 0, 0), 0.0),
    ],
)
def test_a_message_costs_what_the_list_says(charge, usd):
    assert usage.cost_usd(charge) == pytest.approx(usd)


def test_the_table_says_when_and_where_from():
    assert usage.as_of() == TABLE["as_of"]
    year, month, day = TABLE["as_of"].split("-")
    assert (len(year), len(month), len(day)) == (4, 2, 2)
    assert TABLE["sources"]


@each("row", TABLE["models"], ids=lambda row: row["match"])
def test_each_row_is_found_by_its_own_name_and_is_plausible(row):
    found = usage.known_model(row["match"])
    assert found is not None
    assert found.name == row["match"]
    assert [getattr(found, price) for price in PRICES] == [row[price] for price in PRICES]
    assert row["cache_read_usd"] < row["input_usd"] < row["cache_write_usd"] < row["cache_write_1h_usd"]
    assert row["output_usd"] == pytest.approx(5 * row["input_usd"])
    assert row["window"] in (200_000, usage.WIDE)


def test_no_model_is_in_the_table_twice():
    names = [row["match"] for row in TABLE["models"]]
    assert len(names) == len(set(names))
