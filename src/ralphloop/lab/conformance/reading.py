"""Readers for the values of a case, and for a table of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ralphloop.errors import CaseError

Reader = Callable[[Any], Any]  # the value as the case keeps it; TypeError for another kind


def read_table(
    data: Mapping[str, Any], readers: Mapping[str, tuple[str, Reader]], where: str
) -> dict[str, Any]:
    found = {}
    for key, value in data.items():
        if key not in readers:
            raise CaseError(f"{where}: unknown key `{key}`")
        wanted, read = readers[key]
        try:
            found[key] = read(value)
        except (TypeError, ValueError):
            raise CaseError(f"{where}: `{key}` is not {wanted}") from None
    return found


def must_be(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError
        return value

    return read


def list_of(read: Reader) -> Reader:
    return lambda value: tuple(read(item) for item in must_be(list)(value))


def map_of(read: Reader) -> Reader:
    return lambda value: {key: read(item) for key, item in must_be(dict)(value).items()}


def json_value(value: Any) -> Any:
    """What JSON can say; the dates and times of TOML it cannot."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            json_value(item)
    elif not isinstance(value, (str, int, float)):
        raise TypeError
    return value
