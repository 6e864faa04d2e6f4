"""What Claude Code says in its `stream-json` output: one line, one event, or nothing that we need to know.

Shapes are those of 2.1.325. A line or field that is unknown, missing or of another type never raises.
"""

from __future__ import annotations

import json
from typing import Any

from ralphloop.agents.event import Event, Limit, Result, Retry

NUMBER_MAX = 1e15


def parse(line: bytes | str) -> Event | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    if event.get("type") == "result":
        return _result(event)
    if event.get("type") == "rate_limit_event":
        return _limit(_object(event, "rate_limit_info"))
    if event.get("type") == "system" and event.get("subtype") == "api_retry":
        return Retry(_whole(event, "attempt") or 0, _whole(event, "error_status"), _text(event, "error"))
    return None


def _limit(info: dict[str, Any]) -> Limit:
    return Limit(_text(info, "status"), _number(info, "resetsAt") or None)


def _result(event: dict[str, Any]) -> Result:
    return Result(
        is_error=event.get("is_error") is True,
        subtype=_text(event, "subtype"),
        terminal_reason=_text(event, "terminal_reason"),
        api_error_status=_whole(event, "api_error_status"),
        text=_text(event, "result"),
        cost_usd=_number(event, "total_cost_usd"),
        tokens=_tokens(event),
        errors=_texts(event, "errors"),
    )


def _tokens(event: dict[str, Any]) -> int:
    """Those of all models, subagents' too; of the main conversation where the client does not tell them."""
    models = _object(event, "modelUsage")
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    counts = [_whole(_object(models, model), name) or 0 for model in models for name in names]
    if not counts:
        usage = _object(event, "usage")
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        counts = [_whole(usage, name) or 0 for name in names]
    return sum(counts)


def _text(event: dict[str, Any], key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _texts(event: dict[str, Any], key: str) -> tuple[str, ...]:
    values = event.get(key)
    return tuple(text for text in values if isinstance(text, str)) if isinstance(values, list) else ()


def _object(event: dict[str, Any], key: str) -> dict[str, Any]:
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def _whole(event: dict[str, Any], key: str) -> int | None:
    value = event.get(key)
    return value if type(value) is int and 0 <= value < NUMBER_MAX else None


def _number(event: dict[str, Any], key: str) -> float:
    """A measure of something: never below zero, never endless."""
    value: Any = event.get(key)
    if type(value) not in (int, float) or not 0 <= value < NUMBER_MAX:
        return 0.0
    return float(value)
