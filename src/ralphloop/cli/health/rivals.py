"""`doctor` on what else drives the agent at a stop: other loop plugins, rules and hooks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from ralphloop.agents import registration
from ralphloop.agents.plugins import Plugin
from ralphloop.agents.registration import PLUGINS, Settings
from ralphloop.cli.errors import UserError
from ralphloop.cli.health.finding import WARNING, Finding, Repair
from ralphloop.cli.health.settings import Setup
from ralphloop.cli.here import Here
from ralphloop.domain import jsontext
from ralphloop.domain.model import SPECKIT, SPECUM
from ralphloop.domain.prompt import cut
from ralphloop.store import files
from ralphloop.tasklists import frontmatter

LOOPS = ("ralph-wiggum", "ralph-loop")
RULES = "hookify"
BACKUP = ".ralphloop-doctor-backup"


def examine(place: Here, setup: Setup) -> Iterator[Finding]:
    for plugin in setup.plugins:
        if plugin.name in LOOPS:
            yield from _removable(plugin, "is another loop, and both would answer a stop")
    for layout in (SPECUM, SPECKIT):
        yield from _doubles(setup, layout)
    if any(plugin.name == RULES for plugin in setup.plugins):
        yield from _rules(place)
    yield from _other_hooks(setup)


def _removable(plugin: Plugin, told: str) -> Iterator[Finding]:
    """One finding for each file that switches the plugin on."""
    for said in plugin.settings:
        fix = f"Run `ralphloop doctor --fix`, or `claude plugin disable {plugin.id} --scope {said.scope}`"
        ask = f"Remove {plugin.id} from {said.path}"
        repair = Repair(ask, partial(remove_plugin, said, plugin.id))
        yield Finding("rivals", WARNING, f"{plugin.id} ({said.scope} settings) {told}", fix, repair)


def _doubles(setup: Setup, layout: str) -> Iterator[Finding]:
    """Another publisher's plugin of the same name, with a Stop hook of its own for the same files."""
    named = [plugin for plugin in setup.plugins if plugin.name == PLUGINS[layout]]
    ours = [plugin for plugin in named if plugin.is_ours]
    serving = [each for each in setup.serving(layout) if each.scope]
    for plugin in named:
        if plugin in ours:
            continue
        if ours:
            yield from _removable(plugin, f"and {ours[0].id} would drive the same specs")
        elif serving:
            told = f"{plugin.id} has a Stop hook of its own, and {serving[0].scope} settings register ours"
            yield Finding("rivals", WARNING, told, f"Keep one, or use {PLUGINS[layout]}@ralphloop instead")


def _rules(place: Here) -> Iterator[Finding]:
    """Rules of hookify that block a stop."""
    for folder in dict.fromkeys((place.project, os.path.realpath(place.cwd))):
        below = os.path.join(folder, ".claude")
        for name in files.names(below):
            if not name.startswith(RULES + ".") or not name.endswith(".local.md"):
                continue
            path = os.path.join(below, name)
            said = frontmatter.parse(files.read_quietly(path) or "")
            blocks = said.get("action") == ["block"] and said.get("event") in (["stop"], ["all"])
            if blocks and not frontmatter.is_off(said, "enabled"):
                told = f"the hookify rule {path} blocks stops on its own"
                yield Finding("rivals", WARNING, told, "Set `enabled: false` in it while a loop runs")


def _other_hooks(setup: Setup) -> Iterator[Finding]:
    """Hooks that nobody here knows: they may do no more than ring a bell, so they are only named."""
    for said in setup.settings:
        for entry in registration.entries(said.data, "Stop"):
            command = registration.command_of(entry)
            if not registration.is_ours(command):
                told = f"{said.scope} settings run another Stop hook: `{cut(command, 70)}`"
                fix = f"If it blocks stops, remove it from {said.path}"
                yield Finding("rivals", WARNING, told, fix)


def remove_plugin(said: Settings, name: str) -> str:
    """Take the plugin's entry out of the file, and no other byte; the file as it was stays beside it."""
    text = files.read_text(said.path) or "{}"
    try:
        listed = jsontext.member(text, "enabledPlugins")
    except ValueError:
        listed = None
    if listed is None or not isinstance(listed.value, dict) or name not in listed.value:
        raise UserError(f"{said.path} changed meanwhile and does not name {name}; run doctor again.")
    backup = _free_name(said.path + BACKUP, text)
    files.write_text(backup, text)
    changed = jsontext.remove_member(text, name, at=listed.start)
    if said.scope == "user":
        files.write_text(os.path.realpath(said.path), changed)
    else:
        files.write_shared(said.path, changed, root=os.path.dirname(os.path.dirname(said.path)))
    return f"removed {name} from {said.path}; as it was: {backup}"


def _free_name(path: str, text: str) -> str:
    """A name for this text: an older backup with another content is never overwritten."""
    number, name = 1, path
    while files.read_quietly(name) not in (None, text) or os.path.islink(name):
        number += 1
        name = f"{path}-{number}"
    return name
