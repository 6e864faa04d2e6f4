"""Entries of the journal as lines for people."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ralphloop.views.journal import line
from unit.domain.cases import each


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@each(
    ("entry", "shown"),
    [
        ({"event": "arm", "session": None}, "arm           session none yet"),
        ({"event": "bind", "session": "s1"}, "bind          session s1"),
        (
            {
                "event": "stop",
                "decision": "continue",
                "rule": "go_on",
                "iteration": 3,
                "task": "F2",
                "claimed": ["F1"],
            },
            "stop          goes on with task F2, iteration 3, claimed F1, by the rule go_on",
        ),
        (
            {
                "event": "stop",
                "decision": "allow",
                "rule": "limits",
                "iteration": 9,
                "outcome": "limit",
                "detail": "9 of 9",
            },
            "stop          the loop ends: limit (9 of 9), iteration 9, by the rule limits",
        ),
        ({"event": "ask", "task": "F1", "question": "a\nb"}, "ask           task F1, a b"),
        ({"event": "busy"}, "busy"),
        (
            {"event": "cancel", "outcome": "cancelled", "detail": "cancelled by the person"},
            "cancel        cancelled by the person",
        ),
        (
            {"event": "run_end", "outcome": "failed", "detail": "no login"},
            "run_end       failed, no login",
        ),
        (
            {
                "event": "stop",
                "decision": "allow",
                "rule": "person",
                "state": "paused",
                "iteration": 2,
                "outcome": "interrupted",
            },
            "stop          the loop rests: interrupted, iteration 2, by the rule person",
        ),
        (
            {"event": "stop", "decision": "allow", "rule": "running", "iteration": 2, "task": "F2"},
            "stop          lets the turn end, iteration 2, task F2, by the rule running",
        ),
        (
            {
                "event": "session_end",
                "number": 1,
                "code": 0,
                "verdict": "end",
                "reason": "completed",
                "error": False,
                "duration_s": 9.0,
                "detail": "complete",
            },
            "session_end   session 1 ended after 9 s, the run ends (complete)",
        ),
        (
            {
                "event": "session_end",
                "number": 3,
                "verdict": "next",
                "reason": "idle",
                "error": True,
                "signal": 9,
                "detail": "",
            },
            "session_end   session 3 ended, idle, with an error, signal 9, another one follows",
        ),
        (
            {"event": "session", "session": "s2", "number": 2, "model": "m", "task": "F2"},
            "session       session 2 begins with task F2, model m, s2",
        ),
        (
            {
                "event": "session_end",
                "number": 2,
                "code": 1,
                "signal": None,
                "verdict": "wait",
                "cost_usd": 0.5,
                "tokens": 8000,
                "duration_s": 65.0,
            },
            "session_end   session 2 ended after 1 min, exit code 1, 8k tokens, $0.50, the loop waits",
        ),
        (
            {"event": "session_end", "reason": "clear", "outcome": "interrupted"},
            "session_end   the session ended, clear, the loop rests: interrupted",
        ),
        (
            {"event": "session_end", "number": True, "tokens": "x", "cost_usd": -1},
            "session_end   session True ended",
        ),
        (
            {"event": "handover", "why": "the context is 71 % full", "task": "F3"},
            "handover      task F3, the context is 71 % full",
        ),
        (
            {"event": "wait", "until": "2026-01-31T11:00:00.000Z", "why": "rate limit"},
            "wait          until 2026-01-31 11:00:00, rate limit",
        ),
        ({"event": "wait", "until": "", "why": ""}, "wait"),
        ({"event": "notify", "channel": "bell", "ok": True, "detail": ""}, "notify        bell sent"),
        (
            {"event": "notify", "channel": "webhook", "ok": False, "detail": "HTTP 500"},
            "notify        webhook failed, HTTP 500",
        ),
    ],
)
def test_an_entry_is_one_line(entry: dict[str, Any], shown: str) -> None:
    raw = json.dumps({"at": "2026-01-31T10:00:05.123Z", **entry})
    assert line(raw) == "2026-01-31 10:00:05  " + shown


@pytest.mark.parametrize("raw", ["", "{", "[]", "\x1b[2J"])
def test_a_line_that_is_no_entry_is_shown_as_such(raw: str) -> None:
    told = line(raw)
    assert told.startswith("(not readable)")
    assert "\x1b" not in told


def test_a_stamp_that_is_no_time_is_shown_as_it_is() -> None:
    assert line('{"at": "soon", "event": "busy"}') == "soon  busy"
