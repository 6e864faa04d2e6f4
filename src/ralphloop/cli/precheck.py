"""What `start` looks at to tell whether the loop can run: the client, its hook, its rights, its cap."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ralphloop.agents import claude, registration
from ralphloop.agents.registration import PLUGINS, Settings
from ralphloop.cli.here import Here
from ralphloop.domain.model import Limits
from ralphloop.hook.words import client_cap
from ralphloop.store import files
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAP = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


class Check(NamedTuple):
    name: str
    fine: bool
    told: str
    fatal: bool = False


def run(place: Here, source: Source, *, launching: bool = False) -> list[Check]:
    settings = settings_at(place, source.root)
    hook = _hook(settings, source.layout, launching=launching)
    return [_client(place), hook, writable(source), cap(place.env, settings)]


def settings_at(place: Here, root: str) -> list[Settings]:
    """The client's settings for a session in this project or this folder, those that win last."""
    folders = (root, os.path.realpath(place.cwd))
    paths = registration.settings_paths(registration.config_folder(place.env), folders)
    return registration.load(paths, files.read_text)


def is_registered(place: Here, source: Source) -> bool:
    """Whether some settings name our Stop hook, or the plugin of this layout."""
    return _names_hook(settings_at(place, source.root), source.layout)


def _client(place: Here) -> Check:
    if place.session or shutil.which(claude.PROGRAM, path=place.env.get("PATH")):
        return Check("client", True, "Claude Code is there.")
    return Check("client", False, "`claude` is not on PATH: install Claude Code before you go on.")


def _hook(settings: list[Settings], layout: str, *, launching: bool) -> Check:
    if registration.switched_off(settings) is not None:
        return Check("hook", False, "hooks are off; remove `disableAllHooks` from your settings.", fatal=True)
    if _names_hook(settings, layout):
        return Check("hook", True, "The Stop hook is registered.")
    if launching:
        return Check("hook", True, "The Stop hook is passed to the client.")
    return Check("hook", False, f"no settings register the Stop hook: {_bring_it(PLUGINS[layout])}.")


def _names_hook(settings: list[Settings], layout: str) -> bool:
    if any(name.split("@")[0] == PLUGINS[layout] for name in registration.enabled_plugins(settings)):
        return True
    commands = (
        registration.command_of(entry)
        for each in settings
        for entry in registration.entries(each.data, "Stop")
    )
    return any(registration.is_ours(line) and layout in registration.layouts_of(line) for line in commands)


def _bring_it(plugin: str) -> str:
    """How a session gets the hook: with --launch, or with the plugin where its folder is at hand."""
    folder = os.path.normpath(os.path.join(PACKAGE, "..", "..", "plugins", plugin))
    if not os.path.isdir(folder):
        return "cancel it and start with --launch, which brings the hook along"
    return f"begin the session with `claude --plugin-dir {shlex.quote(folder)}` (or use --launch next time)"


def writable(source: Source) -> Check:
    near = os.path.relpath(own_file(source), source.root).split(os.sep)
    if near[0] != ".claude":
        return Check("writable", True, "The agent may edit the list.")
    told = "Claude Code lets the agent edit nothing below .claude/: it claims tasks with `ralphloop done ID`."
    return Check("writable", False, told)


def cap(env: Mapping[str, str], settings: Iterable[Settings]) -> Check:
    """The client ends a turn after this many plain replies in a row; ours must come first."""
    most = client_cap(env)
    for each in settings:
        said = each.data.get("env")
        if isinstance(said, dict) and CAP in said:
            most = client_cap({CAP: str(said[CAP])})
    if 0 < most <= Limits().no_progress:
        return Check("cap", False, f"{CAP}={most} lets the client end a turn early: unset it.")
    return Check(
        "cap", True, f"The client blocks up to {most} plain replies." if most > 0 else "No block cap."
    )
