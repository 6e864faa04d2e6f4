"""What specs and features have in common when they are shown: all of them, and a new one."""

from __future__ import annotations

from ralphloop.loops.place import Place
from ralphloop.loops.result import Result
from ralphloop.loops.spec import ending, overview, step, triage
from ralphloop.loops.spec.catalogue import Kind, Spec, Specs, specs_here


def status(kind: Kind, place: Place, *, begin: str) -> Result:
    """Every spec, and the epic where there are such; `begin` is said where there is nothing yet."""
    specs = specs_here(kind, place)
    found = overview.all_standings(place, specs)
    epic = triage.current(specs, specs.home) if kind.epics else None
    rows = [standing.to_json(current=current) for standing, current in found]
    more = {"epic": epic and epic.to_json()} if kind.epics else {}
    told = overview.table(found) + (triage.tell(epic) if epic is not None else [])
    if not found and epic is None:
        told.append(begin)
    return Result({f"{kind.word}s": rows, **more}, tuple(told))


def introduced(
    place: Place, specs: Specs, *, spec: Spec, old: Spec | None, action: str, goal: str
) -> list[str]:
    """What is said of a new one: which it takes the place of, its first step, and a goal that is missing."""
    told = ending.left_behind(place, old, specs=specs, new=spec) if old is not None else []
    told += step.tell(place, spec, action=action)
    missing = "! It has no goal yet: ask the person for it and write it into the notes first."
    return told if goal else [*told, missing]
