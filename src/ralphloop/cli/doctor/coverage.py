"""Whether a session here gets our hooks once for every layout in use, and what else would drive its stops."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ralphloop.agents.registration import MARKET, Plugin, Registration, Settings
from ralphloop.agents.registry import client
from ralphloop.cli import scope
from ralphloop.cli.doctor.diagnosis import FATAL, FINE, WARNING, Finding, Repair
from ralphloop.domain.prompt import cut
from ralphloop.errors import UserError
from ralphloop.loops.place import Place
from ralphloop.loops.setup import CAP_REPAIR, Setup, cap_in, cap_told, is_low
from ralphloop.store import files
from ralphloop.store.installs import SettingsFile
from ralphloop.tasklists import frontmatter
from ralphloop.tasklists.registry import LAYOUTS, traits

LOOPS = ("ralph-wiggum", "ralph-loop")
RULES = "hookify"
BACKUP = ".ralphloop-doctor-backup"
# of such a plugin's rule: the switch, and where its settings begin
KEY, OFF = "enabled", "false"
HEAD = re.compile(r"\ufeff?---[ \t]*(\r?\n)")
ENABLED = re.compile(r"^(enabled[ \t]*:)([ \t]*)[^\s#]*", re.MULTILINE)


def listed(place: Place) -> tuple[str, ...]:
    """The layouts that have a task list here."""
    found = {source.layout for source in place.sources()}
    return tuple(layout for layout in LAYOUTS if layout in found)


def examine(place: Place, setup: Setup) -> Iterator[Finding]:
    yield from _faults(setup)
    yield from _hooks_off(setup)
    yield from _coverage(setup, listed(place))
    yield from _broken(setup)
    value = cap_in(place.env, setup.settings)
    if is_low(value):
        yield Finding("cap", WARNING, cap_told(value), CAP_REPAIR.capitalize())
    else:
        yield Finding("cap", FINE, cap_told(value))


def _faults(setup: Setup) -> Iterator[Finding]:
    for each in setup.settings:
        if each.fault:
            told = f"{each.path} {each.fault}, and the client ignores the whole file without a word"
            yield Finding("settings", FATAL, told, "Repair it")


def _hooks_off(setup: Setup) -> Iterator[Finding]:
    if setup.off is not None:
        told = f"`disableAllHooks` in {setup.off.path} switches every hook off"
        yield Finding("hooks", FATAL, told, "Remove it")


def _coverage(setup: Setup, wanted: Sequence[str]) -> Iterator[Finding]:
    """Whether each layout in use has one hook: with no list here, each that is served at all."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for layout in wanted or [name for name in LAYOUTS if setup.serving(name)]:
        key = tuple((each.name, each.line) for each in setup.serving(layout))
        groups.setdefault(key, []).append(layout)
    if not groups:
        yield _missing(setup, list(LAYOUTS))
    for layouts in groups.values():
        yield _covered(setup, layouts)


def _covered(setup: Setup, layouts: list[str]) -> Finding:
    serving, names = setup.serving(layouts[0]), ", ".join(layouts)
    if not serving:
        return _missing(setup, layouts)
    if len(serving) == 1:
        return Finding("hooks", FINE, f"{where(serving[0])} registers the hook for {names}")
    places = " and ".join(where(each) for each in serving)
    told = f"the hook for {names} is registered {len(serving)} times, by {places}"
    return Finding("hooks", WARNING, told, "Keep one: " + " or ".join(_removal(each) for each in serving))


def _missing(setup: Setup, layouts: list[str]) -> Finding:
    wanted = [traits(layout).plugin for layout in layouts]
    for plugin in setup.plugins:
        if plugin.is_ours and plugin.name in wanted and not plugin.root:
            told = f"{plugin.id} is switched on, but not installed"
            return Finding("hooks", FATAL, told, f"Run {_way('install', plugin.id)}")
    told = f"nothing registers the hook for {', '.join(layouts)}"
    plugin_way = _way("install", f"{wanted[0]}@{MARKET}")
    own = "`ralphloop run` brings its own; for your own sessions"
    return Finding("hooks", WARNING, told, f"{own} run `ralphloop install`, or {plugin_way}")


def _broken(setup: Setup) -> Iterator[Finding]:
    """Registrations that would do nothing, or not all that they should."""
    for each in setup.registrations:
        if each.guard and not os.path.isfile(each.guard):
            others = [one for one in setup.registrations if one.guard != each.guard]
            spare = all(any(one.serves(layout) for one in others) for layout in each.line.layouts)
            told = f"{where(each)} starts {each.guard}, which is gone"
            yield Finding("hooks", WARNING if spare else FATAL, told, _again(each))
        lost = [event for event in client().program.EVENTS if event not in each.events]
        if lost:
            told = f"{where(each)} does not register the hook for {', '.join(lost)}"
            yield Finding("hooks", WARNING, told, _again(each))


def where(each: Registration) -> str:
    return f"{each.name} ({each.scope} settings)" if each.scope else f"the plugin {each.name}"


def _way(verb: str, plugin: str) -> str:
    return f"`{client().program.plugin_command(verb, plugin)}`"


def _removal(each: Registration) -> str:
    if not each.scope:
        return _way("disable", each.name)
    return f"`ralphloop uninstall --scope {each.scope}`"


def _again(each: Registration) -> str:
    if not each.scope:
        return f"Run {_way('update', each.name)}"
    return f"Run `ralphloop install --scope {each.scope}` again"


def rivals(place: Place, setup: Setup) -> Iterator[Finding]:
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
        way = f"{client().program.plugin_command('disable', plugin.id)} --scope {said.scope}"
        fix = f"Run `ralphloop doctor --fix`, or `{way}`"
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
        elif plugin.has_stop_hook:
            beside = [f", and {each.scope} settings register ours" for each in setup.serving(layout)]
            told = f"{plugin.id} has a Stop hook of its own for {layout} specs{''.join(beside[:1])}"
            yield Finding("rivals", WARNING, told, f"Keep one, or use {name}@{MARKET} instead")


def _rules(place: Place) -> Iterator[Finding]:
    """Rules of hookify that block a stop."""
    for folder in dict.fromkeys((place.project, os.path.realpath(place.cwd))):
        below = os.path.join(folder, client().registration.FOLDER)
        for name in files.names(below):
            if not name.startswith(RULES + ".") or not name.endswith(".local.md"):
                continue
            path = os.path.join(below, name)
            if is_blocking(files.read_quietly(path) or ""):
                fix = "Run `ralphloop doctor --fix`, which sets `enabled: false` in it"
                told = f"the hookify rule {path} blocks stops on its own"
                file = SettingsFile(path, place.env, root=folder)
                repair = Repair(f"Set `enabled: false` in {path}", partial(_switch_rule_off, file))
                yield Finding("rivals", WARNING, told, fix, repair)


def is_blocking(text: str) -> bool:
    said = frontmatter.parse(text)
    blocks = said.get("action") == ["block"] and said.get("event") in (["stop"], ["all"])
    return blocks and not frontmatter.is_off(said, KEY)


def rule_switched_off(text: str) -> str | None:
    """The rule with `enabled: false`, every other byte as it was; None for a text where that has no place."""
    head = HEAD.match(text)
    if head is None or not is_blocking(text):
        return None
    end = re.compile(r"^(---|\.\.\.)[ \t]*\r?$", re.MULTILINE).search(text, head.end())
    stop = end.start() if end else len(text)
    settings, found = ENABLED.subn(lambda row: f"{row[1]}{row[2] or ' '}{OFF}", text[head.end() : stop])
    if not found:
        settings = f"{KEY}: {OFF}{head[1]}{settings}"
    after = text[: head.end()] + settings + text[stop:]
    return None if is_blocking(after) else after


def _other_hooks(setup: Setup) -> Iterator[Finding]:
    """Hooks that nobody here knows: they may do no more than ring a bell, so they are only named."""
    for said in setup.settings:
        for command in client().registration.other_hooks(said.data):
            told = f"{said.scope} settings run another Stop hook: `{cut(command, 70)}`"
            fix = f"If it blocks stops, remove it from {said.path}"
            yield Finding("rivals", WARNING, told, fix)


def _remove_plugin(file: SettingsFile, name: str) -> str:
    """Take the plugin's entry out of the file, and no other byte; the file as it was stays beside it."""
    return f"removed {name} from {_amend(file, partial(client().settings.without_plugin, name=name))}"


def _switch_rule_off(file: SettingsFile) -> str:
    return f"set `enabled: false` in {_amend(file, rule_switched_off)}"


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
