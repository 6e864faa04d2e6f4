"""How commands print: text that no task can smuggle an escape sequence into, and JSON for scripts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

from ralphloop.domain.plain import plain
from ralphloop.loops.result import Quoted, Result


def show(result: Result, *, as_json: bool = False, as_is: bool = False) -> int:
    """What came of an action, for whoever called; its exit code. `as_is` are others' texts."""
    if as_json:
        say_json(result.data)
    else:
        (say if as_is else tell)(*result.messages)
    return result.code


def tell(*lines: str, hang: int | None = None) -> None:
    """What people read: also in a pipe no line is too long for a terminal. What goes on in the next row
    stands there behind `hang` blanks."""
    for line in lines:
        if isinstance(line, Quoted):
            say(line)
        else:
            say(*(_folded(part, sys.stdout, hang=hang, least=2) for part in line.split("\n")))


def screen(stream: TextIO | None = None) -> tuple[int, int]:
    """Columns and rows that text on this stream may take."""
    import os

    from ralphloop.views.fold import COLUMNS, size_of

    columns, rows = size_of(stream or sys.stdout, os.environ)
    return max(COLUMNS, columns), rows


def say(*lines: str) -> None:
    for line in "\n".join(lines).split("\n") if lines else ():
        print(plain(line))


def say_json(data: Any) -> None:
    import json

    print(json.dumps(_clean(data), indent=2))


def complain(message: str) -> None:
    """On stderr, whatever the message holds: one line, or as many as a terminal needs."""
    told = "ralphloop: " + plain(message)
    try:
        print(_folded(told, sys.stderr) if sys.stderr.isatty() else told, file=sys.stderr)
    except OSError:  # there is nobody else to tell
        mute(sys.stderr)


def mute(stream: TextIO) -> None:
    """Let what is still in the buffer go nowhere, or Python tells at its end that it could not."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def show_progress(told: str) -> None:
    """A line on the person's terminal that the next one takes the place of; nothing where there is none."""
    if sys.stderr.isatty():
        print("\r\033[K" + plain(told), end="", file=sys.stderr, flush=True)


def _folded(line: str, stream: TextIO, *, hang: int | None = None, least: int = 0) -> str:
    """Between words, and never inside backticks: what stands there is to be copied."""
    from ralphloop.views.fold import fold

    return "\n".join(fold(plain(line), screen(stream)[0], hang=hang, least=least))


def _clean(value: Any) -> Any:
    """Texts as any JSON reader takes them: bytes that were not UTF-8 become question marks."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value
