"""`doctor`'s live proof: the registered hook in the real client, in a place of its own."""

from __future__ import annotations

from typing import Any

from ralphloop.agents import claude
from ralphloop.agents.registration import Registration
from ralphloop.cli.health import program
from ralphloop.cli.health.finding import FATAL, FINE, WARNING, Finding
from ralphloop.cli.health.settings import Setup
from ralphloop.cli.here import Here
from ralphloop.cli.output import show_progress
from ralphloop.cli.precheck import PACKAGE
from ralphloop.domain.model import FEATURES, LAYOUTS
from ralphloop.testing import trial

AGAIN = "Put right what stands above, then run `ralphloop doctor` again"


def examine(place: Here, setup: Setup) -> list[Finding]:
    """One proof for each layout that is in use here and has a hook; without any, of the package's own."""
    layouts = [layout for layout in setup.listed or LAYOUTS[:1] if setup.serving(layout)]
    if not layouts:
        layouts = [layout for layout in LAYOUTS if setup.serving(layout)][:1] or [FEATURES]
    return [_prove(place, setup, layout) for layout in layouts]


def _prove(place: Here, setup: Setup, layout: str) -> Finding:
    client = program.client_path(place.env)
    hooks = setup.serving(layout)
    show_progress(f"ralphloop: the client works through a loop of two tasks ({layout}) …")
    try:
        found = trial.prove(
            client,
            _given(hooks),
            layout=layout,
            path=place.env.get("PATH", ""),
            python=program.recorded(place.env),
        )
    finally:
        show_progress("")
    return _finding(found, layout, is_registered=bool(hooks))


def _given(hooks: list[Registration]) -> trial.Hooks:
    """The hooks as they are registered, and nothing else of the person's settings."""
    if not hooks:
        return trial.Hooks(claude.hook_settings(claude.hook_command(PACKAGE)))
    events: dict[str, list[Any]] = {}
    for each in hooks:
        for event, groups in each.hooks.items() if each.scope else ():
            events.setdefault(event, []).extend(groups)
    return trial.Hooks({"hooks": events} if events else {}, [each.root for each in hooks if not each.scope])


def _finding(found: trial.Trial, layout: str, *, is_registered: bool) -> Finding:
    whose = "" if is_registered else "; nothing is registered here, so this was the package's own hook"
    kind = "" if layout == FEATURES else f" for {layout}"
    if found.proven:
        return Finding("live", FINE, found.told + kind + whose)
    said = f" (its last lines: {' / '.join(found.tail)})" if found.tail else ""
    if not found.tried:
        told = f"nothing is proven: {found.told}, in a home of its own{said}"
        return Finding("live", WARNING, told, "Try `claude -p hello` yourself")
    return Finding("live", FATAL, found.told + kind + said + whose, AGAIN)
