"""The settings at the head of a Markdown file: the part of YAML that plugin settings use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def parse(text: str) -> dict[str, list[str]]:
    """Each key with its values: one for a plain value, any number for a list."""
    settings: dict[str, list[str]] = {}
    values: Optional[list[str]] = None
    for row in _rows(text):
        item = row.lstrip(" \t")
        if item == "-" or item.startswith("- "):
            if values is not None and item[1:].strip():
                values.append(_plain(item[1:]))
        elif row and row[0] not in " \t" and ":" in row:
            key, _, value = row.partition(":")
            settings[_plain(key)] = found = _values(value.strip())
            values = None if found else found
    return settings


def _rows(text: str) -> list[str]:
    """The rows between the dashes without comments, a list in brackets as one row."""
    rows = text.lstrip("\ufeff").split("\n")
    if rows[0].rstrip() != "---":
        return []
    found: list[str] = []
    is_open = False
    for raw in rows[1:]:
        row = _without_comment(raw).rstrip()
        if row in ("---", "..."):
            break
        if is_open:
            found[-1] += row
        else:
            found.append(row)
        is_open = found[-1].partition(":")[2].lstrip().startswith("[") and not found[-1].endswith("]")
    return found


def is_off(settings: dict[str, list[str]], key: str) -> bool:
    return [value.lower() for value in settings.get(key, [])] == ["false"]


def count(settings: dict[str, list[str]], key: str) -> Optional[int]:
    """A number above zero, or nothing."""
    value = "".join(settings.get(key, []))
    if not value or len(value) > 9 or value.strip("0123456789"):
        return None
    return int(value) or None


def _values(text: str) -> list[str]:
    is_list = text.startswith("[") and text.endswith("]")
    items = _split(text[1:-1], ",") if is_list else [text]
    return [value for value in [_plain(item) for item in items] if value]


def _plain(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _without_comment(row: str) -> str:
    parts = _split(row, "#")
    kept = parts[0]
    for part in parts[1:]:
        if not kept or kept[-1] in " \t":
            break
        kept += "#" + part
    return kept


def _split(text: str, separator: str) -> list[str]:
    """Split where the separator is outside quotes; a quote opens only where a value may start."""
    parts = [""]
    quote = ""
    for char in text:
        if char == separator and not quote:
            parts.append("")
            continue
        if char == quote:
            quote = ""
        elif not quote and char in "'\"" and parts[-1].rstrip()[-1:] in ("", ":", "[", "-", ","):
            quote = char
        parts[-1] += char
    return parts
