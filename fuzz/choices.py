"""Reads decisions out of fuzzed bytes: the same bytes lead to the same input, with or without a fuzzer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

DEEP = "[" * 3000 + "]" * 3000
ODD_TEXTS = (
    "", " ", "0", "null", "\x00", "\ud800", "\ufeff", "../../etc/passwd", "/dev/null", "~", "%s%d", "\x1b[2J",
    "F1", "1.1", "a" * 300, "é\u2028\U0001f600", "execution", "complete", "running", "true", "1e999", "`id`",
    "2999-12-31T23:59:59.999Z", "[x]", "```", "$(id)", ".", "x" * 5000,
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3, 15, 10**9, 10**18, -(10**30), 0.5, 1e308, [], {}, [None], [[]], {"": ""},
    ["F1"], {"F1": 1}, [{"id": 1}], *ODD_TEXTS,
)  # fmt: skip
SPLICES = (b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r\n", b'"', b"}", b"{", b"[", b"]", b",",
           b"\\u0000", b"NaN", b"1e999", b"- [ ] ", b"- [x] ", b"```\n", b"  ", b"\t", b"<!--", b"null",
           b"---\n", b"**Verify**: `true`", b"Status:", b"\xed\xa0\x80")  # fmt: skip


class Choices:
    """What is left of the bytes; when there is nothing left, every choice is the first one."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def number(self, below: int) -> int:
        """A number from 0 to `below` - 1."""
        width = 1 if below <= 256 else 2
        part = self._data[self._at : self._at + width]
        self._at += width
        return int.from_bytes(part, "big") % below

    def pick(self, items: Sequence[T]) -> T:
        return items[self.number(len(items))]

    def chance(self, one_in: int) -> bool:
        return self.number(one_in) == 1

    def rest(self) -> bytes:
        part = self._data[self._at :]
        self._at = len(self._data)
        return part

    def share(self) -> bytes:
        """Some of what is left, by a length of two bytes."""
        size = self.number(1 << 16) % (max(0, self.left) + 1)
        part = self._data[self._at : self._at + size]
        self._at += size
        return part


def text(data: bytes) -> str:
    """As files are read: bytes that are not UTF-8 survive."""
    return data.decode("utf-8", "surrogateescape")


def spoiled(said: Choices, seed: bytes, *, most: int = 6) -> bytes:
    """The seed with a few edits of bytes: parts cut, doubled, overwritten or put in."""
    data = bytearray(seed)
    for _ in range(said.number(most)):
        at = said.number(len(data) + 1)
        size = said.number(64)
        kind = said.number(4)
        if kind == 0:
            del data[at : at + size]
        elif kind == 1:
            data[at:at] = data[at : at + size]
        elif kind == 2:
            data[at:at] = said.pick(SPLICES)
        else:
            data[at : at + size] = said.share()
    return bytes(data)


def altered(said: Choices, value: Any, *, most: int = 5) -> Any:
    """A copy of a JSON value with a few of its parts replaced, removed, doubled or renamed."""
    found = json.loads(json.dumps(value))
    for _ in range(said.number(most)):
        found = _altered_once(said, found, depth=0)
    return found


def _altered_once(said: Choices, value: Any, *, depth: int) -> Any:
    inside = isinstance(value, (dict, list)) and value and depth < 8 and said.number(8) != 7
    if not inside:
        return _other(said)
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = said.pick(keys)
    kind = said.number(6)
    if kind == 0:
        del value[key]
    elif kind == 1 and isinstance(value, dict):
        value[said.pick(ODD_TEXTS)] = value[key]
    elif kind == 1:
        value.append(value[key])
    elif kind == 2 and isinstance(value, dict):
        value[said.pick(ODD_TEXTS)] = value.pop(key)
    else:
        value[key] = _altered_once(said, value[key], depth=depth + 1)
    return value


def _other(said: Choices) -> Any:
    if said.chance(8):
        return text(said.share()).encode("utf-8", "replace").decode()
    return json.loads(json.dumps(said.pick(ODD_VALUES)))


def written(said: Choices, value: Any) -> bytes:
    """The value as JSON text in one of the ways that people and programs write it."""
    indent = said.pick((None, 2, "\t", 0, 1))
    separators = said.pick((None, (",", ":"), (" , ", " : ")))
    made = json.dumps(value, indent=indent, separators=separators, ensure_ascii=not said.chance(3))
    if said.chance(6):
        made = made.replace("\n", "\r\n")
    if said.chance(12):
        made = "\ufeff" + made
    if said.chance(12):
        made = made.replace('"F1"', DEEP, 1)
    return made.encode("utf-8", "surrogatepass")
