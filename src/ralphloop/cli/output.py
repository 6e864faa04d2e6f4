"""How commands print: text that no task can smuggle an escape sequence into, and JSON for scripts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

from ralphloop.domain.plain import plain
from ralphloop.loops.result import Result

COLUMNS, ROWS = 80, 40  # of a screen where there is none; the narrowest that lines are folded for
_QUOTED = ("    ", "  $ ")  # so begin commands and their output, which stay as they are in a sentence


def show(result: Result, *, as_json: bool = False, as_is: bool = False, as_view: bool = False) -> int:
    """What came of an action, for whoever called; its exit code. `as_is` are others' texts."""
    if as_json:
        say_json(result.data)
    else:
        (say if as_is else view if as_view else tell)(*result.messages)
    return result.code


def view(*lines: str, hang: int | None = None) -> None:
    """Tables and the like, which people look at: also in a pipe no line is too long for a terminal. What goes
    on in the next row stands there behind `hang` blanks."""
    from ralphloop.views.fold import fold

    width = screen()[0]
    for line in "\n".join(lines).split("\n") if lines else ():
        say(*fold(plain(line), width, hang=hang, least=2))


def screen() -> tuple[int, int]:
    """Columns and rows of the person's terminal."""
    import shutil

    found = shutil.get_terminal_size((COLUMNS, ROWS))
    return max(COLUMNS, found.columns), found.lines


def tell(*lines: str) -> None:
    """Sentences: on a terminal, one that is too long for it goes on in the next line."""
    for line in "\n".join(lines).split("\n") if lines else ():
        say(_folded(line, sys.stdout))


def say(*lines: str) -> None:
    for line in "\n".join(lines).split("\n") if lines else ():
        print(plain(line))


def say_json(data: Any) -> None:
    import json

    print(json.dumps(_clean(data), indent=2))


def complain(message: str) -> None:
    """On stderr, whatever the message holds: one line, or as many as a terminal needs."""
    print(_folded("ralphloop: " + plain(message), sys.stderr), file=sys.stderr)


def show_progress(told: str) -> None:
    """A line on the person's terminal that the next one takes the place of; nothing where there is none."""
    if sys.stderr.isatty():
        print("\r\033[K" + plain(told), end="", file=sys.stderr, flush=True)


def _folded(line: str, stream: TextIO) -> str:
    """Between words, and never inside backticks: what stands there is to be copied."""
    text = plain(line)
    is_short = text.isascii() and len(text) <= COLUMNS
    if is_short or text.startswith(_QUOTED) or not stream.isatty():
        return text
    from ralphloop.views.fold import fold

    return "\n".join(fold(text, screen()[0]))


def _clean(value: Any) -> Any:
    """Texts as any JSON reader takes them: bytes that were not UTF-8 become question marks."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value
