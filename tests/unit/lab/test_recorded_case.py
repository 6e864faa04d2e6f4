"""A record as a case: texts that TOML has trouble with, and what is expected of which answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphloop.lab.conformance.case import load
from ralphloop.lab.conformance.scene import Scene
from ralphloop.lab.recorded_case import LOG, as_case, text_of
from unit.domain.cases import each

SESSION = "11111111-1111-4111-8111-111111111111"


def record(**facts: Any) -> dict[str, Any]:
    return {
        "version": "1", "at": "2026-01-01T00:00:00.000Z", "layout": "features", "session": SESSION,
        "left_alone": False, "seen": False, "registration": "ralphloop", "command": "ralphloop",
        "env": {}, "checks": [],
        "payload": {"session_id": SESSION, "cwd": "@ROOT@", "hook_event_name": "Stop"}, "left_out": {},
        "transcript": {"before": "", "new": "", "skipped": 0}, "files": {}, "home": {},
        "answer": {"stdout": "", "stderr": "", "broken": False}, **facts,
    }  # fmt: skip


def laid_out(found: dict[str, Any], folder: Path) -> Scene:
    """The case written down, read again and laid out."""
    path = folder / "cases" / "one.toml"
    path.parent.mkdir()
    path.write_text(text_of(as_case(found), found), encoding="utf-8")
    scene = Scene(folder / "scene")
    scene.lay(load(path))
    return scene


@each(
    "text",
    [
        "", "\n", "\n\nfirst", "plain", "two\nlines\n", 'a "quoted"\nline"', "it's\nthat's'", "'''\n\"\"\"\n",
        "back\\slash\nn\\", "tab\there\nbell\x07\x1b[0m", "dos\r\nlines\r\n", "no end", "\x9b1m\u202e\n",
        "€ \u2028 \U0001f600\n",
        "bytes \udcff\udc80 that are no UTF-8\n", "\x7f", '"""', "ends with a quote\n'", 'x"\n"',
    ],
)  # fmt: skip
def test_every_text_comes_back_byte_by_byte(tmp_path: Path, text: str) -> None:
    found = record(files={"a file.txt": text}, transcript={"before": "", "new": text, "skipped": 0})
    scene = laid_out(found, tmp_path)
    expected = text.encode("utf-8", "surrogateescape")
    assert (scene.root / "a file.txt").read_bytes() == expected
    assert (scene.home / LOG).read_bytes() == expected


def test_sessions_get_letters_wherever_they_stand(tmp_path: Path) -> None:
    other = "22222222-2222-4222-8222-222222222222"
    owned = ".local/state/ralphloop/by-path@ROOT@/@ralph/owned/"
    found = record(home={f"{owned}{other}.json": json.dumps({"session": other})}, files={"n": SESSION})
    case = as_case(found)
    assert case["files"]["n"] == "@A@"
    assert case["home"][f"{owned}@B@.json"] == '{"session": "@B@"}'
    assert case["step"][0]["payload"]["session_id"] == "@A@"


def test_a_short_session_id_stays_as_it_is() -> None:
    found = record(session="S", payload={"session_id": "S"}, files={"n": "So it Stays"})
    case = as_case(found)
    assert case["files"]["n"] == "So it Stays"
    assert case["step"][0]["payload"]["session_id"] == "S"


@pytest.mark.parametrize(
    ("said", "stderr", "expected"),
    [
        ({}, "", {"answer": "silent"}),
        (
            {"decision": "block", "reason": "Go on.\nMore.", "systemMessage": "m"},
            "",
            {"answer": "block", "reason_has": ["Go on."], "message_has": ["m"]},
        ),
        ({"continue": True, "systemMessage": "over"}, "", {"answer": "message", "message_has": ["over"]}),
        ({}, "a line", {"answer": "allow", "stderr_has": ["a line"]}),
        (
            {"hookSpecificOutput": {"additionalContext": "go\non"}},
            "",
            {"answer": "context", "context_has": ["go"]},
        ),
        (
            {"decision": "block", "reason": "Key *** is shown"},
            "",
            {"answer": "block", "reason_has": ["Key"]},
        ),
    ],
)
def test_the_recorded_answer_is_what_is_expected(
    said: dict[str, Any], stderr: str, expected: dict[str, Any]
) -> None:
    answer = {"stdout": json.dumps(said) if said else "", "stderr": stderr, "broken": False}
    assert as_case(record(answer=answer))["step"][0]["expect"] == expected


def test_a_stop_that_was_left_alone_must_leave_every_file_alone() -> None:
    assert as_case(record(left_alone=True))["step"][0]["expect"] == {"answer": "silent", "unchanged": ["**"]}


def test_where_the_program_lies_is_not_expected() -> None:
    answer = {
        "stdout": json.dumps({"continue": True, "systemMessage": "over. `/opt/x/ralphloop resume` goes on."}),
        "stderr": "",
        "broken": False,
    }
    case = as_case(record(answer=answer, command="/opt/x/ralphloop"))
    assert case["step"][0]["expect"]["message_has"] == ["over. `"]


def test_a_bug_leaves_the_expectation_to_the_person() -> None:
    answer = {"stdout": "", "stderr": "", "broken": True}
    assert as_case(record(answer=answer))["step"][0]["expect"] == {}


def test_the_folder_of_the_session_is_there(tmp_path: Path) -> None:
    found = record(payload={"session_id": SESSION, "cwd": "@ROOT@/deep/down"})
    assert as_case(found)["step"][0]["cwd"] == "deep/down"
    assert (laid_out(found, tmp_path).root / "deep/down").is_dir()


def test_what_is_missing_is_said_at_the_top() -> None:
    found = record(left_out={"big\nfile": "9000000 bytes"}, checks=[{"verdicts": {}, "trouble": ""}])
    text = text_of(as_case(found), found)
    assert "# Not in the record: big file (9000000 bytes).\n" in text
    assert "# Checks ran at this stop." in text
