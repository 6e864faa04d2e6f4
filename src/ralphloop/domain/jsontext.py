"""JSON text to values and back, and edits that change only the bytes of one value.

The stdlib `json` package imports `re`, which takes longer than a whole stop. So the C scanner behind it
is used directly, and `json` is loaded only to explain text that does not parse, or where there is none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Mapping, Optional

    _make_scanner: Any
    quote: Callable[[str], str]
else:
    try:
        from _json import encode_basestring_ascii as quote
        from _json import make_scanner as _make_scanner
    except ImportError:  # an interpreter without the accelerator
        from json.decoder import JSONDecoder
        from json.encoder import encode_basestring_ascii as quote

        def _make_scanner(grammar):
            return JSONDecoder(parse_constant=grammar.parse_constant).scan_once


_SPACE = " \t\n\r"
_BOM = "\ufeff"


def _constant(name: str) -> float:
    raise ValueError(name + " is not JSON")


class _Grammar:
    """What the scanner asks of a decoder: plain values, strict strings, no NaN."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_constant)


_scan: Callable[[str, int], tuple[Any, int]] = _make_scanner(_Grammar())


def parse(text: str) -> Any:
    """The value of a whole JSON text; ValueError says what is wrong and where."""
    try:
        value, end = _scan(text, _skip(text, 0))
        if _skip(text, end) == len(text):
            return value
    except (ValueError, StopIteration, SystemError, RecursionError):
        pass
    return _explain(text)


def parse_object(text: str) -> dict[str, Any]:
    value = parse(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def text_in(found: Mapping[str, Any], key: str) -> str:
    """A member of an object as text, empty for anything else: nothing is called or kept under a NUL."""
    value = found.get(key)
    return value if isinstance(value, str) and "\0" not in value else ""


def _explain(text: str) -> Any:
    import json

    try:
        return json.loads(text[text.startswith(_BOM) :], parse_constant=_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _skip(text: str, at: int) -> int:
    if at == 0 and text.startswith(_BOM):
        at = 1
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def opening(text: str) -> int:
    """Where the value of a text starts: after a byte order mark and white space."""
    return _skip(text, 0)


def render(value: Any) -> str:
    """One line of JSON, ASCII only."""
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, dict):
        return "{" + ", ".join([quote(str(k)) + ": " + render(v) for k, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([render(item) for item in value]) + "]"
    if isinstance(value, float) and value - value != 0:  # beyond a float's range, which JSON does not write
        return "null"
    return repr(value)


class Span:
    """One value inside a text, with the key or index that leads to it and where that key stands."""

    __slots__ = ("end", "key", "key_end", "key_start", "start", "value")

    def __init__(self, key: Any, value: Any, start: int, end: int, *, key_start: int, key_end: int) -> None:
        self.key = key
        self.value = value
        self.start = start
        self.end = end
        self.key_start = key_start
        self.key_end = key_end


def members(text: str, at: int = 0) -> Iterator[Span]:
    """The values of the object or array that opens at `at`; ValueError where the text breaks off."""
    at = _skip(text, at)
    closing = "}" if text.startswith("{", at) else "]"
    at = _skip(text, at + 1)
    index = 0
    while not text.startswith(closing, at):
        key: Any = index
        key_start = key_end = at
        if closing == "}":
            key, key_end = _value_at(text, at)
            at = _skip(text, _skip(text, key_end) + 1)
        value, end = _value_at(text, at)
        yield Span(key, value, at, end, key_start=key_start, key_end=key_end)
        index += 1
        at = _skip(text, end)
        if text.startswith(",", at):
            at = _skip(text, at + 1)


def _value_at(text: str, at: int) -> tuple[Any, int]:
    try:
        return _scan(text, at)
    except (StopIteration, SystemError, RecursionError):
        raise ValueError("no JSON value at character " + str(at)) from None


def member(text: str, key: Any, at: int = 0) -> Optional[Span]:
    """The value that a reader would see under `key`: the last one, if it stands there twice."""
    found = None
    for span in members(text, at):
        if span.key == key:
            found = span
    return found


def replace(text: str, span: Span, value: Any) -> str:
    return text[: span.start] + render(value) + text[span.end :]


def replace_raw(text: str, span: Span, raw: str) -> str:
    return text[: span.start] + raw + text[span.end :]


def set_member(text: str, key: str, value: Any, *, at: int = 0) -> str:
    """The object at `at` with that value under `key`; the same text if a reader sees it there already."""
    found = member(text, key, at)
    if found is None:
        return add_member(text, key, value, at=at)
    is_so = found.value.__class__ is value.__class__ and found.value == value
    return text if is_so else replace(text, found, value)


def add_member(text: str, key: str, value: Any, *, at: int = 0) -> str:
    """The object at `at` with one more member, laid out as its last member is."""
    return add_raw(text, key, render(value), at=at)


def add_raw(text: str, key: str, raw: str, *, at: int = 0) -> str:
    """The same with a value that is JSON text already and stays as it is written."""
    last: Optional[Span] = None
    for span in members(text, at):
        last = span
    open_at = _skip(text, at) + 1
    if last is None:
        return text[:open_at] + quote(key) + ": " + raw + text[open_at:]
    lead = text[open_at : last.key_start]
    space = lead[len(lead.rstrip(_SPACE)) :]
    colon = text[last.key_end : last.start]
    if not lead and colon.endswith(" "):
        space = " "  # a lone member shows no gap after a comma
    return text[: last.end] + "," + space + quote(key) + colon + raw + text[last.end :]


def remove_member(text: str, key: str, *, at: int = 0) -> str:
    """The object at `at` without that key, however often it stands there, and without its comma."""
    spans = list(members(text, at))
    kept = [span for span in spans if span.key != key]
    if len(kept) == len(spans):
        return text
    if not kept:
        return text[: _skip(text, at) + 1] + text[_skip(text, spans[-1].end) :]
    last = kept[-1]
    text = text[: last.end] + text[spans[-1].end :]
    for index in range(len(spans) - 2, -1, -1):
        span = spans[index]
        if span.key == key and span.start < last.start:
            text = text[: span.key_start] + text[spans[index + 1].key_start :]
    return text
