"""What `start` looks at to tell whether the loop can run: the client, its hook, its rights, its cap."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

from ralphloop.agents import claude
from ralphloop.cli.here import Here
from ralphloop.domain import jsontext
from ralphloop.domain.model import FEATURES, LAYOUTS, SPECKIT, SPECUM, Limits
from ralphloop.hook.words import client_cap
from ralphloop.store import files
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source

PLUGINS = {FEATURES: "ralphloop", SPECUM: "ralph-specum", SPECKIT: "ralph-speckit"}
OURS = ("hook/guard.sh", "hook/launch.py")
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAP = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


class Check(NamedTuple):
    name: str
    fine: bool
    told: str
    fatal: bool = False


def run(place: Here, source: Source, *, launching: bool = False) -> list[Check]:
    hook = _hook(place, source, launching=launching)
    return [_client(place), hook, _writable(source), _cap(place, source)]


def _client(place: Here) -> Check:
    if place.session or shutil.which(claude.PROGRAM, path=place.env.get("PATH")):
        return Check("client", True, "Claude Code is there.")
    return Check("client", False, "`claude` is not on PATH: install Claude Code before you go on.")


def _hook(place: Here, source: Source, *, launching: bool) -> Check:
    if any(settings.get("disableAllHooks") is True for settings in _settings(place, source)):
        return Check("hook", False, "hooks are off; remove `disableAllHooks` from your settings.", fatal=True)
    if is_registered(place, source):
        return Check("hook", True, "The Stop hook is registered.")
    if launching:
        return Check("hook", True, "The Stop hook is passed to the client.")
    return Check("hook", False, f"no settings register the Stop hook: {_bring_it(PLUGINS[source.layout])}.")


def _bring_it(plugin: str) -> str:
    """How a session gets the hook: with --launch, or with the plugin where its folder is at hand."""
    folder = os.path.normpath(os.path.join(PACKAGE, "..", "..", "plugins", plugin))
    if not os.path.isdir(folder):
        return "cancel it and start with --launch, which brings the hook along"
    return f"begin the session with `claude --plugin-dir {shlex.quote(folder)}` (or use --launch next time)"


def _writable(source: Source) -> Check:
    near = os.path.relpath(own_file(source), source.root).split(os.sep)
    if near[0] != ".claude":
        return Check("writable", True, "The agent may edit the list.")
    told = "Claude Code lets the agent edit nothing below .claude/: it claims tasks with `ralphloop done ID`."
    return Check("writable", False, told)


def _cap(place: Here, source: Source) -> Check:
    """The client ends a turn after this many plain replies in a row; ours must come first."""
    cap = client_cap(place.env)
    for settings in _settings(place, source):
        env = settings.get("env")
        if isinstance(env, dict) and CAP in env:
            cap = client_cap({CAP: str(env[CAP])})
    if 0 < cap <= Limits().no_progress:
        return Check("cap", False, f"{CAP}={cap} lets the client end a turn early: unset it.")
    return Check("cap", True, f"The client blocks up to {cap} plain replies." if cap > 0 else "No block cap.")


def is_registered(place: Here, source: Source) -> bool:
    """Whether some settings name our Stop hook, or the plugin of this layout."""
    for settings in _settings(place, source):
        plugins = settings.get("enabledPlugins")
        for name, on in plugins.items() if isinstance(plugins, dict) else ():
            if on is True and name.split("@")[0] == PLUGINS[source.layout]:
                return True
        if any(_serves(command, source.layout) for command in _stop_commands(settings)):
            return True
    return False


def _serves(command: str, layout: str) -> bool:
    """Ours, and for this layout: without any name it serves all of them."""
    start = max(command.find(mark) for mark in OURS)
    if start < 0:
        return False
    named = [name for name in LAYOUTS if name in command[start:]]
    return not named or layout in named


def _stop_commands(settings: dict[str, Any]) -> Iterator[str]:
    hooks = settings.get("hooks")
    groups = hooks.get("Stop") if isinstance(hooks, dict) else None
    for group in groups if isinstance(groups, list) else ():
        entries = group.get("hooks") if isinstance(group, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                arguments = entry.get("args")
                words = arguments if isinstance(arguments, list) else []
                yield " ".join(str(word) for word in (entry.get("command", ""), *words))


def _settings(place: Here, source: Source) -> Iterator[dict[str, Any]]:
    """The client's settings, those that win last."""
    user = place.env.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    paths = [os.path.join(user, "settings.json")]
    for folder in dict.fromkeys((source.root, os.path.realpath(place.cwd))):
        paths += [os.path.join(folder, ".claude", name) for name in ("settings.json", "settings.local.json")]
    for path in paths:
        try:
            yield jsontext.parse_object(files.read_quietly(path) or "{}")
        except ValueError:
            continue
