"""The agent's word that everything is done: which reply gives it."""

from __future__ import annotations

PROMISE = "ALL_TASKS_COMPLETE"


def promised(reply: str) -> bool:
    """Whether the last non-empty line is the promise itself, outside fences and quotes."""
    fence = last = ""
    for text in reply.splitlines():
        bare = text.strip()
        if fence:
            closes = bare.startswith(fence) and not bare.strip(fence[0])
            last, fence = fence, "" if closes else fence
        elif bare:
            fence, last = _fence(bare), text.rstrip()
    return last == PROMISE


def _fence(bare: str) -> str:
    """The backticks or tildes with which a line opens a block of code."""
    mark = bare[0]
    run = bare[: len(bare) - len(bare.lstrip(mark))]
    return run if mark in "`~" and len(run) >= 3 and "`" not in bare[len(run) :] else ""
