"""The actions that specs and features have in common, each for the kind that it is about."""

from __future__ import annotations

import argparse

from ralphloop.cli.output import say, say_json
from ralphloop.loops.place import Here, here
from ralphloop.loops.spec import ending, execution, overview, step, triage, wording
from ralphloop.loops.spec.catalogue import Specs, specs_here
from ralphloop.loops.spec.kind import Kind, Spec


def phase(kind: Kind, args: argparse.Namespace) -> int:
    """Begin the step that is called as the action is."""
    place = here()
    step.begin(place, specs_here(kind, place), action=args.action, text=wording.whole(args.text))
    return 0


def implement(kind: Kind, args: argparse.Namespace) -> int:
    place = here()
    spec = specs_here(kind, place).must_have_current()
    return execution.implement(place, spec, wish=execution.wish_of(args))


def switch(kind: Kind, args: argparse.Namespace) -> int:
    place = here()
    return ending.switch(place, specs_here(kind, place), name=args.name)


def cancel(kind: Kind, args: argparse.Namespace) -> int:
    place = here()
    return ending.cancel(place, specs_here(kind, place), name=args.name)


def status(kind: Kind, args: argparse.Namespace, *, begin: str) -> int:
    """Every spec, and the epic where there are such; `begin` is said where there is nothing yet."""
    place = here(writes=False)
    specs = specs_here(kind, place)
    found = overview.all_standings(place, specs)
    epic = triage.current(specs, specs.home) if kind.epics else None
    if args.json:
        rows = [standing.to_json(current=current) for standing, current in found]
        more = {"epic": epic and epic.to_json()} if kind.epics else {}
        say_json({f"{kind.word}s": rows, **more})
        return 0
    overview.table(found)
    if epic is not None:
        triage.tell(epic)
    if not found and epic is None:
        say(begin)
    return 0


def introduce(place: Here, specs: Specs, *, spec: Spec, old: Spec | None, action: str, goal: str) -> None:
    """What is said of a new one: which it takes the place of, its first step, and a goal that is missing."""
    if old is not None:
        ending.tell_left(place, old, specs=specs)
    step.tell(place, spec, action=action)
    if not goal:
        say("! It has no goal yet: ask the person for it and write it into the notes first.")
