"""What Claude Code says in its `stream-json` output: one line, one event, or nothing that we need to know.

Shapes are those of 2.1.325. A line or field that is unknown, missing or of another type never raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

NUMBER_MAX = 1e15
SYNTHETIC = "<synthetic>"  # the model of what the client itself says, an API error for one


class Init(NamedTuple):
    """A session began, or went on after background work woke it."""

    session: str
    model: str
    version: str
    permission_mode: str
    tools: tuple[str, ...]
    cwd: str


class Said(NamedTuple):
    text: str
    model: str
    is_notice: bool  # by the client, not by a model
    in_subagent: bool


class ToolCall(NamedTuple):
    id: str
    name: str
    input: Mapping[str, Any]
    in_subagent: bool


class Denied(NamedTuple):
    """A tool call that nobody was there to allow; the run goes on. Only the result has its input."""

    tool: str
    call: str  # the id of the tool call
    why: str = ""
    input: Mapping[str, Any] = {}


class Retry(NamedTuple):
    """The API failed, and the client tries again by itself; no status means that there was no answer."""

    attempt: int
    max_retries: int
    delay_s: float
    status: int | None
    error: str


class Limit(NamedTuple):
    """How the account stands: `allowed`, `allowed_warning` or `rejected`, and until when (Unix time)."""

    status: str
    kind: str
    resets_at: float | None


class Fallback(NamedTuple):
    """The session goes on with another model."""

    model: str
    instead_of: str
    why: str


class Notice(NamedTuple):
    """A message to the person; by `stop-hook-block-cap` alone a turn shows that the client cut short."""

    text: str
    key: str
    level: str


class Result(NamedTuple):
    """The end of a turn; background work may wake the session, and there is another one then.

    Cost and tokens count from the session's beginning. The subtype of an API error is `success`, so judge
    by `is_error` and `terminal_reason`.
    """

    session: str
    is_error: bool
    subtype: str
    terminal_reason: str
    api_error_status: int | None
    text: str
    cost_usd: float
    tokens: int
    num_turns: int
    errors: tuple[str, ...]
    denials: tuple[Denied, ...]
    result_index: int


Event = Init | Said | ToolCall | Denied | Retry | Limit | Fallback | Notice | Result


def parse(line: bytes | str) -> Event | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    kind = _text(event, "type")
    if kind == "assistant":
        return _assistant(event)
    if kind == "result":
        return _result(event)
    if kind == "rate_limit_event":
        return _limit(_object(event, "rate_limit_info"))
    return _system(event) if kind == "system" else None


def _assistant(event: dict[str, Any]) -> Event | None:
    """The client gives each block a line of its own; of several, a tool call says the most."""
    message = _object(event, "message")
    in_subagent = bool(event.get("parent_tool_use_id"))
    blocks = [block for block in _list(message, "content") if isinstance(block, dict)]
    for block in blocks:
        if block.get("type") == "tool_use":
            return ToolCall(_text(block, "id"), _text(block, "name"), _object(block, "input"), in_subagent)
    text = "\n".join(_text(block, "text") for block in blocks if block.get("type") == "text")
    model = _text(message, "model")
    return Said(text, model, model == SYNTHETIC, in_subagent) if text else None


def _system(event: dict[str, Any]) -> Event | None:
    subtype = _text(event, "subtype")
    if subtype == "init":
        return Init(
            _text(event, "session_id"),
            _text(event, "model"),
            _text(event, "claude_code_version"),
            _text(event, "permissionMode"),
            _texts(event, "tools"),
            _text(event, "cwd"),
        )
    if subtype == "api_retry":
        return Retry(
            _whole(event, "attempt") or 0,
            _whole(event, "max_retries") or 0,
            _number(event, "retry_delay_ms") / 1000,
            _whole(event, "error_status"),
            _text(event, "error"),
        )
    if subtype == "permission_denied":
        return _denied(event)
    if subtype == "model_fallback":
        return Fallback(
            _text(event, "fallback_model"),
            _text(event, "original_model"),
            _text(event, "content") or _text(event, "trigger"),
        )
    if subtype in ("informational", "notification"):
        text = _text(event, "content") or _text(event, "text") or _text(event, "message")
        return Notice(text, _text(event, "key"), _text(event, "level") or _text(event, "priority"))
    return None


def _denied(event: dict[str, Any]) -> Denied:
    why = _text(event, "message") or _text(event, "decision_reason")
    return Denied(_text(event, "tool_name"), _text(event, "tool_use_id"), why, _object(event, "tool_input"))


def _limit(info: dict[str, Any]) -> Limit:
    return Limit(_text(info, "status"), _text(info, "rateLimitType"), _number(info, "resetsAt") or None)


def _result(event: dict[str, Any]) -> Result:
    return Result(
        session=_text(event, "session_id"),
        is_error=event.get("is_error") is True,
        subtype=_text(event, "subtype"),
        terminal_reason=_text(event, "terminal_reason"),
        api_error_status=_whole(event, "api_error_status"),
        text=_text(event, "result"),
        cost_usd=_number(event, "total_cost_usd"),
        tokens=_tokens(event),
        num_turns=_whole(event, "num_turns") or 0,
        errors=_texts(event, "errors"),
        denials=tuple(
            _denied(denial) for denial in _list(event, "permission_denials") if isinstance(denial, dict)
        ),
        result_index=_whole(event, "result_index") or 0,
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
    return tuple(value for value in _list(event, key) if isinstance(value, str))


def _list(event: dict[str, Any], key: str) -> list[Any]:
    value = event.get(key)
    return value if isinstance(value, list) else []


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
