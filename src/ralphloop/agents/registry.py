"""The clients that `run` can start, by name; each is a module that is imported when it is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from ralphloop.agents.event import Event

MODULES = {"claude": "ralphloop.agents.claude.program"}
NAMES = tuple(MODULES)


class Client(Protocol):
    """What a client's module has: how its sessions are started on a loop, and what they report."""

    @property
    def PROGRAM(self) -> str: ...  # noqa: N802 - a constant of the module

    @property
    def GET(self) -> str: ...  # noqa: N802 - the command that installs it

    def hook_command(
        self, package_dir: str, *, registration: str = ..., layouts: Sequence[str] = ...
    ) -> str: ...

    def run_settings(self, command: str) -> dict[str, Any]: ...

    def print_argv(
        self,
        *,
        session: str,
        settings: str,
        model: str = ...,
        fallback_model: str = ...,
        permission_mode: str = ...,
        budget_usd: float = ...,
    ) -> list[str]: ...

    def parse(self, line: bytes | str) -> Event | None: ...


def missing(of: Client, why: str = "") -> tuple[str, str]:
    """That its program is not found, with what that is in the way of, and what to do about it."""
    cure = f"install it with `{of.GET}`, or add its folder to PATH"
    return f"`{of.PROGRAM}` is not on PATH" + (f", and {why}" if why else ""), cure


if TYPE_CHECKING:
    from ralphloop.agents.claude import program as claude

    _CHECKED: tuple[Client, ...] = (claude,)


def client(name: str) -> Client:
    """KeyError for a name that is not in the table, which settings and options never let through."""
    return cast(Client, import_module(MODULES[name]))
