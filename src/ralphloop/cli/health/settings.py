"""`doctor` on the client's settings and plugins: whether our hooks are registered, once, and left on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ralphloop.agents import claude, plugins, registration
from ralphloop.agents.plugins import MARKET, Plugin
from ralphloop.agents.registration import PLUGINS, Registration, Settings
from ralphloop.cli import precheck
from ralphloop.cli.health.finding import FATAL, FINE, WARNING, Finding
from ralphloop.cli.here import Here
from ralphloop.domain.model import LAYOUTS
from ralphloop.store import files

EVENTS = tuple(claude.EVENTS)


@dataclass(frozen=True)
class Setup:
    """What the client would load for a session here."""

    settings: list[Settings]
    plugins: list[Plugin]
    registrations: list[Registration]
    listed: tuple[str, ...]  # the layouts that have a task list here

    def serving(self, layout: str) -> list[Registration]:
        """The hooks that would run for this layout; the client runs the same command line once (fact 31)."""
        found: dict[tuple[str, str], Registration] = {}
        for each in self.registrations:
            if each.serves(layout):
                found.setdefault((each.command, each.root), each)
        return list(found.values())


def look(place: Here) -> Setup:
    settings = precheck.settings_at(place, place.project)
    found = plugins.installed(
        registration.enabled_plugins(settings),
        config=registration.config_folder(place.env),
        folders=(place.project, os.path.realpath(place.cwd)),
        read=files.read_text,
    )
    ours = [
        each
        for said in settings
        for each in registration.registrations(said.data, scope=said.scope, name=said.path, events=EVENTS)
    ]
    ours += [each for plugin in found for each in plugin.registrations(EVENTS)]
    listed = {source.layout for source in place.sources()}
    return Setup(settings, found, ours, tuple(layout for layout in LAYOUTS if layout in listed))


def examine(place: Here, setup: Setup) -> Iterator[Finding]:
    yield from _faults(setup)
    yield from _switched_off(setup)
    yield from _coverage(setup)
    yield from _broken(setup)
    cap = precheck.cap(place.env, setup.settings)
    if cap.fine:
        yield Finding("cap", FINE, cap.told[0].lower() + cap.told[1:].rstrip("."))
    else:
        yield Finding("cap", WARNING, cap.told.partition(": ")[0], "Set it to 100, or remove it")


def _faults(setup: Setup) -> Iterator[Finding]:
    for each in setup.settings:
        if each.fault:
            told = f"{each.path} {each.fault}, and the client ignores the whole file without a word"
            yield Finding("settings", FATAL, told, "Repair it")


def _switched_off(setup: Setup) -> Iterator[Finding]:
    off = registration.switched_off(setup.settings)
    if off is not None:
        told = f"`disableAllHooks` in {off.path} switches every hook off"
        yield Finding("hooks", FATAL, told, "Remove it")


def _coverage(setup: Setup) -> Iterator[Finding]:
    """Whether each layout in use has one hook: with no list here, each that is served at all."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for layout in setup.listed or [name for name in LAYOUTS if setup.serving(name)]:
        key = tuple((each.name, each.command) for each in setup.serving(layout))
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
        return Finding("hooks", FINE, f"{_where(serving[0])} registers the hook for {names}")
    places = " and ".join(_where(each) for each in serving)
    told = f"the hook for {names} is registered {len(serving)} times, by {places}"
    return Finding("hooks", WARNING, told, "Keep one: " + " or ".join(_removal(each) for each in serving))


def _missing(setup: Setup, layouts: list[str]) -> Finding:
    wanted = [PLUGINS[layout] for layout in layouts]
    for plugin in setup.plugins:
        if plugin.name in wanted and not plugin.root:
            told = f"{plugin.id} is switched on, but not installed"
            return Finding("hooks", FATAL, told, f"Run `claude plugin install {plugin.id}`")
    told = f"nothing registers the hook for {', '.join(layouts)}"
    plugin_way = f"`claude plugin install {wanted[0]}@{MARKET}`"
    return Finding("hooks", FATAL, told, f"Run `ralphloop install`, or {plugin_way}")


def _broken(setup: Setup) -> Iterator[Finding]:
    """Registrations that would do nothing, or not all that they should."""
    for each in setup.registrations:
        if each.guard and not os.path.isfile(each.guard):
            others = [one for one in setup.registrations if one.guard != each.guard]
            spare = all(any(one.serves(layout) for one in others) for layout in each.layouts)
            told = f"{_where(each)} starts {each.guard}, which is gone"
            yield Finding("hooks", WARNING if spare else FATAL, told, _again(each))
        lost = [event for event in EVENTS if event not in each.hooks]
        if lost:
            told = f"{_where(each)} does not register the hook for {', '.join(lost)}"
            yield Finding("hooks", WARNING, told, _again(each))


def _where(each: Registration) -> str:
    return f"{each.name} ({each.scope} settings)" if each.scope else f"the plugin {each.name}"


def _removal(each: Registration) -> str:
    if not each.scope:
        return f"`claude plugin disable {each.name}`"
    return f"`ralphloop uninstall --scope {each.scope}`"


def _again(each: Registration) -> str:
    if not each.scope:
        return f"Run `claude plugin update {each.name}`"
    return f"Run `ralphloop install --scope {each.scope}` again"
