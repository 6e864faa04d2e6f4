"""The lines of progress.txt: which ones count, and what a rewrite leaves alone."""

from __future__ import annotations

import pytest

from ralphloop.domain.model import OUTCOMES
from ralphloop.tasklists import features
from unit.domain.cases import each

VALUES = {features.STATUS: "COMPLETE", features.ITERATION: "12", features.MAX_ITERATIONS: "40"}


@each("word", ["COMPLETE", "REACHED_LIMIT", *[outcome.upper() for outcome in OUTCOMES]])
def test_a_status_that_names_an_end_is_an_end(word):
    assert features.ended("# Progress\nStatus: " + word + "\r\n")
    assert features.ended("- **Status:** " + word + " (after 12)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Status: IN_PROGRESS",
        "Status:",
        "Status: COMPLETELY lost",
        "Status: still failed tests",
        "COMPLETE",
        "We set Status: COMPLETE later",
        "Status: IN_PROGRESS\nStatus: COMPLETE",
    ],
)
def test_any_other_text_is_not_an_end(text):
    assert not features.ended(text)


@each(
    ("before", "after"),
    [
        ("Status: IN_PROGRESS\n", "Status: COMPLETE\n"),
        ("Status:\tIN_PROGRESS", "Status:\tCOMPLETE"),
        ("Status: In progress, see below\r\n", "Status: COMPLETE\r\n"),
        ("STATUS: IN_PROGRESS (by the hook)\n", "STATUS: COMPLETE (by the hook)\n"),
        ("  - **Status**: IN_PROGRESS  \n", "  - **Status**: COMPLETE  \n"),
        ("**Status:** `IN_PROGRESS`\n", "**Status:** `COMPLETE`\n"),
        ("**Status: IN_PROGRESS**\n", "**Status: COMPLETE**\n"),
        ("\ufeffStatus: X\n", "\ufeffStatus: COMPLETE\n"),
        ("Status:\n", "Status: COMPLETE\n"),
        ("\nStatus: X\n\n", "\nStatus: COMPLETE\n\n"),
        ("Iteration:\nMax Iterations: \n", "Iteration: 12\nMax Iterations: 40\n"),
        ("Status: \r\n", "Status: COMPLETE\r\n"),
        ("Iteration: 3\n", "Iteration: 12\n"),
        ("* iteration: 3/15 (slow)\n", "* iteration: 12/15 (slow)\n"),
        ("Max Iterations: 15", "Max Iterations: 40"),
        ("max  iterations:15\n", "max  iterations:40\n"),
        (
            "Iteration: 3\nMax Iterations: 15\nStatus: X\n",
            "Iteration: 12\nMax Iterations: 40\nStatus: COMPLETE\n",
        ),
        ("Iteration: 1\nIteration: 2\n", "Iteration: 12\nIteration: 2\n"),
        ("Iteration: see notes\nIteration: 2\n", "Iteration: see notes\nIteration: 12\n"),
    ],
)
def test_only_the_value_on_its_line_changes(before, after):
    assert features.write(before, VALUES) == after
    assert features.write(after, VALUES) == after


def test_a_status_that_is_there_already_keeps_its_remark():
    assert features.write("Status: OWN (x)", {**VALUES, features.STATUS: "OWN"}) == "Status: OWN (x)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "no such line",
        "Iteration: 3rd try, still red\n",
        "Last Iteration: 3\nIterations: 4\n",
        "Notes: the Status: line is above\n",
        "Iteration 4: fixed the parser\n",
        "x" * 70 + " Status: X\n",
    ],
)
def test_free_text_is_never_touched(text):
    assert features.write(text, VALUES) == text


def test_line_endings_of_all_kinds_survive():
    text = "a\r\nStatus: X\nb\x0b\x0c\u2028c\r\nIteration: 1\r\n\r\nend"
    assert features.write(text, VALUES) == text.replace("X", "COMPLETE").replace("1", "12")
