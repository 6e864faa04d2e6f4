"""Adds and removes single values in a JSON text, laid out as the text itself is; every other byte stays."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ralphloop.domain import jsontext
from ralphloop.domain.jsontext import Span

SPACE = " \t\r\n"
NEW = "{}\n"

Path = tuple["str | int", ...]


@dataclass
class Draft:
    """A text under edit, and what is known of the containers that we filled.

    `traces` tells of a container that we made (None), or that was there and empty (the white space in it):
    so that what goes again leaves the text as it was.
    """

    text: str
    traces: dict[Path, str | None] = field(default_factory=dict)

    def value(self, path: Path) -> Any:
        """What a reader sees there; None if nothing is."""
        value: Any = jsontext.parse(self.text)
        for key in path:
            if not _has(value, key):
                return None
            value = value[key]
        return value

    def has(self, path: Path) -> bool:
        return _has(self.value(path[:-1]), path[-1]) if path else True

    def put(self, path: Path, value: Any) -> None:
        """The value under this path: set where something is, else added with the objects that are missing."""
        if self.has(path):
            if self.value(path) != value:
                self.text = jsontext.replace_raw(self.text, self._span(path), json.dumps(value))
            return
        *above, key = path
        while not self.has(tuple(above)):
            self.traces[tuple(above)] = None
            value = {key: value}
            key = above.pop()
        self._add(tuple(above), value, str(key))

    def append(self, path: Path, value: Any) -> None:
        """One more value at the end of the array under this path, which is made if it is missing."""
        if self.has(path):
            self._add(path, value, None)
        else:
            self.traces[path] = None
            self.put(path, [value])

    def remove(self, path: Path) -> None:
        """Take out a value with its key and comma, and then the containers of ours that this leaves empty."""
        above = path[:-1]
        at = self._start(above)
        spans = list(jsontext.members(self.text, at))
        index = max(number for number, span in enumerate(spans) if span.key == path[-1])
        if len(spans) > 1:
            self.text = _without(self.text, spans, index)
        elif above and self.traces.get(above, "") is None:
            self.remove(above)
        else:
            closing = _end_of_space(self.text, spans[-1].end)
            self.text = self.text[: at + 1] + (self.traces.get(above) or "") + self.text[closing:]
        self.traces.pop(path, None)

    def _start(self, path: Path) -> int:
        at = jsontext.opening(self.text)
        for key in path:
            found = jsontext.member(self.text, key, at)
            assert found is not None, "only what was seen there is looked for"
            at = found.start
        return at

    def _span(self, path: Path) -> Span:
        found = jsontext.member(self.text, path[-1], self._start(path[:-1]))
        assert found is not None, "only what was seen there is looked for"
        return found

    def _add(self, above: Path, value: Any, key: str | None) -> None:
        at = self._start(above)
        spans = list(jsontext.members(self.text, at))
        if spans:
            self.text = _after(self.text, at, spans, value=value, key=key)
            return
        blank = self.text[at + 1 : _end_of_space(self.text, at + 1)]
        self.traces.setdefault(above, blank)
        self.text = _first(self.text, at, blank, value=value, key=key)


def _has(value: Any, key: str | int) -> bool:
    if isinstance(key, int):
        return isinstance(value, list) and 0 <= key < len(value)
    return isinstance(value, dict) and key in value


def _without(text: str, spans: list[Span], index: int) -> str:
    if index == len(spans) - 1:
        return text[: spans[index - 1].end] + text[spans[index].end :]
    return text[: spans[index].key_start] + text[spans[index + 1].key_start :]


def _after(text: str, at: int, spans: list[Span], *, value: Any, key: str | None) -> str:
    """One more value after the last one, set off and written as that one is."""
    last = spans[-1]
    lead = text[at + 1 : last.key_start]
    gap = lead[len(lead.rstrip(SPACE)) :]
    colon = text[last.key_end : last.start] if key is not None else _colon(text)
    if not gap and len(spans) == 1 and colon.endswith(" "):
        gap = " "  # a lone member shows no gap after a comma
    raw = _written(text, value, colon=colon, indent=gap.rpartition("\n")[2] if "\n" in gap else None)
    name = jsontext.quote(key) + colon if key is not None else ""
    return text[: last.end] + "," + gap + name + raw + text[last.end :]


def _first(text: str, at: int, blank: str, *, value: Any, key: str | None) -> str:
    """The first value of an empty container: on a line of its own, unless the text is all in one line."""
    colon = _colon(text)
    name = jsontext.quote(key) + colon if key is not None else ""
    if _unit(text) is None:
        return text[: at + 1] + name + _written(text, value, colon=colon) + text[at + 1 + len(blank) :]
    outer = _indent_at(text, at)
    inner = outer + (_unit(text) or "")
    raw = _written(text, value, colon=colon, indent=inner)
    tail = blank if "\n" in blank else _newline(text) + outer
    return text[: at + 1] + _newline(text) + inner + name + raw + tail + text[at + 1 + len(blank) :]


def _written(text: str, value: Any, *, colon: str, indent: str | None = None) -> str:
    """The value as JSON: on lines of its own if it stands on a line with this indentation, else in one."""
    if indent is None:
        wide = colon.endswith(" ")
        return json.dumps(value, separators=(", ", ": ") if wide else (",", ":"))
    lines = json.dumps(value, indent=_unit(text) or "").split("\n")
    return (_newline(text) + indent).join(lines)


def _unit(text: str) -> str | None:
    """One step of indentation; None for a text that keeps everything in one line."""
    at = jsontext.opening(text)
    for span in jsontext.members(text, at):
        lead = text[at + 1 : span.key_start]
        if "\n" not in lead:
            return None
        return lead.rpartition("\n")[2].removeprefix(_indent_at(text, at))
    return "  "


def _colon(text: str) -> str:
    """What stands between a key and its value, by the first member of the text."""
    for span in jsontext.members(text, jsontext.opening(text)):
        return text[span.key_end : span.start]
    return ": "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _end_of_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at
