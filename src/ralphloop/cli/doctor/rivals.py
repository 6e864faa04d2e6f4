"""`doctor` on what else drives the agent at a stop: other loop plugins, rules and hooks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

from ralphloop.agents import registration
from ralphloop.agents.plugins import MARKET, Plugin
from ralphloop.agents.registration import Settings
from ralphloop.agents.rules import is_blocking, switched_off
from ralphloop.agents.settings import without_plugin
from ralphloop.cli import scope
from ralphloop.cli.doctor.finding import WARNING, Finding, Repair
from ralphloop.domain.prompt import cut
from ralphloop.errors import UserError
from ralphloop.loops.client import Setup
from ralphloop.loops.place import Place
from ralphloop.store import files
from ralphloop.store.installs import SettingsFile
from ralphloop.tasklists.registry import LAYOUTS, traits

LOOPS = ("ralph-wiggum", "ralph-loop")
RULES = "hookify"
BACKUP = ".ralphloop-doctor-backup"


def examine(place: Place, setup: Setup) -> Iterator[Finding]:
    for plugin in setup.plugins:
        if plugin.name in LOOPS:
            yield from _removable(place, plugin, told="is another loop, and both would answer a stop")
    for layout in [name for name in LAYOUTS if traits(name).phases]:
        yield from _doubles(place, setup, layout=layout)
    if any(plugin.name == RULES for plugin in setup.plugins):
        yield from _rules(place)
    yield from _other_hooks(setup)


def _file(place: Place, said: Settings) -> SettingsFile:
    root = "" if said.scope == scope.USER else os.path.dirname(os.path.dirname(said.path))
    return SettingsFile(said.path, place.env, root=root)


def _removable(place: Place, plugin: Plugin, *, told: str) -> Iterator[Finding]:
    """One finding for each file that switches the plugin on."""
    for said in plugin.settings:
        fix = f"Run `ralphloop doctor --fix`, or `claude plugin disable {plugin.id} --scope {said.scope}`"
        ask = f"Remove {plugin.id} from {said.path}"
        repair = Repair(ask, partial(_remove_plugin, _file(place, said), plugin.id))
        yield Finding("rivals", WARNING, f"{plugin.id} ({said.scope} settings) {told}", fix, repair)


def _doubles(place: Place, setup: Setup, *, layout: str) -> Iterator[Finding]:
    """Another publisher's plugin of the same name, which has its own idea of the same files."""
    name = traits(layout).plugin
    named = [plugin for plugin in setup.plugins if plugin.name == name and plugin.root]
    ours = [plugin for plugin in named if plugin.is_ours]
    for plugin in named:
        if plugin in ours:
            continue
        if ours:
            yield from _removable(place, plugin, told=f"and {ours[0].id} would drive the same specs")
        elif any(registration.entries(plugin.hooks, "Stop")):
            beside = [f", and {each.scope} settings register ours" for each in setup.serving(layout)]
            told = f"{plugin.id} has a Stop hook of its own for {layout} specs{''.join(beside[:1])}"
            yield Finding("rivals", WARNING, told, f"Keep one, or use {name}@{MARKET} instead")


def _rules(place: Place) -> Iterator[Finding]:
    """Rules of hookify that block a stop."""
    for folder in dict.fromkeys((place.project, os.path.realpath(place.cwd))):
        below = os.path.join(folder, ".claude")
        for name in files.names(below):
            if not name.startswith(RULES + ".") or not name.endswith(".local.md"):
                continue
            path = os.path.join(below, name)
            if is_blocking(files.read_quietly(path) or ""):
                fix = "Run `ralphloop doctor --fix`, which sets `enabled: false` in it"
                told = f"the hookify rule {path} blocks stops on its own"
                file = SettingsFile(path, place.env, root=folder)
                repair = Repair(f"Set `enabled: false` in {path}", partial(_switch_off, file))
                yield Finding("rivals", WARNING, told, fix, repair)


def _other_hooks(setup: Setup) -> Iterator[Finding]:
    """Hooks that nobody here knows: they may do no more than ring a bell, so they are only named."""
    for said in setup.settings:
        for entry in registration.entries(said.data, "Stop"):
            if registration.ours(entry) is None:
                command = cut(registration.command_of(entry), 70)
                told = f"{said.scope} settings run another Stop hook: `{command}`"
                fix = f"If it blocks stops, remove it from {said.path}"
                yield Finding("rivals", WARNING, told, fix)


def _remove_plugin(file: SettingsFile, name: str) -> str:
    """Take the plugin's entry out of the file, and no other byte; the file as it was stays beside it."""
    return f"removed {name} from {_amend(file, partial(without_plugin, name=name))}"


def _switch_off(file: SettingsFile) -> str:
    return f"set `enabled: false` in {_amend(file, switched_off)}"


def _amend(file: SettingsFile, change: Callable[[str], str | None]) -> str:
    """The file and its backup, once what the change makes of the text is written."""

    def work() -> str:
        before = file.read()
        after = change(before) if before is not None else None
        if before is None or after is None:
            raise UserError(f"{file.path} changed meanwhile; run doctor again.")
        return file.amend(before, after, suffix=BACKUP)

    scope.must_stay(file)
    with scope.locked(file):
        return f"{file.path}; as it was: {scope.settled(file, work)}"
