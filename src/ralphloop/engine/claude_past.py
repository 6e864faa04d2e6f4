"""How a session of Claude Code began, and what it wrote, by its transcript and its subagents' (2.1.325)."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.engine.entries import (
    FIRST_TAIL,
    FLAGS,
    TAIL_MAX,
    blocks,
    entries_with,
    entry_of,
    last_text,
    new_bytes,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional

HEAD_MAX = 4 * 1024 * 1024
PATIENCE_S, STEP_S = 1.0, 0.05  # for a transcript that is still being written


def opening(path: str) -> tuple[str, str]:
    """When the session began and what it was first asked; empty texts if that cannot be seen."""
    begun = ""
    for entry in _head(path):
        stamp = entry.get("timestamp")
        begun = begun or (stamp if isinstance(stamp, str) else "")
        if entry.get("type") == "user" and not entry.get("isMeta") and not entry.get("isSidechain"):
            asked = text_of(entry)
            if asked:
                return begun, asked
    return begun, ""


def _head(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(os.open(os.path.expanduser(path), FLAGS), "rb") as lines:
            left = HEAD_MAX
            while left > 0:
                raw = lines.readline(left)
                if not raw:
                    return
                left -= len(raw)
                entry = entry_of(raw)
                if entry is not None:
                    yield entry
    except (OSError, ValueError):
        return


def has_reply(path: str, reply: Optional[str]) -> bool:
    """Whether the transcript has come as far as this reply, by the part of it that JSON leaves as it is: at a
    stop the client may still be writing, and of a print run's first turn there is no file yet (2.1.325).
    Without such a part nobody can tell."""
    words = (reply or "").strip()
    plain = 0
    while plain < len(words) and " " <= words[plain] <= "~" and words[plain] not in '"\\':
        plain += 1
    found = new_bytes(path, 0, FIRST_TAIL) if plain else None
    said = last_text(found[0]) if found else None
    return not plain or (said is not None and said.strip().startswith(words[:plain]))


def await_reply(path: str, reply: Optional[str]) -> None:
    """Give the client a moment to write this reply down."""
    deadline = time.monotonic() + PATIENCE_S
    while not has_reply(path, reply) and time.monotonic() < deadline:
        time.sleep(STEP_S)


def was_scheduled(path: str, text: str) -> bool:
    """Whether the agent scheduled a prompt with this text: when it comes due, it reaches the hook like one
    that was typed (2.1.325, CronCreate and ScheduleWakeup)."""
    for _, given in tool_calls(path, text):
        if any(text in str(given.get(key, "")) for key in ("prompt", "message")):
            return True
    found = new_bytes(path, 0, TAIL_MAX)
    fired = entries_with(found[0] if found else b"", b"scheduled_task_fire")
    return any(text in str(entry.get("prompt", "")) for entry in fired)


def tool_calls(path: str, marker: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Time and input of the tool calls that name `marker`, in this transcript and its subagents'."""
    for place in (path, *_subagents(path)):
        found = new_bytes(place, 0, TAIL_MAX)
        for entry in entries_with(found[0] if found else b"", marker.encode()):
            stamp = entry.get("timestamp")
            for block in blocks(entry) if entry.get("type") == "assistant" else ():
                if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                    yield stamp if isinstance(stamp, str) else "", block["input"]


def _subagents(path: str) -> list[str]:
    base = os.path.expanduser(path)
    folder = os.path.join(base[: -len(".jsonl")] if base.endswith(".jsonl") else base, "subagents")
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")]
    except (OSError, ValueError):
        return []
