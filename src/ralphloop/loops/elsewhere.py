"""Loops of other projects: for who stands in the wrong folder, and for who looks after all of them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

from ralphloop.loops.result import Tell, quiet
from ralphloop.store import shelf
from ralphloop.store.shelf import Shelf

FOLDERS_MAX = 50_000  # of the state directory that one look goes through
MARK = "@ralph"
SHOWN = 3


def projects(env: Mapping[str, str], passed_over: Tell) -> Iterator[str]:
    """The folders for which the state directory has loops; no link is followed."""
    tree = os.path.join(shelf.home(env), "by-path")
    for count, (folder, below, _) in enumerate(os.walk(tree)):
        if count >= FOLDERS_MAX:
            passed_over(f"{tree} has more than {FOLDERS_MAX} folders; the rest is not looked at.")
            return
        if MARK in below and not os.path.islink(os.path.join(folder, MARK)):
            yield folder[len(tree) :] or os.sep
        below[:] = sorted(name for name in below if name != MARK)


def begin(env: Mapping[str, str], here: Sequence[str], *, name: str | None = None) -> str:
    """What to type where there is nothing to work on: go where loops are under way, or make a list."""
    new, there = f"`ralphloop new {name or 'NAME'}`", hint(env, here, name=name)
    if there:
        return f"{there}, or make a list here: {new}"
    return f"{new} makes a task list, and `ralphloop run` begins a loop over it"


def hint(env: Mapping[str, str], here: Sequence[str], *, name: str | None = None) -> str:
    """Where loops are under way that cannot be seen from `here`, those of this name; empty if nowhere."""
    found = {}
    for root in projects(env, quiet):
        if root in here or not os.path.isdir(root):
            continue
        names = {
            record.name for kind in (shelf.OWNED, shelf.ARMED) for record in Shelf(root, env).records(kind)
        }
        if names and name in (None, *names):
            found[root] = sorted(names) if name is None else [name]
    if not found:
        return ""
    shown = [f"{', '.join(names[:SHOWN])} in {root}" for root, names in list(found.items())[:SHOWN]]
    return f"under way elsewhere: {', '.join(shown)}. Change to it with `cd {shlex.quote(next(iter(found)))}`"
