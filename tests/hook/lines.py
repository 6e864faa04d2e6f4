"""The lines of a client's transcript, as the client writes them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

from ralphloop.store.loop import iso

CAP_NOTICE = (
    "A hook blocked the turn from ending 9 consecutive times — overriding and ending turn. For "
    "Stop/SubagentStop hooks, check stop_hook_active in the input and return success while it's true. "
    "Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP to raise this limit."
)


def now_iso(offset_s: float = 0.0) -> str:
    return iso(time.time() + offset_s)


MODEL = "claude-opus-5-5"


def assistant_line(block: Mapping[str, Any], *, model: str = MODEL, **fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 5, "cache_read_input_tokens": 0}
    message = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": model,
               "content": [block], "stop_reason": None, "usage": usage}  # fmt: skip
    return {"parentUuid": None, "isSidechain": False, "type": "assistant", "uuid": str(uuid.uuid4()),
            "timestamp": now_iso(), "message": message, "version": "2.1.325", **fields}  # fmt: skip


def text_line(text: str, **fields: Any) -> dict[str, Any]:
    return assistant_line({"type": "text", "text": text}, **fields)


def tool_line(name: str, given: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": name, "input": given}
    return assistant_line(call, **fields)


def user_line(text: str, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"parentUuid": None, "isSidechain": False, "type": "user", "uuid": str(uuid.uuid4()),
            "timestamp": now_iso(), "message": message, **fields}  # fmt: skip


def feedback_line(reason: str) -> dict[str, Any]:
    return user_line("Stop hook feedback:\n" + reason, isMeta=True)


def interrupt_line() -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}
    return {**user_line(""), "message": message, "interruptedMessageId": "msg_1"}


def cap_line() -> dict[str, Any]:
    return {"type": "system", "subtype": "informational", "level": "warning", "content": CAP_NOTICE,
            "timestamp": now_iso(), "uuid": str(uuid.uuid4())}  # fmt: skip


def error_line(text: str) -> dict[str, Any]:
    block = {"type": "text", "text": text}
    return assistant_line(block, model="<synthetic>", isApiErrorMessage=True)


def compact_line() -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "parentUuid": None, "timestamp": now_iso(),
            "compactMetadata": {"trigger": "auto", "preTokens": 990086, "postTokens": 2626}}  # fmt: skip
