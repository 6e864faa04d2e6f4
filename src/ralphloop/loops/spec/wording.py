"""What a person types about a spec: a text as it was given, and the name that it begins with or makes."""

from __future__ import annotations

import unicodedata
from collections.abc import Container
from typing import NamedTuple

from ralphloop.errors import UserError
from ralphloop.tasklists import spec_phase


class Named(NamedTuple):
    name: str
    goal: str


def whole(words: list[str]) -> str:
    """The text that these words are; byte by byte if it came as one word."""
    text = " ".join(words)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError("the text is not UTF-8; convert it and type it again.") from None
    return text


def name_and_goal(words: list[str]) -> Named:
    """A name and what follows it: words of a command line, or one typed text that begins with the name."""
    if len(words) > 1:
        return Named(words[0], whole(words[1:]))
    text = whole(words).lstrip()
    if text[:1] in ("'", '"') and text[:1] in text[1:]:
        name, _, rest = text[1:].partition(text[0])
        return Named(name, rest.lstrip())
    return Named(*_first_word(text))


def guessed(words: list[str], *, taken: Container[str], word: str) -> Named:
    """The first word is the name if it looks like one (it has a dash, or stands alone); else the goal's
    first words make one that is free. A path alone is meant as a name, and can be none."""
    text = whole(words)
    first, rest = _first_word(text)
    if not rest and ("/" in first or "." in first):
        must_be_name(first, word=word)
    if spec_phase.is_name(first) and ("-" in first or not rest):
        return Named(first, rest)
    return Named(spec_phase.free_name(slug(text) or word, taken), text)


def must_be_name(text: str, *, word: str) -> None:
    if spec_phase.is_name(text):
        return
    proposed = slug(text)
    hint = f"how about {proposed}?" if proposed else "login-page would be one."
    raise UserError(
        f"{text[:80]!r} cannot be a {word}'s name (small letters, digits and dashes, at most 64): {hint}"
    )


def slug(text: str) -> str:
    """A name made of the first words of a text, letters without their accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return spec_phase.slug("".join(char for char in plain if not unicodedata.combining(char)))


def _first_word(text: str) -> tuple[str, str]:
    """The first word, and what follows the white space behind it, as it is."""
    text = text.lstrip()
    first = text.split(None, 1)[0] if text else ""
    return first, text[len(first) :].lstrip()
