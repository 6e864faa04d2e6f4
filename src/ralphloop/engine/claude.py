"""Claude Code as the hook meets it: whether a payload is its own, and what its transcripts tell (2.1.325)."""

from __future__ import annotations

from ralphloop.domain.jsontext import text_in
from ralphloop.domain.model import CAPPED, FAILED, INTERRUPTED, RATE_LIMITED, SESSION_VARIABLE, Turn, is_older
from ralphloop.engine.entries import (
    FIRST_TAIL,
    TAIL_MAX,
    blocks,
    entries_with,
    entry_of,
    last_text,
    new_bytes,
    text_of,
)
from ralphloop.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.engine.claude_past import await_reply as await_reply
    from ralphloop.engine.claude_past import opening as opening
    from ralphloop.engine.claude_past import tool_calls as tool_calls
    from ralphloop.engine.claude_past import was_scheduled as was_scheduled
else:

    def __getattr__(name):
        """What few stops ask for is a module of its own."""
        from ralphloop.engine import claude_past

        return getattr(claude_past, name)


# Clients that read Claude Code's settings and are not Claude Code (facts on other agents).
FOREIGN = (
    "COPILOT_CLI", "QWEN_PROJECT_DIR", "QWEN_CODE_SESSION_ID", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR",
    "DROID_PROJECT_DIR", "FACTORY_PROJECT_DIR",
)  # fmt: skip

INTERRUPT = b"[Request interrupted by user"
CAP = b"blocked the turn from ending"
SYNTHETIC = b"<synthetic>"
TOOL = b'"tool_use"'
QUEUE = b'"queue-operation"'
FAILED_TOOL = (b'"is_error":true', b'"is_error": true')
DETAIL_MAX = 300


def normal(payload: dict[str, Any], env: Mapping[str, str]) -> Optional[dict[str, Any]]:
    """What a hook is sent, in the names that it reads, which are this client's own; None for what another
    client sent. One that Claude Code started inherits its variables."""
    session = text_in(payload, "session_id")
    if payload.get("session_id") not in (None, "") and not (session and files.file_name(session)):
        return None  # a loop can be kept under no such id
    if session and session == env.get(SESSION_VARIABLE):
        return payload
    if "turn_id" in payload or any(name in env for name in FOREIGN):
        return None
    # Codex names no turn where a session begins or ends; its transcripts it always calls so (0.166.0).
    is_codex = text_in(payload, "transcript_path").rpartition("/")[2].startswith("rollout-")
    return None if is_codex else payload


def read_turn(
    path: str, *, start: int, since: str, want_reply: bool = True, after_denials: bool = False
) -> Turn:
    """Look at the bytes after `start`; entries older than `since` do not count. After calls that were denied,
    those that were not are told too."""
    found = new_bytes(path, start, TAIL_MAX if start else FIRST_TAIL)
    if found is None:
        return Turn(end=start)
    data, end = found
    turn = Turn(readable=True, end=end)
    turn.tools = 1 if _has_tool_call(data, since) else 0
    if want_reply:
        turn.reply = last_text(data)
    for marker in (INTERRUPT, CAP, SYNTHETIC):
        if marker in data:
            _note_break(turn, data, since)
            break
    turn.queued = QUEUE in data and _is_queued(data)
    if after_denials or FAILED_TOOL[0] in data or FAILED_TOOL[1] in data:
        from ralphloop.engine import claude_past

        turn.denied = tuple(claude_past.denials(data, since))
        turn.worked = frozenset(claude_past.worked(data, since) if after_denials or turn.denied else ())
    return turn


def _is_fresh(entry: dict[str, Any], since: str) -> bool:
    stamp = entry.get("timestamp")
    return not since or not isinstance(stamp, str) or not is_older(stamp, since)


def _has_tool_call(data: bytes, since: str) -> bool:
    return any(
        entry.get("type") == "assistant"
        and _is_fresh(entry, since)
        and any(block.get("type") == "tool_use" for block in blocks(entry))
        for entry in entries_with(data, TOOL)
    )


def _is_queued(data: bytes) -> bool:
    """Whether a message or command of the person is left in the client's queue, which it empties only when a
    turn ends (2.1.325). What begins with a tag is the client's own news."""
    waiting: list[str] = []
    for entry in reversed(list(entries_with(data, QUEUE))):
        content = entry.get("content")
        if entry.get("type") != "queue-operation":
            continue
        if entry.get("operation") == "enqueue":
            waiting.append(content if isinstance(content, str) else "")
        elif content in waiting:
            waiting.remove(content)
        else:
            del waiting[: 1 if entry.get("operation") == "dequeue" else None]
    return any(text and not text.startswith("<") for text in waiting)


def _note_break(turn: Turn, data: bytes, since: str) -> None:
    """The last end that no hook saw, if there is one."""
    for raw in reversed(data.splitlines()):
        if not (INTERRUPT in raw or CAP in raw or SYNTHETIC in raw):
            continue
        entry = entry_of(raw)
        if entry is None or not _is_fresh(entry, since):
            continue
        outcome, said = _break(entry)
        if outcome:
            turn.broken_off = outcome
            if said:
                _note_words(turn, said)
            return


def _note_words(turn: Turn, said: str) -> None:
    from ralphloop.domain.outage import reason
    from ralphloop.engine.api_error import instant, masked

    turn.detail = masked(said)[:DETAIL_MAX]
    if turn.broken_off == FAILED:
        turn.detail = reason(turn.detail)
    if turn.broken_off == RATE_LIMITED:
        turn.resume_at = instant(said[:DETAIL_MAX])


def _break(entry: dict[str, Any]) -> tuple[str, str]:
    kind = entry.get("type")
    if kind == "user" and text_of(entry).startswith(INTERRUPT.decode()):
        return INTERRUPTED, ""
    content = entry.get("content")
    if kind == "system" and isinstance(content, str) and CAP.decode() in content:
        return CAPPED, content
    message = entry.get("message")
    if kind == "assistant" and isinstance(message, dict) and message.get("model") == "<synthetic>":
        from ralphloop.engine.api_error import outcome

        said = text_of(entry)
        return outcome(said, marked=entry.get("isApiErrorMessage") is True), said
    return "", ""
