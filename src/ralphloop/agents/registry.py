"""The clients by name: each is a package of the same few parts, imported when something of them is wanted."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ralphloop.agents.client import Client, Program

PACKAGES = {"claude": "ralphloop.agents.claude"}
NAMES = tuple(PACKAGES)
USUAL = NAMES[0]  # where nobody names one


class _Package:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, part: str) -> Any:
        name = f"{self._name}.{part}"
        __import__(name)
        return sys.modules[name]


def client(name: str = USUAL) -> Client:
    """KeyError for a name that is not in the table, which settings and options never let through."""
    found: Any = _Package(PACKAGES[name])
    return found  # type: ignore[no-any-return]


def missing(of: Program, why: str = "") -> tuple[str, str]:
    """That its program is not found, with what that is in the way of, and what to do about it."""
    cure = f"install it with `{of.GET}`, or add its folder to PATH"
    return f"`{of.PROGRAM}` is not on PATH" + (f", and {why}" if why else ""), cure
