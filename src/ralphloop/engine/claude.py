"""What a client's transcript tells of the turn since the last stop."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.model import CAPPED, FAILED, INTERRUPTED, RATE_LIMITED, Turn, is_older
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERRUPT = b"[Request interrupted by user"
CAP = b"blocked the turn from ending"
SYNTHETIC = b"<synthetic>"
TOOL = b'"tool_use"'
QUEUE = b'"queue-operation"'
FAILED_TOOL = (b'"is_error":true', b'"is_error": true')
DETAIL_MAX = 300


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
        from ralphloop.engine import denial

        turn.denied = tuple(denial.denials(data, since))
        turn.worked = frozenset(denial.worked(data, since) if after_denials or turn.denied else ())
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
            turn.detail = masked(said)[:DETAIL_MAX] if said else ""
            if outcome == FAILED:
                from ralphloop.domain.outage import reason

                turn.detail = reason(turn.detail)
            if outcome == RATE_LIMITED:
                from ralphloop.engine.api_error import instant

                turn.resume_at = instant(said[:DETAIL_MAX])
            return


def masked(said: str) -> str:
    """What somebody else said, as it may be kept and shown: without secrets."""
    from ralphloop.evidence import mask

    return mask.mask(said, mask.spellings(mask.secrets(os.environ)))


def _break(entry: dict[str, Any]) -> tuple[str, str]:
    kind = entry.get("type")
    if kind == "user" and text_of(entry).startswith(INTERRUPT.decode()):
        return INTERRUPTED, ""
    content = entry.get("content")
    if kind == "system" and isinstance(content, str) and CAP.decode() in content:
        return CAPPED, content
    message = entry.get("message")
    if kind == "assistant" and isinstance(message, dict) and message.get("model") == "<synthetic>":
        said = text_of(entry)
        return api_error(said, marked=entry.get("isApiErrorMessage") is True), said
    return "", ""


def api_error(said: str, *, marked: bool = False) -> str:
    """The outcome of an error that the client reports in words; empty if it is none."""
    low = said.lower()
    if not marked and not low.startswith("api error"):
        return ""
    words = "".join([ch if ch.isalnum() else " " for ch in low[:2000]]).split()
    limited = "429" in words or "529" in words or "overloaded" in words
    if "limit" in low and "400" not in words:  # 400 speaks of the context's limit
        limited = True
    return RATE_LIMITED if limited else FAILED
