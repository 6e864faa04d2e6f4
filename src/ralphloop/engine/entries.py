"""The entries of a client's transcript: its last lines, read without being held up, and what they hold."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional

TAIL_MAX = 8 * 1024 * 1024
FIRST_TAIL = 1024 * 1024

# a pipe in the transcript's place must not hold up the stop
FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


def new_bytes(path: str, start: int, most: int) -> Optional[tuple[bytes, int]]:
    """The whole lines after `start`, and where they end."""
    try:
        handle = os.open(os.path.expanduser(path), FLAGS)
    except (OSError, ValueError):
        return None
    try:
        size = os.fstat(handle).st_size
        begin = max(start if start <= size else 0, size - most)
        os.lseek(handle, begin, os.SEEK_SET)
        data = _read(handle, size - begin)
    except OSError:
        return None
    finally:
        os.close(handle)
    if begin not in (0, start):
        cut = data.find(b"\n") + 1
        begin, data = begin + cut, data[cut:]
    data = data[: data.rfind(b"\n") + 1]
    return data, begin + len(data)


def _read(handle: int, size: int) -> bytes:
    chunks = []
    while size > 0:
        chunk = os.read(handle, size)
        if not chunk:
            break
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def entries_with(data: bytes, marker: bytes) -> Iterator[dict[str, Any]]:
    """The entries whose line holds the marker, last one first; broken lines are passed over."""
    at = data.rfind(marker)
    while at >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        stop = data.find(b"\n", at)
        entry = entry_of(data[begin : stop if stop >= 0 else len(data)])
        if entry is not None:
            yield entry
        at = data.rfind(marker, 0, begin)


def entry_of(raw: bytes) -> Optional[dict[str, Any]]:
    try:
        value = jsontext.parse(raw.decode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def text_of(entry: dict[str, Any]) -> str:
    texts = [block.get("text") for block in blocks(entry) if block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def last_text(data: bytes) -> Optional[str]:
    """What the agent itself said last; None if that was a tool call, or nothing."""
    for entry in entries_with(data, b'"assistant"'):
        if entry.get("type") == "assistant" and not entry.get("isSidechain"):
            texts = [block.get("text") for block in blocks(entry) if block.get("type") == "text"]
            return texts[-1] if texts and isinstance(texts[-1], str) else None
    return None
