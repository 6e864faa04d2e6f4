"""What a session does, out of Claude Code's transcript: one entry in, a few short lines out."""

from __future__ import annotations

import os
from typing import Any

from ralphloop.agents.claude.usage import SYNTHETIC
from ralphloop.agents.transcript import EDIT, ERROR, FAILED, HOOK, PROMPT, TEXT, TOOL, Activity, moment
from ralphloop.domain import jsontext, outage
from ralphloop.domain.prompt import plain

Entry = dict[str, Any]

LINES_MAX = 24
LINE_MAX = 400
DIFF_MAX = 6
FEEDBACK = "Stop hook feedback:"
INTERRUPT = "[Request interrupted by user"
# A line without any of these says nothing that is shown, and most of a transcript's bytes are in such lines.
_MARKS = (b'"assistant"', b"is_error", FEEDBACK.encode(), INTERRUPT.encode(), b'"user"', b'"system"')
_RECORDS = b'{"type":"api-request'
# the argument that tells most about a call, of whatever tool has it
_TELLING = (
    "command", "file_path", "notebook_path", "pattern", "url", "query", "description", "skill", "path",
    "prompt",
)  # fmt: skip


def of_line(raw: bytes) -> list[Activity]:
    """What one line of a transcript shows; nothing if it cannot be read."""
    if not is_telling(raw):
        return []
    try:
        return activities(jsontext.parse_object(raw.decode("utf-8", "replace")))
    except ValueError:
        return []


def is_telling(raw: bytes) -> bool:
    """Whether a line is worth parsing."""
    return not raw.startswith(_RECORDS) and any(mark in raw for mark in _MARKS)


def activities(entry: Entry) -> list[Activity]:
    """What one entry of a transcript shows; nothing for the many kinds that only the client needs."""
    kind, message = entry.get("type"), entry.get("message")
    at = moment(entry.get("timestamp")) or 0.0
    if kind == "assistant" and isinstance(message, dict):
        return [Activity(what, lines, at) for what, lines in _said(entry, message) if lines]
    if kind == "user" and isinstance(message, dict):
        return [Activity(what, lines, at) for what, lines in _told(entry, message) if lines]
    if kind == "system":
        return [Activity(what, lines, at) for what, lines in _notices(entry) if lines]
    return []


Shown = list[tuple[str, tuple[str, ...]]]


def _said(entry: Entry, message: Entry) -> Shown:
    is_error = message.get("model") == SYNTHETIC
    found: Shown = []
    for block in _blocks(message.get("content")):
        if block.get("type") == "text":
            found.append((ERROR if is_error else TEXT, _lines(block.get("text"))))
        elif block.get("type") == "tool_use":
            found.append(_call(block, str(entry.get("cwd") or "")))
    return found


def _told(entry: Entry, message: Entry) -> Shown:
    """What the session was sent: failed results, a hook's feedback, what the person typed."""
    content = message.get("content")
    found: Shown = [
        (FAILED, _first(_result(block)))
        for block in _blocks(content)
        if block.get("type") == "tool_result" and block.get("is_error") is True
    ]
    text = content if isinstance(content, str) else _result({"content": content})
    if text.startswith(FEEDBACK):
        found.append((HOOK, _first(text[len(FEEDBACK) :])))
    elif text.startswith(INTERRUPT):
        found.append((ERROR, ("interrupted",)))
    elif text and not entry.get("isMeta") and not text.startswith("<"):
        found.append((PROMPT, _first(text)))
    return found


def _notices(entry: Entry) -> Shown:
    subtype = entry.get("subtype")
    if subtype == "compact_boundary":
        return [(HOOK, ("the context was compacted",))]
    if subtype == "api_error":
        return [(ERROR, _first(outage.retrying(entry)))]
    if subtype == "informational" and entry.get("level") == "warning":
        return [(ERROR, _first(_text(entry.get("content"))))]
    return []


def _call(block: Entry, cwd: str) -> tuple[str, tuple[str, ...]]:
    name, given = _text(block.get("name")) or "?", block.get("input")
    given = given if isinstance(given, dict) else {}
    head = _short(" ".join(part for part in (name, _argument(given, cwd)) if part))
    changed = _changes(given)
    return (EDIT, (head, *changed)) if changed else (TOOL, (head,))


def _argument(given: Entry, cwd: str) -> str:
    names = [*_TELLING, *(name for name in given if name not in _TELLING)]
    for name in names:
        value = _text(given.get(name))
        if value:
            return _near(value, cwd) if name.endswith("path") else value
    return ""


def _near(path: str, cwd: str) -> str:
    inside = cwd and path.startswith(cwd.rstrip(os.sep) + os.sep)
    return path[len(cwd.rstrip(os.sep)) + 1 :] if inside else path


def _changes(given: Entry) -> list[str]:
    """An edit as a short diff; what is the same at both ends of it is left out."""
    edits = given.get("edits")
    parts = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [given]
    lines: list[str] = []
    for part in parts:
        old, new = _text(part.get("old_string")), _text(part.get("new_string"))
        new = new or _text(part.get("content")) or _text(part.get("new_source"))
        lines += _diff(old.splitlines(), new.splitlines())
    more = len(lines) - DIFF_MAX
    shown = [_short(line) for line in lines[:DIFF_MAX]]
    return [*shown, f"  +{more} more"] if more > 0 else shown


def _diff(old: list[str], new: list[str]) -> list[str]:
    begin, least = 0, min(len(old), len(new))
    while begin < least and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < least - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    gone, come = old[begin : len(old) - end], new[begin : len(new) - end]
    return ["- " + line for line in gone] + ["+ " + line for line in come]


def _blocks(content: Any) -> list[Entry]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _result(block: Entry) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(_text(part.get("text")) for part in _blocks(content) if part.get("type") == "text")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _first(text: str) -> tuple[str, ...]:
    return _lines(text)[:1]


def _lines(value: Any) -> tuple[str, ...]:
    lines = [line for line in _text(value)[: LINES_MAX * LINE_MAX].split("\n") if line.strip()]
    shown = [_short(line.rstrip()) for line in lines[:LINES_MAX]]
    return (*shown, f"+{len(lines) - LINES_MAX} more") if len(lines) > LINES_MAX else tuple(shown)


def _short(line: str) -> str:
    """Without anything that a terminal would obey; tabs keep the shape of what is indented."""
    line = plain(line[: 2 * LINE_MAX].replace("\t", "    "))
    return line if len(line) <= LINE_MAX else line[: LINE_MAX - 1] + "…"
