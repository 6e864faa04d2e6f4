"""Text on one line of a terminal: the characters that it would obey, and a text without them."""

from __future__ import annotations

# Line ends and marks that turn the reading direction would let a title forge other lines.
BREAKS = "\n\r\t\v\f\x85\u2028\u2029"
TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
UNSAFE = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), *map(ord, TURNS)), "\ufffd")
UNSAFE.update(dict.fromkeys(map(ord, BREAKS), " "))


def plain(text: str) -> str:
    """The text on one line, without anything that a terminal would obey."""
    return text.translate(UNSAFE).encode("utf-8", "replace").decode("utf-8")
