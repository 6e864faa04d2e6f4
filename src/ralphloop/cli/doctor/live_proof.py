"""`doctor`'s live proof: the registered hook in the real client, in a place of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ralphloop.agents.registration import Registration
from ralphloop.agents.registry import client
from ralphloop.cli.doctor import coverage, machine
from ralphloop.cli.doctor.diagnosis import FATAL, FINE, WARNING, Finding
from ralphloop.cli.output import show_progress
from ralphloop.lab import trial
from ralphloop.loops.place import Place
from ralphloop.loops.setup import PACKAGE, Setup
from ralphloop.store.approvals import is_within_reach
from ralphloop.store.installs import GUARD, SettingsFile
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import LAYOUTS, traits

AGAIN = "Put right what stands above, then run `ralphloop doctor` again"


def examine(place: Place, setup: Setup) -> list[Finding]:
    """One proof for each layout that is in use here and has a hook; without any, of the package's own."""
    if not machine.client_path(place.env):
        return [Finding("live", WARNING, "not tried, there is no client")]
    layouts = [layout for layout in coverage.listed(place) or LAYOUTS[:1] if setup.serving(layout)]
    if not layouts:
        layouts = [layout for layout in LAYOUTS if setup.serving(layout)][:1] or [*LAYOUTS[:1]]
    return [finding for layout in layouts for finding in _examine(place, setup, layout=layout)]


def _examine(place: Place, setup: Setup, *, layout: str) -> Iterator[Finding]:
    """Nothing is run that a repository may have brought along: only told."""
    serving = setup.serving(layout)
    known = [each for each in serving if is_known(place, each)]
    for each in serving:
        if each not in known:
            told = (
                f"not tried: {coverage.where(each)} starts {each.guard}, and nothing tells that it is yours"
            )
            fix = f"Look at it; `ralphloop install --scope {each.scope}` puts this package in its place"
            yield Finding("live", WARNING, told, fix)
    if known or not serving:
        yield _prove(place, _given(setup, known), layout=layout, is_registered=bool(known))


def is_known(place: Place, each: Registration) -> bool:
    """Whether what a registration starts is the person's own: this package, what `install` recorded, what the
    client installed as a plugin, or what the person's own settings name."""
    if each.scope in ("", "user"):
        return True
    # What is started lies beside the guard, so it is the folder that must be ours.
    if os.path.realpath(os.path.dirname(each.guard)) == os.path.realpath(os.path.join(PACKAGE, "hook")):
        return True
    record = SettingsFile(each.name, place.env).record() or {}
    return record.get(GUARD) == each.guard and not is_within_reach(Shelf(place.project, place.env))


def _prove(place: Place, hooks: trial.Hooks, *, layout: str, is_registered: bool) -> Finding:
    show_progress(f"ralphloop: the client works through a loop of two tasks ({layout}) …")
    try:
        found = trial.prove(
            machine.client_path(place.env),
            hooks,
            layout=layout,
            path=place.env.get("PATH", ""),
            python=machine.recorded(place),
        )
    finally:
        show_progress("")
    return _finding(found, layout, is_registered=is_registered)


def _given(setup: Setup, hooks: list[Registration]) -> trial.Hooks:
    """The hooks as they are registered, in command lines that are written anew; a plugin whole if it brings
    no hook but ours."""
    agent = client().program
    if not hooks:
        return trial.Hooks(agent.hook_settings(agent.hook_command(PACKAGE)))
    pure = {plugin.root for plugin in setup.plugins if plugin.runs_only_ours}
    events: dict[str, list[Any]] = {}
    for each in hooks:
        if each.root in pure:
            continue
        package = os.path.dirname(os.path.dirname(each.guard))
        line = agent.hook_command(package, registration=each.line.name, layouts=each.line.layouts)
        groups = agent.hook_settings(line)["hooks"]
        for event in each.events:
            events.setdefault(event, []).extend(groups[event])
    folders = [each.root for each in hooks if each.root in pure]
    return trial.Hooks({"hooks": events} if events else {}, folders)


def _finding(found: trial.Trial, layout: str, *, is_registered: bool) -> Finding:
    whose = "" if is_registered else "; nothing is registered here, so this was the package's own hook"
    kind = f" for {layout}" if traits(layout).phases else ""
    if found.proven:
        return Finding("live", FINE, found.told + kind + whose)
    said = f" (its last lines: {' / '.join(found.tail)})" if found.tail else ""
    if not found.tried:
        told = f"nothing is proven: {found.told}, in a home of its own{said}"
        return Finding("live", WARNING, told, f"Try `{client().program.HELLO}` yourself")
    return Finding("live", FATAL, found.told + kind + said + whose, AGAIN)
