"""Which task list `start` means: the one that is named, or the only one with work left."""

from __future__ import annotations

import os

from ralphloop import spelling
from ralphloop.domain.model import EXECUTION
from ralphloop.engine import claim, find
from ralphloop.errors import UserError
from ralphloop.loops import elsewhere
from ralphloop.loops.place import UNDER_WAY, Place
from ralphloop.store import files, tasks
from ralphloop.tasklists.registry import LAYOUTS, own_file
from ralphloop.tasklists.source import Source


def choose(place: Place, name: str | None) -> Source:
    if name is not None:
        return _named(place, name)
    found = _nearest(place)
    if not found:
        raise UserError(f"there is no task list here; {elsewhere.begin(place.env, place.roots)}.")
    if len(found) > 1:
        found = [source for source in found if has_work(source)] or found
    if len(found) > 1:
        raise UserError("there are several task lists here; name one of: " + ", ".join(_said(found)))
    return found[0]


def _nearest(place: Place) -> list[Source]:
    """The lists of the nearest place of each layout, those whose own file exists."""
    if os.path.isabs(place.env.get("RALPH_LOOP_DIR") or ""):
        found = place.sources()
    else:
        call = find.Call(registration="", layouts=LAYOUTS, env=place.env, cwd=place.cwd)
        found = list(claim.sources(place.cwd, call))
    return [source for source in found if files.signature(own_file(source))] or found


def _named(place: Place, name: str) -> Source:
    everything = place.sources()
    found = [source for source in everything if name in (source.name, f"{source.layout}:{source.name}")]
    if not found:
        _must_be_there(place, name)
        known = _said(everything)
        told = "" if spelling.near(name, known) else elsewhere.hint(place.env, place.roots, name=name)
        makes = f"`ralphloop new {name}` creates one"
        told = f"{told}." if told else spelling.or_known(name, known, else_=makes)
        raise UserError(f"there is no task list {name} in {place.project}; {told}")
    near = [source for source in found if source.root == found[0].root]
    if len({source.layout for source in near}) > 1:
        choices = ", ".join(f"{source.layout}:{source.name}" for source in near)
        raise UserError(f"several task lists are called {name}; name one of: {choices}")
    return near[0]


def _must_be_there(place: Place, name: str) -> None:
    """A loop rests here, and its list is gone: deleted, or on another branch."""
    for loop in place.loops(*UNDER_WAY):
        if loop.record.name == name:
            path = os.path.relpath(own_file(loop.record), place.cwd)
            back = f"`git switch` to the branch that has it, or `git checkout HEAD -- {path}`"
            gone = f"the loop {name} is here, but not its list ({path})"
            raise UserError(f"{gone}: bring it back ({back}), or `ralphloop cancel {name}`.")


def has_work(source: Source) -> bool:
    """Whether something is left to do: tasks, the first ones of an empty list, the repair of a broken one; of
    a list that cannot be opened nothing is known to be."""
    try:
        found = tasks.parse_source(source).tasks
    except ValueError:
        return True
    except OSError:
        return False
    return not found or not all(task.done for task in found)


def is_done(source: Source) -> bool:
    """Whether nothing of the list is left to do; False for one that cannot be read."""
    try:
        listed = tasks.parse_source(source)
    except (ValueError, OSError):
        return False
    return listed.phase == EXECUTION and bool(listed.tasks) and all(task.done for task in listed.tasks)


def _said(sources: list[Source]) -> list[str]:
    names = [source.name for source in sources]
    return [
        source.name if names.count(source.name) == 1 else f"{source.layout}:{source.name}"
        for source in sources
    ]
