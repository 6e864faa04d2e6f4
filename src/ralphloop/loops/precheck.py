"""What `start` looks at to tell whether the loop can run: the client, its hook, its rights, its cap."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from ralphloop.agents.registry import client, missing
from ralphloop.errors import UserError
from ralphloop.loops import cap
from ralphloop.loops.place import Place
from ralphloop.loops.setup import Setup, look
from ralphloop.tasklists.registry import own_file, traits
from ralphloop.tasklists.source import Source


class Check(NamedTuple):
    name: str
    fine: bool
    told: str
    fatal: bool = False


def run(place: Place, source: Source, *, launching: bool = False) -> list[Check]:
    """What is worth a line; of the cap only what is wrong with it."""
    setup = look(place, source.root)
    hook = _hook(setup, source.layout, launching=launching)
    return [_client(place), hook, writable(source), *_cap(place, setup)]


def require(place: Place, source: Source, *, launching: bool = False) -> list[Check]:
    """The same; an error if one of it makes a loop impossible."""
    checks = run(place, source, launching=launching)
    for check in checks:
        if check.fatal:
            raise UserError(f"the loop could not run: {check.told}")
    return checks


def _client(place: Place) -> Check:
    program = client().program
    if place.session or shutil.which(program.PROGRAM, path=place.env.get("PATH")):
        return Check("client", True, f"{program.TITLE} is there.")
    return Check("client", False, "; ".join(missing(program)) + ".")


def _hook(setup: Setup, layout: str, *, launching: bool) -> Check:
    if setup.off is not None:
        return Check("hook", False, "hooks are off; remove `disableAllHooks` from your settings.", fatal=True)
    if setup.serves(layout):
        return Check("hook", True, "The Stop hook is registered.")
    if launching:
        return Check("hook", True, "The Stop hook is passed to the client.")
    ways = f"run `ralphloop install`, use --launch, or install the plugin {traits(layout).plugin}"
    return Check("hook", False, f"no session here gets the Stop hook: {ways}.")


def writable(source: Source) -> Check:
    near = os.path.relpath(own_file(source), source.root).split(os.sep)
    folder = client().registration.FOLDER
    if near[0] != folder:
        return Check("writable", True, "The agent may edit the list.")
    told = f"{client().program.TITLE} lets the agent edit nothing below {folder}/"
    return Check("writable", False, f"{told}: it claims tasks with `ralphloop done ID`.")


def _cap(place: Place, setup: Setup) -> Iterator[Check]:
    value = cap.set_in(place.env, setup.settings)
    if cap.is_low(value):
        yield Check("cap", False, f"{cap.told(value)}; {cap.REPAIR}.")
