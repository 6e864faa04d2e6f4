"""What the journal says of claims, checks and approvals, as lines for people."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralphloop.views.journal import line, words
from unit.domain.cases import each


@each(
    ("entry", "shown"),
    [
        (
            {"event": "proven", "task": "F1", "evidence": "0001-F1", "final": False},
            "task F1, evidence 0001-F1",
        ),
        (
            {
                "event": "refused",
                "task": "F1",
                "command": "make\ntest",
                "detail": "exited with 2",
                "evidence": "0002-F1",
                "final": False,
            },
            "task F1, `make test` exited with 2, evidence 0002-F1",
        ),
        (
            {
                "event": "refused",
                "task": "F1",
                "command": "",
                "detail": "protected files were touched",
                "final": True,
            },
            "task F1, in the final run, protected files were touched",
        ),
        (
            {"event": "restored", "what": ["F1 (verify) is back."], "rejected": "1-list.json"},
            "F1 (verify) is back., the changed version is rejected/1-list.json",
        ),
        (
            {"event": "protected", "files": ["a.py (changed)", "b.py (removed)"]},
            "files a.py (changed), b.py (removed)",
        ),
        ({"event": "added", "tasks": [f"F{n}" for n in range(7)]}, "tasks F0, F1, F2, F3, F4, and 2 more"),
        (
            {"event": "approve", "commands": ["make test", "true"], "by": "typed", "digest": "abc"},
            "2 commands (make test; true), by typed, digest abc",
        ),
        (
            {"event": "approve", "commands": [], "by": "--yes", "digest": "d"},
            "0 commands, by --yes, digest d",
        ),
        ({"event": "accept", "task": "F1"}, "task F1"),
        ({"event": "claim", "task": "F1", "by": "command", "session": "s"}, "task F1, by command"),
        (
            {
                "event": "stop",
                "decision": "continue",
                "rule": "go_on",
                "iteration": 2,
                "claimed": ["F1"],
                "proven": ["F1"],
                "task": "F2",
            },
            "goes on with task F2, iteration 2, claimed F1, proven F1, by the rule go_on",
        ),
    ],
)
def test_an_entry_says_what_happened(entry: dict[str, Any], shown: str) -> None:
    assert words(entry) == shown


@pytest.mark.parametrize(
    "event", ["stop", "proven", "refused", "restored", "protected", "added", "approve", "claim"]
)
def test_an_entry_with_odd_values_is_still_a_line(event: str) -> None:
    odd = {
        name: {"a": [1]}
        for name in ("task", "what", "files", "tasks", "commands", "detail", "claimed", "rejected")
    }
    assert event in line(json.dumps({"at": "2026-01-31T10:00:05.123Z", "event": event, **odd}))
    assert event in line(json.dumps({"at": 7, "event": event}))


def test_an_event_that_is_no_text_is_still_a_line() -> None:
    assert line('{"event": ["stop"], "at": "2026-01-31T10:00:05.123Z"}')
