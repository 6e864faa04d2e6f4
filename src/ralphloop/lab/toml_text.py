"""Values as TOML text that a terminal can show, long texts over lines of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ralphloop.domain.plain import TURNS

_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{TURNS}]")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def table(values: Mapping[str, Any], name: str) -> str:
    """The members of a table of this name, those that are tables themselves at the end."""
    below = {key: found for key, found in values.items() if isinstance(found, Mapping)}
    parts = [row(key, found) for key, found in values.items() if key not in below]
    for key, found in below.items():
        parts.append(f"\n[{name}.{bare(key)}]\n")
        parts += [row(each, item) for each, item in found.items()]
    return "".join(parts)


def row(key: str, found: Any) -> str:
    return f"{bare(key)} = {value(found)}\n"


def bare(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else _quoted(key)


def value(found: Any) -> str:
    """On one line; TOML knows no null, so members that are null are left out."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, str):
        return _quoted(found)
    if isinstance(found, Mapping):
        members = [f"{bare(key)} = {value(item)}" for key, item in found.items() if item is not None]
        return "{ " + ", ".join(members) + " }" if members else "{}"
    if isinstance(found, Sequence):
        return "[" + ", ".join(value(item) for item in found if item is not None) + "]"
    return repr(found)


def long(text: str) -> str:
    """A text over its own lines, as it is where TOML allows that."""
    if "\n" not in text.rstrip("\n") and '"' not in text:
        return _quoted(text)
    if "'''" not in text and not text.endswith("'") and not _CONTROL.search(text):
        return f"'''\n{text}'''"
    return '"""\n' + _escaped(text) + '"""'


def _quoted(text: str) -> str:
    return '"' + _escaped(text).replace("\n", "\\n") + '"'


def _escaped(text: str) -> str:
    known = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", known)
