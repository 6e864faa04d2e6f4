"""`doctor` on the client's settings and plugins: whether our hooks are registered, once, and left on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ralphloop.agents import registration
from ralphloop.agents.plugins import MARKET
from ralphloop.agents.registration import Registration
from ralphloop.cli.doctor.finding import FATAL, FINE, WARNING, Finding
from ralphloop.loops.client import CAP_REPAIR, EVENTS, Setup, cap_in, cap_told, is_low
from ralphloop.loops.place import Place
from ralphloop.tasklists.registry import LAYOUTS, traits


def listed(place: Place) -> tuple[str, ...]:
    """The layouts that have a task list here."""
    found = {source.layout for source in place.sources()}
    return tuple(layout for layout in LAYOUTS if layout in found)


def examine(place: Place, setup: Setup) -> Iterator[Finding]:
    yield from _faults(setup)
    yield from _switched_off(setup)
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


def _switched_off(setup: Setup) -> Iterator[Finding]:
    off = registration.switched_off(setup.settings)
    if off is not None:
        told = f"`disableAllHooks` in {off.path} switches every hook off"
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
            return Finding("hooks", FATAL, told, f"Run `claude plugin install {plugin.id}`")
    told = f"nothing registers the hook for {', '.join(layouts)}"
    plugin_way = f"`claude plugin install {wanted[0]}@{MARKET}`"
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
        lost = [event for event in EVENTS if event not in each.events]
        if lost:
            told = f"{where(each)} does not register the hook for {', '.join(lost)}"
            yield Finding("hooks", WARNING, told, _again(each))


def where(each: Registration) -> str:
    return f"{each.name} ({each.scope} settings)" if each.scope else f"the plugin {each.name}"


def _removal(each: Registration) -> str:
    if not each.scope:
        return f"`claude plugin disable {each.name}`"
    return f"`ralphloop uninstall --scope {each.scope}`"


def _again(each: Registration) -> str:
    if not each.scope:
        return f"Run `claude plugin update {each.name}`"
    return f"Run `ralphloop install --scope {each.scope}` again"
