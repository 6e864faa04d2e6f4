"""What a person says about a spec: its name and goal as they were given or made, and the notes of both."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable
from typing import NamedTuple

from ralphloop.errors import UserError

NAME_MAX = 64
SLUG_WORDS = 5
LAST_NUMBER = 999
# Our own heading first; the other one is what files of the public plugin have.
GOAL_HEADINGS = ("## Goal", "## Original Goal")
NO_GOAL = "(not said yet)"
_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyz" + _DIGITS


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
    if is_name(first) and ("-" in first or not rest):
        return Named(first, rest)
    return Named(free_name(slug(text) or word, taken), text)


def must_be_name(text: str, *, word: str) -> None:
    if is_name(text):
        return
    proposed = slug(text)
    hint = f"how about {proposed}?" if proposed else "login-page would be one."
    raise UserError(
        f"{text[:80]!r} cannot be a {word}'s name (small letters, digits and dashes, at most 64): {hint}"
    )


def is_name(text: str) -> bool:
    """Small letters, digits and dashes; a dash in front would be an option on a command line."""
    return 0 < len(text) <= NAME_MAX and text[0] != "-" and not text.strip(_LETTERS + "-")


def slug(text: str) -> str:
    """A name made of the first words of a text, letters without their accents; empty if none is left."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(char for char in letters if not unicodedata.combining(char)).lower()
    words = "".join(char if char in _LETTERS else " " for char in bare).split()
    name = ""
    for word in words[:SLUG_WORDS]:
        longer = f"{name}-{word}" if name else word[:NAME_MAX]
        if len(longer) > NAME_MAX:
            break
        name = longer
    return name


def free_name(name: str, taken: Container[str]) -> str:
    """The name itself, or the first of name-2, name-3, … that is free."""
    found, count = name, 1
    while found in taken:
        count += 1
        tail = f"-{count}"
        found = name[: NAME_MAX - len(tail)].rstrip("-") + tail
    return found


def numbered(name: str) -> tuple[str, str]:
    """The three digits that a feature's folder begins with, or nothing, and the rest of the name."""
    head, _, rest = name.partition("-")
    return (head, rest) if len(head) == 3 and not head.strip(_DIGITS) and rest else ("", name)


def next_number(names: Iterable[str]) -> str | None:
    """The number after the highest one; nothing after 999."""
    last = max((int(numbered(name)[0] or 0) for name in names), default=0)
    return f"{last + 1:03}" if last < LAST_NUMBER else None


def notes(name: str, goal: str) -> str:
    """The notes that a spec begins with; the goal is in them as it was given."""
    return f"# {name}\n\n{GOAL_HEADINGS[0]}\n\n{goal or NO_GOAL}\n\n## Notes\n"


def goal_in(text: str) -> str:
    """The goal that such notes tell, up to the next heading."""
    found: list[str] | None = None
    for row in text.split("\n"):
        if found is None:
            found = [] if row.rstrip() in GOAL_HEADINGS else None
        elif row.startswith("## "):
            break
        else:
            found.append(row)
    return "\n".join(found or []).strip()


def _first_word(text: str) -> tuple[str, str]:
    """The first word, and what follows the white space behind it, as it is."""
    text = text.lstrip()
    first = text.split(None, 1)[0] if text else ""
    return first, text[len(first) :].lstrip()
