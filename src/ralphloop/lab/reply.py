"""What a scripted model answers: texts, tool calls, errors, delays, and the JSON file that lists them."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ralphloop.errors import ScriptError

DEFAULT_TEXT = "Nothing left to say."
DEFAULT_SUMMARY = "The conversation so far, summarised by the script."


@dataclass(frozen=True)
class Usage:
    """Token counts that a reply reports; the client sums the input side to judge how full its context is."""

    input_tokens: int = 100
    output_tokens: int = 10
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


@dataclass(frozen=True)
class ToolCall:
    name: str
    input: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ApiError:
    status: int
    message: str = "scripted error"
    retry_after_s: float | None = None


@dataclass(frozen=True)
class Reply:
    """One answer: text blocks, then tool calls; or an error.

    `hold` keeps it back until the event is set, `hold_midway` only what follows its texts in a stream.
    """

    texts: tuple[str, ...] = ()
    tools: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    error: ApiError | None = None
    delay_s: float = 0.0
    hold: threading.Event | None = None
    hold_midway: threading.Event | None = None

    def using(self, **tokens: int) -> Reply:
        """The same answer with other token counts, as in `text("done").using(input_tokens=99_000)`."""
        return replace(self, usage=replace(self.usage, **tokens))

    def after(self, delay_s: float) -> Reply:
        return replace(self, delay_s=delay_s)

    def held(self, until: threading.Event) -> Reply:
        return replace(self, hold=until)

    def held_midway(self, until: threading.Event) -> Reply:
        """Claude Code 2.1.325 records an interrupt only once it has received some of the reply."""
        return replace(self, hold_midway=until)

    def also(self, tool: str, **tool_input: Any) -> Reply:
        return replace(self, tools=(*self.tools, ToolCall(tool, tool_input)))


def text(*blocks: str) -> Reply:
    """One message with a text block per argument."""
    return Reply(texts=blocks)


def call(tool: str, /, say: str = "", **tool_input: Any) -> Reply:
    """A tool call, as in `call("Write", file_path="a.txt", content="x")`; `say` puts a text before it."""
    return Reply(texts=(say,) if say else ()).also(tool, **tool_input)


def fail(status: int, message: str = "scripted error", *, retry_after_s: float | None = None) -> Reply:
    return Reply(error=ApiError(status, message, retry_after_s))


@dataclass(frozen=True)
class ScriptFile:
    replies: tuple[Reply, ...]
    default: str = DEFAULT_TEXT
    summary: str = DEFAULT_SUMMARY


def load_script(path: str | Path) -> ScriptFile:
    """Read `{"replies": […], "default": TEXT, "summary": TEXT}` or a bare list of replies."""
    parsed = json.loads(Path(path).read_text(encoding="utf-8"))
    document = {"replies": parsed} if isinstance(parsed, list) else parsed
    if not isinstance(document, dict) or not isinstance(document.get("replies"), list):
        raise ScriptError(f'{path}: expected a list of replies or an object with "replies"')
    replies = tuple(reply_from_json(entry) for entry in document["replies"])
    return ScriptFile(
        replies,
        default=document.get("default", DEFAULT_TEXT),
        summary=document.get("summary", DEFAULT_SUMMARY),
    )


_REPLY_KEYS = frozenset(
    {"text", "texts", "tools", "usage", "delay_s", "hold", "hold_midway", "error", "message", "retry_after_s"}
)


def reply_from_json(entry: Any) -> Reply:
    """A string is a text; an object has the keys of a `Reply`, or `error` with its message."""
    if isinstance(entry, str):
        return text(entry)
    if not isinstance(entry, dict) or not entry.keys() <= _REPLY_KEYS:
        raise ScriptError(f"not a reply: {entry!r}; an object may have {', '.join(sorted(_REPLY_KEYS))}")
    error = None
    if "error" in entry:
        error = ApiError(entry["error"], entry.get("message", ApiError.message), entry.get("retry_after_s"))
    return Reply(
        texts=tuple(entry.get("texts") or filter(None, [entry.get("text")])),
        tools=tuple(ToolCall(tool["name"], tool.get("input", {})) for tool in entry.get("tools", [])),
        usage=Usage(**entry.get("usage", {})),
        error=error,
        delay_s=entry.get("delay_s", 0.0),
        hold=_endless(entry.get("hold")),
        hold_midway=_endless(entry.get("hold_midway")),
    )


def _endless(wanted: object) -> threading.Event | None:
    """An event that no one can set: the reply hangs until the client leaves or the server closes."""
    return threading.Event() if wanted else None
