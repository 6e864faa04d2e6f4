"""What the client would load for a session here: its settings, its plugins, and our hooks in them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ralphloop.agents.claude import program as claude
from ralphloop.agents.claude import registration
from ralphloop.agents.claude.registration import Plugin, Registration, Settings
from ralphloop.agents.claude.variables import config_folder
from ralphloop.engine.words import package
from ralphloop.loops.place import Place
from ralphloop.store import files

PACKAGE = package()
EVENTS = tuple(claude.EVENTS)


@dataclass(frozen=True)
class Setup:
    settings: list[Settings]
    plugins: list[Plugin]
    registrations: list[Registration]

    def serving(self, layout: str) -> list[Registration]:
        """What is registered for this layout; the client runs the same command line once (2.1.325)."""
        found: dict[tuple[registration.Line, str], Registration] = {}
        for each in self.registrations:
            if each.serves(layout):
                found.setdefault((each.line, each.root), each)
        return list(found.values())

    def serves(self, layout: str) -> bool:
        """Whether a session gets a hook for this layout: one that is registered, and whose file is there."""
        return any(os.path.isfile(each.guard) for each in self.serving(layout))


def look(place: Place, root: str = "") -> Setup:
    """For a session in this folder; `root` is another one whose settings it reads, by default the project."""
    folders = (root or place.project, os.path.realpath(place.cwd))
    config = os.path.abspath(config_folder(place.env))
    settings = registration.load(registration.settings_paths(config, folders), files.read_text)
    enabled = registration.enabled_plugins(settings)
    found = registration.installed(enabled, config=config, folders=folders, read=files.read_text)
    ours = [
        each
        for said in settings
        for each in registration.registrations(said.data, scope=said.scope, name=said.path, events=EVENTS)
    ]
    ours += [each for plugin in found for each in plugin.registrations(EVENTS)]
    return Setup(settings, found, ours)
