"""Lines that Claude Code 2.1.325 wrote are read; lines of no known shape are passed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphloop.agents.claude.program import parse
from ralphloop.agents.event import Event, Limit, Result, Retry
from unit.domain.cases import each

DATA = Path(__file__).resolve().parents[2] / "data/stream"


def events(name: str) -> list[Event]:
    parsed = [parse(line) for line in (DATA / f"{name}.jsonl").read_bytes().splitlines()]
    return [event for event in parsed if event is not None]


def result(name: str) -> Result:
    last = events(name)[-1]
    assert isinstance(last, Result)
    return last


def test_of_a_session_that_worked_only_the_result_counts() -> None:
    assert events("work") == [
        Result(
            is_error=False, subtype="success", terminal_reason="completed", api_error_status=None,
            text="All done.", cost_usd=pytest.approx(0.0012), tokens=220, errors=(),
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("rate_limit", 429, "API Error: Request rejected (429) · slow down"),
        ("bad_request", 400, "API Error: 400 bad"),
        ("no_key", 401, "Failed to authenticate. API Error: 401 no key"),
        ("overloaded", 529, "API Error: 529 overloaded."),
    ],
)
def test_an_api_error_shows_in_all_but_the_subtype(name: str, status: int, text: str) -> None:
    end = result(name)
    assert (end.is_error, end.subtype) == (True, "success")
    assert (end.terminal_reason, end.api_error_status) == ("api_error", status)
    assert end.text.startswith(text)
    assert (end.cost_usd, end.tokens) == (0.0, 0)


def test_an_end_without_a_text_has_its_errors() -> None:
    end = result("max_turns")
    assert (end.is_error, end.subtype, end.terminal_reason) == (True, "error_max_turns", "max_turns")
    assert (end.text, end.errors) == ("", ("Reached maximum number of turns (2)",))
    end = result("interrupted")
    assert (end.is_error, end.subtype, end.terminal_reason) == (
        True, "error_during_execution", "aborted_streaming",
    )  # fmt: skip


def test_a_limit_of_the_account_says_until_when() -> None:
    # by the schema in the client; accounts with such limits are not run here
    info = {"status": "rejected", "resetsAt": 1_800_000_000, "rateLimitType": "five_hour"}
    line = json.dumps({"type": "rate_limit_event", "rate_limit_info": info})
    assert parse(line) == Limit("rejected", 1_800_000_000.0)
    assert parse('{"type": "rate_limit_event"}') == Limit("", None)


def test_tokens_are_those_of_all_models_with_their_caches() -> None:
    counts = {"inputTokens": 1, "outputTokens": 20, "cacheReadInputTokens": 300}
    usage = {"a": {**counts, "cacheCreationInputTokens": 4000}, "b": {"inputTokens": 50_000}}
    found = parse(json.dumps({"type": "result", "modelUsage": usage, "usage": {"input_tokens": 7}}))
    assert isinstance(found, Result)
    assert found.tokens == 54_321
    found = parse('{"type": "result", "usage": {"input_tokens": 7, "cache_read_input_tokens": 2}}')
    assert isinstance(found, Result)
    assert found.tokens == 9


@each(
    "line",
    [
        b"", b"   ", b"null", b"3", b'"text"', b"[]", b"{}", b"{", b"\xff\xfe\xff", b"not json",
        b"[" * 100_000, b'{"type": 5}', b'{"type": "new"}', b'{"type": "system"}',
        b'{"type": "system", "subtype": "hook_started"}',
        b'{"type": "user", "message": {"content": "x"}}', b'{"type": "assistant"}',
        b'{"type": "assistant", "message": {"content": "text"}}',
        b'{"type": "assistant", "message": {"content": [null, 3, {"type": "thinking"}]}}',
    ],
)  # fmt: skip
def test_a_line_without_news_is_passed_over(line: bytes) -> None:
    assert parse(line) is None


WRONG: list[Any] = [None, True, -1, 1e400, 10**400, "text", "9", [], [None], {}, {"a": {"inputTokens": "x"}}]


@pytest.mark.parametrize("name", [file.stem for file in sorted(DATA.glob("*.jsonl"))])
def test_fields_of_another_type_never_raise_and_never_count(name: str) -> None:
    for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        for key in event.keys() - {"type", "subtype"}:
            for wrong in WRONG:
                found = parse(json.dumps({**event, key: wrong}))
                if isinstance(found, Result):
                    assert 0 <= found.cost_usd < 1
                    assert 0 <= found.tokens < 10_000
                    assert isinstance(found.text, str)


def test_a_retry_says_what_the_service_answered() -> None:
    first = events("no_key")[0]
    assert first == Retry(attempt=1, status=401, error="authentication_failed")
    assert first.refuses_login
    limited = events("rate_limit")[0]
    assert isinstance(limited, Retry)
    assert not limited.refuses_login
