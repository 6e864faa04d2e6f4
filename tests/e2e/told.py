"""What a page tells its reader to do, step by step, and whether what came out is what the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LEFT_OUT = "…"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)
_NAMED = re.compile(r"as `([^`]+)`:\s*\Z")

# What differs from one run to the next.
_VARYING = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "SESSION"),
    (r"-\d{8}T\d{6}Z", "-STAMP"),
    (r"(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d:\d\dZ?", "TIME"),
    (r"(?m)^TIME  now  .*\n", ""),  # told when it is noticed, between any two others
    (r"\btime [\d:]+, [\d:]+ left", "time PASSED"),
    (r"\b\d+(\.\d+)? s\b", "SECONDS"),
    (r"\b[\d.]+[kM]? tokens", "TOKENS"),
    (r"(under )?\$\d+\.\d\d\b", "DOLLARS"),
    (r"\bclaude-[a-z]+-[\d-]+", "MODEL"),
    (r"context \S+ \d+ % of \w+", "context FULL"),
    (r"(?: · |\n)open [▁-█]+", " · open BURNT"),  # on a row of its own where the others are long
)


class Save(NamedTuple):
    """A file that the reader is told to write."""

    path: str
    text: str


class Command(NamedTuple):
    line: str
    output: str


class Picture(NamedTuple):
    """Part of a screen, as the page shows it."""

    text: str


Step = Save | Command | Picture


def steps(page: Path) -> Iterator[Step]:
    """Console sessions, texts of screens, and files, in the page's order."""
    told = page.read_text(encoding="utf-8")
    for fence in _FENCE.finditer(told):
        language, body = fence[1], fence[2]
        named = _NAMED.search(told[: fence.start()])
        if named:
            yield Save(named[1], body)
        elif language == "console":
            yield from commands(body)
        elif language == "text":
            yield Picture(body)


def commands(session: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", session, flags=re.M)[1:]:
        line, _, output = part.partition("\n")
        yield Command(line, output)


def pattern(shown: str) -> str:
    """A line with nothing but `…` stands for any number of lines, `…` within a line for anything there."""
    parts = []
    for line in without_varying(shown).splitlines():
        anything = ".*".join(map(re.escape, line.rstrip().split(LEFT_OUT)))
        parts.append(r"(?:.*\n)*?" if line == LEFT_OUT else anything + r" *\n")
    return "".join(parts)


def is_shown(shown: str, output: str) -> bool:
    """Whether the page shows the whole output, but for what it leaves out by name."""
    return re.fullmatch(pattern(shown), without_varying(output)) is not None


def is_part(shown: str, screen: str) -> bool:
    """Whether the page shows lines of a screen that follow each other."""
    return re.search(pattern(shown).removesuffix(r" *\n"), without_varying(screen)) is not None


def without_varying(text: str) -> str:
    for varying, name in _VARYING:
        text = re.sub(varying, name, text)
    return text
