"""What a client is, part by part; mypy holds the modules of each client's package to this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ralphloop.agents.event import Event
from ralphloop.agents.registration import Installed, Ours, Read, Removed, Settings, Setup, Wanted
from ralphloop.agents.transcript import Activity, Charge, Context


class Program(Protocol):
    """What it is called, how our hook is registered, how it is started, and what it reports then."""

    TITLE: str
    PROGRAM: str
    OLDEST: tuple[int, int, int]  # the version from which on a loop works
    WANTED: tuple[int, int, int]  # and from which on nothing is missing
    GET: str  # what a person types to install it, to update it, to log in, to see whether it answers
    UPDATE: str
    LOGIN: str
    HELLO: str
    EVENTS: dict[str, int]  # those of our hook, each with the seconds that the client gives it
    PERMISSION_MODES: tuple[str, ...]
    WIDE: tuple[str, ...]  # of these, what only a person may choose
    PROMPT_MAX: int  # bytes of a prompt that can be one word of a command line

    def plugin_command(self, verb: str, plugin: str) -> str: ...
    def hook_command(
        self, package_dir: str, *, registration: str = ..., layouts: Sequence[str] = ...
    ) -> str: ...
    def statusline_command(self, package_dir: str) -> str: ...
    def hook_settings(self, command: str) -> dict[str, Any]: ...
    def run_settings(self, command: str) -> dict[str, Any]: ...
    def argv(
        self, prompt: str, *, session: str, settings: str = ..., permission_mode: str = ...
    ) -> list[str]: ...
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


class Variables(Protocol):
    """By what it is known in the environment, and is told where its files and its model are."""

    TOOLS: dict[str, str]  # set for its agent's commands, each with what the client is called
    MARKS: frozenset[str]  # set for those and for hooks
    MARK_FAMILIES: tuple[str, ...]
    OWN: tuple[str, ...]  # how all names begin that it sets or reads
    PLACES: tuple[str, ...]
    LOGINS: tuple[str, ...]


class Registrations(Protocol):
    """What it loads for a session, our hooks among it, and what of a folder it would run unasked."""

    FOLDER: str  # its own in a project; it lets the agent edit nothing below
    USER_SETTINGS: str  # as a person is told of them
    LOCAL_SETTINGS: str  # of a project, which `install` writes

    def look(self, env: Mapping[str, str], folders: Sequence[str], read: Read) -> Setup: ...
    def settings_path(self, scope: str, *, project: str, env: Mapping[str, str]) -> str: ...
    def settings_paths(self, env: Mapping[str, str], folders: Iterable[str]) -> list[tuple[str, str]]: ...
    def load(self, paths: Iterable[tuple[str, str]], read: Read) -> list[Settings]: ...
    def other_hooks(self, data: Mapping[str, Any]) -> list[str]: ...
    def upwards(self, folder: str) -> Iterable[str]: ...
    def programs_in(self, folder: str) -> list[str]: ...
    def programs_for_worktrees(self, main: str) -> list[str]: ...
    def known_to_client(self, env: Mapping[str, str]) -> str: ...
    def is_trusted(self, folder: str, known: str) -> bool: ...


class SettingsText(Protocol):
    """Our part in the text of a settings file."""

    def fault(self, text: str) -> str: ...
    def is_blank(self, text: str | None) -> bool: ...
    def is_empty(self, text: str) -> bool: ...
    def cap_in(self, text: str) -> str: ...
    def rule(self, command: str) -> str: ...
    def install(self, text: str, wanted: Wanted, ours: Ours | None = ...) -> Installed: ...
    def uninstall(self, text: str, ours: Ours | None) -> Removed: ...
    def without_plugin(self, text: str, *, name: str) -> str | None: ...


class Meter(Protocol):
    """Counts each message of a session once."""

    def __init__(self, *, exact: bool = ...) -> None: ...
    @classmethod
    def from_json(cls, kept: Any) -> Meter: ...
    def to_json(self) -> dict[str, Any]: ...
    @property
    def transcripts(self) -> list[str]: ...
    def read(self, transcript: str, *, since: str = ..., begin: int = ...) -> list[Charge]: ...


class Usage(Protocol):
    """Where its sessions are written down, what they used, and what that cost."""

    @property
    def Meter(self) -> type[Meter]: ...  # noqa: N802
    def transcript_of(
        self, session: str, *, root: str, known: Iterable[str], env: Mapping[str, str]
    ) -> str: ...
    def context_of(self, transcript: str) -> Context | None: ...
    def model_of(self, transcript: str) -> str: ...
    def cost_usd(self, charge: Charge) -> float | None: ...
    def as_of(self) -> str: ...


class Shown(Protocol):
    """What a line of a transcript shows."""

    def of_line(self, raw: bytes) -> list[Activity]: ...


class Client(Protocol):
    """All of its parts, each a module of its package."""

    program: Program
    variables: Variables
    registration: Registrations
    settings: SettingsText
    usage: Usage
    activity: Shown
