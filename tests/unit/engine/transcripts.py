"""Transcript lines in the shapes that Claude Code 2.1.325 writes."""

from __future__ import annotations

import json

THEN, NOW = "2026-11-15T10:00:00.000Z", "2026-11-15T12:00:00.000Z"


def line(kind: str, *, at: str = NOW, **fields) -> str:
    return json.dumps({"type": kind, "timestamp": at, "uuid": "u", **fields}) + "\n"


def asked(text, *, at: str = NOW, **fields) -> str:
    return line("user", at=at, message={"role": "user", "content": text}, **fields)


def said(*blocks, at: str = NOW, model: str = "claude-x", **fields) -> str:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    message = {"id": "m", "model": model, "role": "assistant", "content": content, "usage": {}}
    return line("assistant", at=at, message=message, **{"isSidechain": False, **fields})


def tool(name: str = "Bash", *, at: str = NOW, **arguments) -> str:
    return said({"type": "tool_use", "id": "t", "name": name, "input": arguments}, at=at)


def result(text: str, *, at: str = NOW) -> str:
    return asked([{"type": "tool_result", "tool_use_id": "t", "content": text}], at=at)


def blob(text: str) -> str:
    """The whole request as the client keeps it: prompts and replies again, as text."""
    return line("api-request-blob", content=text, body={"messages": [{"role": "assistant", "content": text}]})


INTERRUPT = asked([{"type": "text", "text": "[Request interrupted by user]"}], interruptedMessageId="m")
INTERRUPT_IN_TOOL = asked([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
CAP = line(
    "system", subtype="informational", level="warning",
    content="A hook blocked the turn from ending 9 consecutive times — overriding and ending turn. For "
    "Stop/SubagentStop hooks, check stop_hook_active in the input and return success while it's true.",
)  # fmt: skip


def api_error(text: str, **fields) -> str:
    return said(text, model="<synthetic>", isApiErrorMessage=True, **fields)
