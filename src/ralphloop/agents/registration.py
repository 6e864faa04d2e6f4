"""Our hooks at a client: what it would load of them, and what an installation puts in or takes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ralphloop.agents.settings_text import Path

MARKET = "ralphloop"  # where our plugins are published
SETTINGS, STATUSLINE = "settings", "statusline"  # as whom our command lines in settings run
ADDED, UPDATED, SAME = "added", "updated", "unchanged"
THEIRS = "left alone"
# Above every row of replies without a tool call that we allow, and still an end for a hook that never stops.
CAP = "100"

Read = Callable[[str], "str | None"]


@dataclass(frozen=True)
class Settings:
    """One settings file; without data if the client cannot use it, and `fault` says why."""

    scope: str  # user, project or local
    path: str
    data: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True)
class Line:
    """A command line of ours, taken apart."""

    guard: str  # the file that it starts
    name: str  # as whom it runs
    layouts: tuple[str, ...]


@dataclass(frozen=True)
class Registration:
    """One hook of ours for Stop, in a settings file or in a plugin."""

    scope: str  # user, project, local; empty for a plugin
    name: str  # the settings file, or the plugin with its marketplace
    line: Line
    events: tuple[str, ...]
    root: str = ""  # the plugin's folder

    @property
    def guard(self) -> str:
        return self.line.guard

    def serves(self, layout: str) -> bool:
        return layout in self.line.layouts


class Plugin(Protocol):
    """A plugin that the client's settings switch on."""

    @property
    def id(self) -> str: ...  # name@marketplace
    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> Sequence[Settings]: ...  # the files that switch it on
    @property
    def root(self) -> str: ...  # its folder; empty if it is not installed
    @property
    def is_ours(self) -> bool: ...
    @property
    def runs_only_ours(self) -> bool: ...
    @property
    def has_stop_hook(self) -> bool: ...


@dataclass(frozen=True)
class Setup:
    """What the client would load for a session; `off` is the file that switches every hook off."""

    settings: Sequence[Settings]
    plugins: Sequence[Plugin]
    registrations: Sequence[Registration]
    off: Settings | None

    def serving(self, layout: str) -> list[Registration]:
        """What is registered for this layout; the client runs the same command line once (2.1.325)."""
        found: dict[tuple[Line, str], Registration] = {}
        for each in self.registrations:
            if each.serves(layout):
                found.setdefault((each.line, each.root), each)
        return list(found.values())

    def serves(self, layout: str) -> bool:
        """Whether a session gets a hook for this layout: one that is registered, and whose file is there."""
        return any(os.path.isfile(each.guard) for each in self.serving(layout))


@dataclass(frozen=True)
class Wanted:
    """What the settings should hold. The cap is `raised` unless the person set it elsewhere; the status line
    is `shown` if it is asked for, and kept up to date where it is."""

    hook: str
    rules: tuple[str, ...] = ()
    statusline: str = ""
    raised: bool = True
    shown: bool = False


@dataclass
class Ours:
    """What of a settings file is ours: just this goes again, and the containers are left as they were."""

    traces: dict[Path, str | None] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    cap: bool = False
    statusline: bool = False

    def to_json(self) -> dict[str, Any]:
        traces = [[list(path), blank] for path, blank in self.traces.items()]
        return {"traces": traces, "rules": self.rules, "cap": self.cap, "statusline": self.statusline}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ours:
        """ValueError for what is no record."""
        try:
            traces = {tuple(path): blank for path, blank in data["traces"]}
            return cls(
                traces, [str(rule) for rule in data["rules"]], data["cap"] is True, data["statusline"] is True
            )
        except (KeyError, TypeError) as error:
            raise ValueError("not a record of an installation") from error


@dataclass(frozen=True)
class Installed:
    """The new text, what of it is ours, and what was done about each part."""

    text: str
    ours: Ours
    hooks: str
    rules: str
    cap: str
    statusline: str


@dataclass(frozen=True)
class Removed:
    """What went, what looks like ours but is not known to be, and the text without our part."""

    gone: list[str]
    left: list[str]
    text: str
