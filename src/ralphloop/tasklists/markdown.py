"""The lines of a Markdown text, and which of them are code or comment rather than prose."""

from __future__ import annotations

_TAB = 4
_ITEM = 2  # the width of a bullet and its space


class Line:
    """One line without its ending: where it starts, how far it is indented, and what it says."""

    __slots__ = ("indent", "offset", "quoted", "start", "text")

    def __init__(self, raw: str, offset: int) -> None:
        self.text = raw.strip(" \t\r\ufeff")
        # with its indent, which a byte order mark is no part of
        self.start = offset + raw.startswith("\ufeff")
        self.offset = offset + (raw.find(self.text) if self.text else 0)
        self.indent = _width(raw[: self.offset - offset])
        self.quoted = False


def lines(text: str) -> list[Line]:
    found = []
    offset = 0
    for raw in text.split("\n"):
        found.append(Line(raw, offset))
        offset += len(raw) + 1
    _quote_blocks(found)
    return found


def end(text: str, line: Line) -> int:
    """Where the line ends in its text: before its line ending, after white space that trails."""
    at = text.find("\n", line.offset)
    if at < 0:
        return len(text)
    return at - 1 if text.startswith("\r", at - 1) and at > line.offset else at


def is_heading(line: Line) -> bool:
    level = len(line.text) - len(line.text.lstrip("#"))
    return not line.quoted and 1 <= level <= 6 and line.text[level : level + 1] in ("", " ", "\t")


def is_item(line: Line) -> bool:
    return line.text[:1] in ("-", "*", "+") and line.text[1:2] in (" ", "\t")


def _width(space: str) -> int:
    width = 0
    for char in space:
        if char == "\t":
            width += _TAB - width % _TAB
        elif char == " ":
            width += 1
    return width


def _quote_blocks(all_lines: list[Line]) -> None:
    """Mark the lines of fenced code and comments.

    A block that nothing closes is taken for prose: it would hide every task below it.
    """
    items: list[int] = []
    last = _last_closings(all_lines)
    at = 0
    while at < len(all_lines):
        line = all_lines[at]
        closing = _closing(line.text)
        floor = _floor(items, line.indent) if closing else 0
        if not closing or not (floor or _is_closed(closing, at, last)):
            _enter(items, line)
            at += 1
            continue
        end = _end(all_lines, at, closing, floor)
        for quoted in all_lines[at:end]:
            quoted.quoted = True
        at = end


def _closing(text: str) -> str:
    """What ends the block that this line opens: a fence, a comment's end, or nothing."""
    for char in ("`", "~"):
        length = len(text) - len(text.lstrip(char))
        if length >= 3 and not (char == "`" and char in text[length:]):
            return char * length
    return "-->" if text.startswith("<!--") else ""


def _last_closings(all_lines: list[Line]) -> dict[str, list[int]]:
    """The last line that ends a comment, and for each character by length the last that closes its fence.

    Searching the rest for every block instead takes the product of blocks and lines if none is closed.
    """
    last: dict[str, list[int]] = {"`": [], "~": [], "-->": [-1]}
    for at in range(len(all_lines) - 1, -1, -1):
        text = all_lines[at].text
        if text[:1] in ("`", "~") and not text.strip(text[0]):
            fence = last[text[0]]
            fence += [at] * (len(text) + 1 - len(fence))
        elif "-->" in text:
            last["-->"][0] = max(at, last["-->"][0])
    return last


def _is_closed(closing: str, start: int, last: dict[str, list[int]]) -> bool:
    if closing == "-->":
        return last[closing][0] >= start
    found = last[closing[0]]
    return len(found) > len(closing) and found[len(closing)] > start


def _end(all_lines: list[Line], start: int, closing: str, floor: int) -> int:
    """The line after the block; a block inside a list item ends with that item at the latest."""
    for at in range(start, len(all_lines)):
        line = all_lines[at]
        if line.text and line.indent < floor:
            return at
        if closing == "-->":
            if closing in line.text:
                return at + 1
        elif at > start and line.text.startswith(closing) and not line.text.strip(closing[0]):
            return at + 1
    return len(all_lines)


def _floor(items: list[int], indent: int) -> int:
    """Where the text of the innermost item that holds this indent begins; items only go deeper."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] + _ITEM <= indent:
            low = middle + 1
        else:
            high = middle
    return items[low - 1] + _ITEM if low else 0


def _enter(items: list[int], line: Line) -> None:
    """Keep the indents of the list items that the next line may belong to."""
    if is_item(line) or is_heading(line):
        while items and items[-1] >= line.indent:
            items.pop()
    if is_item(line):
        items.append(line.indent)
