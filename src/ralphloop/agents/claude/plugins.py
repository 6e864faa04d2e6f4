"""The plugins of Claude Code that are switched on: where each one's folder is, and which hooks it brings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ralphloop.agents.claude.registration import Read, Registration, Settings, entries, ours, registrations
from ralphloop.domain import jsontext

MARKET = "ralphloop"


@dataclass(frozen=True)
class Plugin:
    id: str  # name@marketplace
    settings: Sequence[Settings]  # the files that switch it on
    root: str = ""  # its folder; empty if it is not installed
    hooks: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.id.partition("@")[0]

    @property
    def is_ours(self) -> bool:
        return self.id.partition("@")[2] == MARKET or bool(self.registrations(("Stop",)))

    @property
    def runs_only_ours(self) -> bool:
        """Whether it brings no hook but ours."""
        events = self.hooks.get("hooks")
        listed = [
            one
            for event in (events if isinstance(events, dict) else ())
            for one in entries(self.hooks, event)
        ]
        return bool(listed) and all(ours(entry, self.root) for entry in listed)

    def registrations(self, events: Sequence[str]) -> list[Registration]:
        if not self.root:
            return []
        return registrations(self.hooks, scope="", name=self.id, events=events, root=self.root)


def installed(
    enabled: Mapping[str, Sequence[Settings]], *, config: str, folders: Sequence[str], read: Read
) -> list[Plugin]:
    """The plugins that these settings switch on, with their folders for a session in one of `folders`."""
    known = _object(read, os.path.join(config, "plugins", "installed_plugins.json")).get("plugins")
    markets = _object(read, os.path.join(config, "plugins", "known_marketplaces.json"))
    found = []
    for name, settings in enabled.items():
        rows = known.get(name) if isinstance(known, dict) else None
        root = _source(name, markets, read) or _copy(rows if isinstance(rows, list) else [], folders)
        hooks = _object(read, os.path.join(root, "hooks", "hooks.json")) if root else {}
        found.append(Plugin(name, settings, root, hooks))
    return found


def _copy(rows: Sequence[Any], folders: Sequence[str]) -> str:
    """The installed copy that a session here uses: one made for this project before the person's own."""
    fit = [row for row in rows if isinstance(row, dict) and row.get("projectPath") in (None, *folders)]
    fit.sort(key=lambda row: row.get("projectPath") is None)
    paths = [row["installPath"] for row in fit if isinstance(row.get("installPath"), str)]
    return paths[0] if paths else ""


def _source(name: str, markets: Mapping[str, Any], read: Read) -> str:
    """The folder of a plugin from a directory on this machine: the client reads it in place (2.1.325), and
    2.1.325 does so even if nobody ever installed it."""
    plugin, _, market = name.partition("@")
    known = markets.get(market)
    source = known.get("source") if isinstance(known, dict) else None
    if not isinstance(source, dict) or source.get("source") != "directory":
        return ""
    top = str(source.get("path", ""))
    listed = _object(read, os.path.join(top, ".claude-plugin", "marketplace.json")).get("plugins")
    for row in listed if isinstance(listed, list) else ():
        if isinstance(row, dict) and row.get("name") == plugin and isinstance(row.get("source"), str):
            folder = os.path.normpath(os.path.join(top, row["source"]))
            return folder if folder.startswith(os.path.normpath(top) + os.sep) else ""
    return ""


def _object(read: Read, path: str) -> dict[str, Any]:
    try:
        return jsontext.parse_object(read(path) or "{}")
    except (OSError, ValueError):
        return {}
