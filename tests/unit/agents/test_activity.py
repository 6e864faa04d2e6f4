"""Entries of a transcript as short lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralphloop.agents.claude.activity import DIFF_MAX, LINE_MAX, LINES_MAX, activities, is_telling
from ralphloop.agents.transcript import Activity
from unit.domain.cases import each

STAMP = "2027-01-15T08:00:00.000Z"
AT = 1_800_000_000.0


def said(*blocks: dict[str, Any], model: str = "claude-opus-4-5") -> dict[str, Any]:
    message = {"model": model, "content": list(blocks)}
    return {"type": "assistant", "timestamp": STAMP, "cwd": "/p", "message": message}


def told(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "timestamp": STAMP, "message": {"role": "user", "content": content}, **fields}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": given}


def failed(content: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "is_error": True, "content": content}]


def shown(entry: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    return [(activity.kind, activity.lines) for activity in activities(entry)]


@each(
    ("entry", "wanted"),
    [
        (said(text("One.\n\n  Two.\n")), [("text", ("One.", "  Two."))]),
        (said(text(" \n ")), []),
        (said({"type": "thinking", "thinking": "hm"}), []),
        (said(text("API Error: 529"), model="<synthetic>"), [("error", ("API Error: 529",))]),
        (said(call("Bash", command="ls\npwd", description="x")), [("tool", ("Bash ls pwd",))]),
        (said(call("Read", file_path="/p/src/a.py", limit=3)), [("tool", ("Read src/a.py",))]),
        (said(call("Read", file_path="/pp/a.py")), [("tool", ("Read /pp/a.py",))]),
        (said(call("Grep", pattern="x", path="src")), [("tool", ("Grep x",))]),
        (said(call("Agent", description="look", prompt="long")), [("tool", ("Agent look",))]),
        (said(call("mcp__odd", number=3, what="n")), [("tool", ("mcp__odd n",))]),
        (said(call("TodoWrite", todos=[1])), [("tool", ("TodoWrite",))]),
        (told(failed("Exit code 1\nmore")), [("failed", ("Exit code 1",))]),
        (told(failed([text("no"), {"type": "image"}])), [("failed", ("no",))]),
        (told([{"type": "tool_result", "is_error": False, "content": "fine"}]), []),
        (told("Stop hook feedback:\nTask F2.\n\nDo it."), [("hook", ("Task F2.",))]),
        (told([text("[Request interrupted by user]")]), [("error", ("interrupted",))]),
        (told("Please go on\nwith it"), [("prompt", ("Please go on",))]),
        (told("internal", isMeta=True), []),
        (told("<command-name>x</command-name>"), []),
        ({"type": "system", "subtype": "compact_boundary"}, [("hook", ("the context was compacted",))]),
        (
            {"type": "system", "subtype": "informational", "level": "warning", "content": "capped\nx"},
            [("error", ("capped",))],
        ),
        ({"type": "system", "subtype": "informational", "level": "info", "content": "x"}, []),
        ({"type": "attachment", "attachment": {"type": "date"}}, []),
    ],
)
def test_an_entry_is_a_few_short_lines(entry: dict[str, Any], wanted: Any) -> None:
    assert shown(entry) == wanted


def test_an_activity_has_the_time_of_its_entry() -> None:
    assert activities(said(text("a"))) == [Activity("text", ("a",), AT)]


def test_an_edit_shows_what_differs_between_its_two_texts() -> None:
    edit = call("Edit", file_path="/p/a.py", old_string="a\nb\nc\nd", new_string="a\nX\nY\nd")
    assert shown(said(edit)) == [("edit", ("Edit a.py", "- b", "- c", "+ X", "+ Y"))]


def test_several_edits_of_one_call_are_one_diff() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c\n\td", "new_string": "c"}]
    wanted = ("MultiEdit a.py", "- a", "+ b", "-     d")
    assert shown(said(call("MultiEdit", file_path="/p/a.py", edits=edits))) == [("edit", wanted)]


def test_a_long_new_file_shows_its_beginning_and_how_much_more() -> None:
    content = "\n".join(f"line {number}" for number in range(DIFF_MAX + 12))
    ((kind, lines),) = shown(said(call("Write", file_path="/p/a.py", content=content)))
    assert (kind, lines[:2], lines[-1]) == ("edit", ("Write a.py", "+ line 0"), "  +12 more")
    assert len(lines) == DIFF_MAX + 2


def test_long_texts_are_cut() -> None:
    ((_, lines),) = shown(said(text("x" * 3000 + "\n" + "y\n" * 100)))
    assert len(lines) == LINES_MAX + 1
    assert len(lines[0]) == LINE_MAX
    assert lines[-1] == f"+{101 - LINES_MAX} more"


def test_nothing_that_a_terminal_obeys_comes_through() -> None:
    evil = "a\x1b]0;owned\x07\x1b[2J\x9b31m\rb\u202e\x00\x7f\ud800"
    entries = [
        said(
            text(evil), call(evil, command=evil), call("Edit", file_path=evil, old_string="", new_string=evil)
        ),
        told(failed(evil)),
        told("Stop hook feedback:" + evil),
        {"type": "system", "subtype": "api_error", "content": evil},
    ]
    lines = [line for entry in entries for _, lines in shown(entry) for line in lines]
    assert len(lines) == 8
    for line in lines:
        assert line.isprintable(), repr(line)
        line.encode()


@each(
    "odd",
    [
        {}, {"type": "assistant"}, {"type": "assistant", "message": []}, {"type": "user", "message": {}},
        said({"type": "text"}), said({"type": "tool_use"}), said({"type": "tool_use", "input": "x"}),
        said(call("Edit", edits=[3], old_string=None)), {"type": "assistant", "message": {"content": "text"}},
        told([3, None, {"type": "tool_result", "is_error": True}]), {"type": ["x"], "message": 3},
        {"type": "system", "subtype": "api_error", "content": 3}, {"type": "user", "timestamp": 3},
    ],
)  # fmt: skip
def test_an_odd_entry_never_fails(odd: dict[str, Any]) -> None:
    assert all(isinstance(line, str) for activity in activities(odd) for line in activity.lines)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (json.dumps(said(text("a"))), True),
        (json.dumps(told(failed("x"))), True),
        ('{"type":"api-request-blob","message":{"role":"user","content":"assistant"}}', False),
        ('{"type":"queue-operation"}', False),
    ],
)
def test_only_lines_that_can_show_something_are_parsed(raw: str, wanted: bool) -> None:
    assert is_telling(raw.encode()) is wanted


def test_a_retry_of_the_client_shows_its_reason() -> None:
    error = {"status": 401, "formatted": "401 OAuth token has expired."}
    entry = {"type": "system", "subtype": "api_error", "error": error, "retryAttempt": 1, "maxRetries": 10}
    ((kind, (line,)),) = shown(entry)
    assert kind == "error"
    assert line == "the login was refused: 401 OAuth token has expired; the client tries again (1 of 10)"
