"""Arguments as the person typed them behind a slash command, turned into those of a command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from ralphloop.cli.errors import UserError

# of a command's action: its options, each with the number of values that follow
Options = Mapping[str, int]
_WORD = re.compile(r"\S+")


def argv(text: str, options: Options | None) -> list[str]:
    """The words of a typed text. With `options` it is free text: those are taken from its two ends, and what
    lies between stays one word, byte by byte."""
    if options is None:
        return _words(text)
    taken, rest = _from_front(text, options)
    behind, rest = _from_back(rest, options)
    return [*taken, *behind, "--", rest] if rest else [*taken, *behind]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise UserError(f"a quote is not closed in what you typed: {text.strip()}") from None


def _from_front(text: str, options: Options) -> tuple[list[str], str]:
    taken: list[str] = []
    while True:
        text = text.strip()
        count = _length(text.split(), options)
        if not count:
            return taken, text
        for word in text.split()[:count]:
            taken.append(word)
            text = text[text.index(word) + len(word) :]


def _from_back(text: str, options: Options) -> tuple[list[str], str]:
    """The longest end of the text that is nothing but options."""
    found = list(_WORD.finditer(text))
    for at, word in enumerate(found):
        behind = [match.group() for match in found[at:]]
        if _are_options(behind, options):
            return behind, text[: word.start()].strip()
    return [], text


def _are_options(words: list[str], options: Options) -> bool:
    while words:
        count = _length(words, options)
        if not count:
            return False
        words = words[count:]
    return True


def _length(words: list[str], options: Options) -> int:
    """How many words the option takes that these begin with; 0 if they begin with none."""
    if not words:
        return 0
    name, equals, _ = words[0].partition("=")
    if name not in options:
        return 0
    count = 1 if equals else 1 + options[name]
    return count if count <= len(words) else 0
