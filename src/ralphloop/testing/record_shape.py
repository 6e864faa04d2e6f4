"""What the parts of a record must be before anything is made of it: a record may come from anybody."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ralphloop.domain.model import LAYOUTS
from ralphloop.store import files
from ralphloop.testing.conformance.case import REGISTRATION

DEEPEST = 100
_MOMENT = re.compile(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)


def is_flat(value: Any, depth: int = 0) -> bool:
    """Whether no reader of its members runs out of stack."""
    if depth > DEEPEST:
        return False
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(is_flat(member, depth + 1) for member in members)


def wrong(data: Mapping[str, Any]) -> list[str]:
    """The names of the parts that are missing, or are not what a record has there."""
    return [name for name, is_right in _PARTS.items() if not is_right(data.get(name))]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text_table(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_maybe_text(value: Any) -> bool:
    return value is None or _is_text(value)


def _is_answer(value: Any) -> bool:
    known = value if isinstance(value, dict) else {}
    return _is_text(known.get("stdout")) and _is_text(known.get("stderr")) and _is_flag(known.get("broken"))


def _is_round(value: Any) -> bool:
    """One run of checks: of each task a verdict, with its command, reason, output and evidence."""
    verdicts = value.get("verdicts") if isinstance(value, dict) else None
    return isinstance(verdicts, dict) and all(
        _is_texts(verdict) and 1 <= len(verdict) <= 5 for verdict in verdicts.values()
    )


_PARTS: dict[str, Callable[[Any], bool]] = {
    "version": _is_text,
    "at": lambda value: _is_text(value) and bool(_MOMENT.fullmatch(value)),
    "layout": _is_text,
    "registration": lambda value: _is_text(value) and bool(REGISTRATION.fullmatch(value)),
    "command": lambda value: _is_text(value) and bool(value),
    "left_alone": _is_flag,
    "seen": _is_flag,
    "plugin": _is_flag,
    "loop": _is_text,
    "session": _is_maybe_text,
    "rule": _is_text,
    "task": _is_maybe_text,
    "outcome": _is_maybe_text,
    "duration_ms": lambda value: isinstance(value, (int, float)),
    "layouts": lambda value: _is_texts(value) and set(value) <= set(LAYOUTS),
    "approved": _is_texts,
    "checks": lambda value: isinstance(value, list) and all(map(_is_round, value)),
    "env": lambda value: _is_text_table(value) and all(map(files.is_path, value.values())),
    "payload": _is_table,
    "transcript": lambda value: isinstance(value, dict) and _is_text(value.get("new")),
    "files": _is_text_table,
    "home": _is_text_table,
    "left_out": _is_text_table,
    "answer": _is_answer,
}
