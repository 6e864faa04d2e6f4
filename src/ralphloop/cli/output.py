"""How commands print: text that no task can smuggle an escape sequence into, and JSON for scripts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ralphloop.domain.plain import plain
from ralphloop.loops.result import Result


def show(result: Result, *, as_json: bool = False) -> int:
    """What came of an action, for whoever called; its exit code."""
    if as_json:
        say_json(result.data)
    else:
        say(*result.messages)
    return result.code


def say(*lines: str) -> None:
    for line in "\n".join(lines).split("\n") if lines else ():
        print(plain(line))


def say_json(data: Any) -> None:
    import json

    print(json.dumps(_clean(data), indent=2))


def complain(message: str) -> None:
    """One line on stderr, whatever the message holds."""
    print("ralphloop: " + plain(message), file=sys.stderr)


def show_progress(told: str) -> None:
    """A line on the person's terminal that the next one takes the place of; nothing where there is none."""
    if sys.stderr.isatty():
        print("\r\033[K" + plain(told), end="", file=sys.stderr, flush=True)


def _clean(value: Any) -> Any:
    """Texts as any JSON reader takes them: bytes that were not UTF-8 become question marks."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, (list, tuple)) else value
