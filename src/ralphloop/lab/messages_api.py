"""The Messages API on the wire: what a request says, and how a reply is written whole or as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ralphloop.lab.reply import ApiError, Reply

RequestKind = Literal["main", "subagent", "compaction", "side", "count_tokens"]

# Sent by Claude Code 2.1.325 when CLAUDE_CODE_GATEWAY_HINT_HEADERS=1.
_CLASS_HEADER = "x-claude-code-request-class"
_KIND_OF_CLASS: dict[str, RequestKind] = {
    "main": "main",
    "subagent": "subagent",
    "workflow": "subagent",
    "compaction": "compaction",
    "auxiliary": "side",
    "side_reply": "side",
}
EVENTS_PER_BLOCK = 3

_SUMMARY_PROMPT = "create a detailed summary of the conversation"
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class ModelRequest:
    """One request as the model received it."""

    kind: RequestKind
    headers: Mapping[str, str]
    body: dict[str, Any]

    @classmethod
    def parse(cls, path: str, headers: Mapping[str, str], raw: bytes) -> ModelRequest:
        body = json.loads(raw)
        lowered = {name.lower(): value for name, value in headers.items()}
        return cls(_kind(path, lowered, body), lowered, body)

    @property
    def texts(self) -> list[str]:
        """The plain texts of all messages in order, tool results included."""
        return list(_texts(self.body.get("messages", [])))

    @property
    def new_texts(self) -> list[str]:
        """The texts since the model last spoke: the prompt, tool results, or a hook's reason."""
        messages = self.body.get("messages", [])
        spoken = [i for i, message in enumerate(messages) if message.get("role") == "assistant"]
        return list(_texts(messages[spoken[-1] + 1 :] if spoken else messages))

    def mentions(self, fragment: str) -> bool:
        return any(fragment in text for text in self.texts)


def _kind(path: str, headers: Mapping[str, str], body: dict[str, Any]) -> RequestKind:
    if path.partition("?")[0].endswith("/count_tokens"):
        return "count_tokens"
    declared = _KIND_OF_CLASS.get(headers.get(_CLASS_HEADER, ""))
    if declared:
        return declared
    if "x-claude-code-agent-id" in headers:
        return "subagent"
    if any(_SUMMARY_PROMPT in text for text in _texts(body.get("messages", [])[-2:])):
        return "compaction"
    return "main" if body.get("tools") else "side"


def _texts(content: Any) -> Iterator[str]:
    """Every text below a message, a block or a list of them; foreign shapes are passed over."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _texts(part)
    elif isinstance(content, dict):
        yield from _texts(content.get("text", content.get("content")))


def count_tokens(body: dict[str, Any]) -> dict[str, int]:
    return {"input_tokens": len(json.dumps(body)) // 4}


def error_body(error: ApiError) -> dict[str, Any]:
    kind = _ERROR_TYPES.get(error.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


def message(reply: Reply, *, number: int, model: str) -> dict[str, Any]:
    """The reply as one whole message; `number` makes its ids unique."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in reply.texts]
    for index, tool in enumerate(reply.tools):
        tool_id = f"toolu_{number:06d}_{index}"
        blocks.append({"type": "tool_use", "id": tool_id, "name": tool.name, "input": tool.input})
    return {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if reply.tools else "end_turn",
        "stop_sequence": None,
        "usage": asdict(reply.usage),
    }


def event_stream(whole: dict[str, Any]) -> Iterator[bytes]:
    """The server-sent events that add up to a whole message."""
    opening = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield _event("message_start", message=opening)
    for index, block in enumerate(whole["content"]):
        empty, delta = _opening_and_delta(block)
        yield _event("content_block_start", index=index, content_block=empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage=whole["usage"])
    yield _event("message_stop")


def _opening_and_delta(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if block["type"] == "text":
        return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    arguments = json.dumps(block["input"])
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}


def _event(name: str, **fields: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()
