"""Client JSON in, client JSON out: whatever is of the wrong type is left out."""

from __future__ import annotations

import json
from itertools import product

import pytest

from ralphloop.domain.model import LoopState
from ralphloop.domain.situation import Decision
from ralphloop.engine import claude
from ralphloop.hook import wire
from unit.domain.cases import each

FULL = {
    "session_id": "S", "transcript_path": "/t.jsonl", "cwd": "/p", "prompt_id": "P",
    "permission_mode": "default",
    "effort": {"level": "medium"}, "hook_event_name": "Stop", "stop_hook_active": True,
    "last_assistant_message": "done", "session_crons": [{"id": "1"}, {"id": "2"}],
    "background_tasks": [{"id": "a", "type": "shell", "status": "running", "description": "npm run dev"}],
}  # fmt: skip
WRONG = [None, True, 0, 7, 1.5, "", [], ["x"], {}, {"a": 1}]


@each(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"[]",
        b"null",
        b"5",
        b'"x"',
        b"{}",
        b"\xff\xfe",
        b'{"a": NaN}',
        b"\x00" * 9,
        b"[" * 9999,
    ],
)
def test_stdin_that_is_no_object_is_nothing(data):
    assert wire.payload(data) is None


def test_an_event_says_all_that_the_client_sent():
    event = wire.stop_event(wire.payload(json.dumps(FULL).encode()), cwd="/here")
    assert (event.session, event.transcript, event.cwd, event.prompt) == ("S", "/t.jsonl", "/p", "P")
    assert (event.active, event.reply, event.crons) == (True, "done", 2)
    assert event.background == (("shell", "npm run dev"),)


@each(("field", "value"), product(FULL, WRONG))
def test_a_field_of_the_wrong_type_counts_as_missing(field, value):
    payload = {**FULL, field: value}
    event = wire.stop_event(payload, cwd="/here")
    missing = wire.stop_event({name: FULL[name] for name in FULL if name != field}, cwd="/here")
    assert missing.crons == (2 if field != "session_crons" else 0)
    right = isinstance(value, type(FULL[field]))
    for name in ("session", "transcript", "cwd", "prompt", "active", "reply", "background", "crons"):
        said = getattr(event, name)
        assert right or said == getattr(missing, name)
    wire.is_subagent(payload)
    claude.normal(payload, {})


@pytest.mark.parametrize("field", ["transcript_path", "cwd"])
@pytest.mark.parametrize("path", ["/a\0b", "/" + "x" * 5000, "/\ud800"])
def test_a_path_that_no_system_knows_counts_as_missing(field, path):
    event = wire.stop_event({**FULL, field: path}, cwd="/here")
    assert (event.cwd if field == "cwd" else event.transcript) == ("/here" if field == "cwd" else "")


@pytest.mark.parametrize("reply", ["", "x" * 500_000, "\ud800"])
def test_an_empty_or_huge_reply_is_still_a_reply(reply):
    assert wire.stop_event({**FULL, "last_assistant_message": reply}, cwd="/").reply == reply


@each(
    ("tasks", "running"),
    [
        ([{"type": "subagent", "status": "running"}], [("subagent", "")]),
        ([{"type": "subagent", "status": "pending"}], [("subagent", "")]),
        ([{"type": "subagent", "status": "completed"}], []),
        ([{"type": "subagent"}], [("subagent", "")]),
        ([{"type": "shell", "status": "running", "command": "make"}], [("shell", "make")]),
        ([{"type": "shell", "status": ["running"]}], []),
        ([{"type": 5, "description": ["x"]}], [("5", "")]),
        ([None, 5, "x", []], []),
        ({"type": "subagent"}, []),
    ],
)
def test_only_background_work_that_runs_is_counted(tasks, running):
    assert list(wire.stop_event({**FULL, "background_tasks": tasks}, cwd="/").background) == running


@pytest.mark.parametrize(
    ("event", "is_subagent"),
    [
        ({"agent_id": "a1"}, True),
        ({"hook_event_name": "SubagentStop"}, True),
        ({"agent_id": ""}, False),
        ({"agent_id": None}, False),
        ({"hook_event_name": "Stop"}, False),
        ({}, False),
    ],
)
def test_a_subagents_stop_is_known_by_its_id_or_its_name(event, is_subagent):
    assert wire.is_subagent(event) is is_subagent


@each(
    ("event", "env", "is_foreign"),
    [
        ({"session_id": "S"}, {}, False),
        ({}, {}, False),
        ({"session_id": "S", "turn_id": "t"}, {}, True),
        (
            {"session_id": "S", "transcript_path": "/s/2026/11/15/rollout-2026-11-15T12-00-00-S.jsonl"},
            {},
            True,
        ),
        ({"session_id": "S", "transcript_path": "/home/me/.claude/projects/rollout-x/S.jsonl"}, {}, False),
        (
            {"session_id": "S", "transcript_path": "/tmp/rollout-1.jsonl"},
            {"CLAUDE_CODE_SESSION_ID": "S"},
            False,
        ),
        ({"session_id": "S", "transcript_path": None}, {}, False),
        ({"session_id": "S"}, {"COPILOT_CLI": "1"}, True),
        ({"session_id": "S"}, {"GEMINI_SESSION_ID": "x"}, True),
        ({"session_id": "S"}, {"GEMINI_SESSION_ID": "x", "CLAUDE_CODE_SESSION_ID": "S"}, False),
        ({"session_id": "S"}, {"GEMINI_SESSION_ID": "x", "CLAUDE_CODE_SESSION_ID": "T"}, True),
        ({"session_id": 5}, {}, True),
        ({"session_id": "x" * 9999}, {}, True),
        ({"session_id": "a\0b"}, {}, True),
    ],
)
def test_another_client_is_known_by_its_event_or_its_environment(event, env, is_foreign):
    assert claude.normal(event, env) is (None if is_foreign else event)


def answer(*, as_context=False, **values):
    said = wire.answer(Decision(LoopState(), **values), as_context=as_context)
    assert said.isascii()
    assert "\n" not in said
    return json.loads(said) if said else None


def test_a_continuation_is_a_block_with_a_reason():
    assert answer(blocks=True, reason="R\né", message="M") == {
        "decision": "block", "reason": "R\né", "systemMessage": "M",
    }  # fmt: skip


def test_a_continuation_can_be_sent_as_context_instead():
    assert answer(blocks=True, reason="R", message="M", as_context=True) == {
        "hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "R"},
        "systemMessage": "M",
    }


def test_an_allowed_stop_is_silent_or_says_one_message():
    assert answer() is None
    assert answer(message="M") == {"continue": True, "systemMessage": "M"}


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb"])
def test_what_no_client_can_read_becomes_a_question_mark(text):
    assert "?" in answer(blocks=True, reason=text)["reason"]
    assert "?" in json.loads(wire.notice(text))["systemMessage"]
    assert "?" in json.loads(wire.context("SessionStart", text))["hookSpecificOutput"]["additionalContext"]
