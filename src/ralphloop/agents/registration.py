"""What Claude Code's settings say about hooks: which files count, what they register, what is ours."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ralphloop.domain import jsontext
from ralphloop.domain.model import FEATURES, LAYOUTS, SPECKIT, SPECUM

PLUGINS = {FEATURES: "ralphloop", SPECUM: "ralph-specum", SPECKIT: "ralph-speckit"}
OURS = ("hook/guard.sh", "hook/launch.py")
PLUGIN_ROOT = "CLAUDE_PLUGIN_ROOT"

Read = Callable[[str], "str | None"]


@dataclass(frozen=True)
class Settings:
    """One settings file; without data if the client cannot use it, and `fault` says why."""

    scope: str  # user, project or local
    path: str
    data: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True)
class Registration:
    """One hook of ours for Stop, in a settings file or in a plugin."""

    scope: str  # user, project, local; empty for a plugin
    name: str  # the settings file, or the plugin with its marketplace
    command: str
    layouts: tuple[str, ...]
    guard: str  # the file that it starts; empty if the command line does not tell
    hooks: Mapping[str, Any] = field(default_factory=dict)  # event -> its groups, ours only
    root: str = ""  # the plugin's folder

    def serves(self, layout: str) -> bool:
        return layout in self.layouts


def config_folder(env: Mapping[str, str]) -> str:
    """Where the person's own settings and plugins are."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".claude")


def settings_paths(config: str, folders: Iterable[str]) -> list[tuple[str, str]]:
    """Scope and path of each settings file, those that win last."""
    found = [("user", os.path.join(config, "settings.json"))]
    for folder in dict.fromkeys(folders):
        below = os.path.join(folder, ".claude")
        found.append(("project", os.path.join(below, "settings.json")))
        found.append(("local", os.path.join(below, "settings.local.json")))
    # in the home itself the person's settings are also the project's: one file, not two
    first = {path: scope for scope, path in reversed(found)}
    return [(scope, path) for scope, path in found if first.get(path) == scope]


def load(paths: Iterable[tuple[str, str]], read: Read) -> list[Settings]:
    """The settings files that exist."""
    found = []
    for scope, path in paths:
        try:
            text = read(path)
            if text is not None:
                found.append(Settings(scope, path, jsontext.parse_object(text or "{}")))
        except OSError as error:
            found.append(Settings(scope, path, fault=f"cannot be read ({error.strerror or error})"))
        except ValueError as error:
            found.append(Settings(scope, path, fault=_told(error)))
    return found


def _told(error: ValueError) -> str:
    line = getattr(error, "lineno", None)
    if line is None:
        return f"is not usable ({error})"
    return f"is not JSON at line {line}, column {getattr(error, 'colno', 1)} ({getattr(error, 'msg', error)})"


def switched_off(settings: Iterable[Settings]) -> Settings | None:
    """The file that switches every hook off: the last one that says anything about it decides."""
    said = [each for each in settings if "disableAllHooks" in each.data]
    return said[-1] if said and said[-1].data["disableAllHooks"] is True else None


def enabled_plugins(settings: Iterable[Settings]) -> dict[str, list[Settings]]:
    """Each plugin that is on, with the files that say so; a file that wins later can switch it off."""
    said: dict[str, list[Settings]] = {}
    last: dict[str, bool] = {}
    for each in settings:
        plugins = each.data.get("enabledPlugins")
        for name, on in plugins.items() if isinstance(plugins, dict) else ():
            last[name] = on is True
            if on is True:
                said.setdefault(name, []).append(each)
    return {name: files for name, files in said.items() if last[name]}


def entries(data: Mapping[str, Any], event: str) -> Iterator[dict[str, Any]]:
    """The hooks of one event, whatever else stands between them."""
    for group in _groups(data, event):
        yield from _hooks(group)


def _groups(data: Mapping[str, Any], event: str) -> list[dict[str, Any]]:
    hooks = data.get("hooks")
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    return [group for group in (groups if isinstance(groups, list) else ()) if isinstance(group, dict)]


def _hooks(group: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = group.get("hooks")
    return [entry for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, dict)]


def command_of(entry: Mapping[str, Any]) -> str:
    """What a hook runs, as one line; a hook that runs no command by what it asks or calls."""
    arguments = entry.get("args")
    words = arguments if isinstance(arguments, list) else []
    first = next((entry[key] for key in ("command", "prompt", "url", "tool") if entry.get(key)), "")
    return " ".join(str(word) for word in (first, *words))


def is_ours(command: str) -> bool:
    return any(mark in command for mark in OURS)


def layouts_of(command: str) -> tuple[str, ...]:
    """The layouts that a command line of ours serves: without any name, all of them."""
    start = max(command.find(mark) for mark in OURS)
    named = tuple(name for name in LAYOUTS if name in command[start:])
    return named or LAYOUTS


def guard_of(entry: Mapping[str, Any], root: str = "") -> str:
    """The file of ours that a hook starts, if that can be told without a shell."""
    arguments = entry.get("args")
    try:
        words = shlex.split(str(entry.get("command", "")))
    except ValueError:
        return ""
    words += [str(word) for word in arguments] if isinstance(arguments, list) else []
    for word in words:
        path = word.rstrip(";").removeprefix("rl_guard=")
        if path.endswith(OURS):
            path = path.replace("${" + PLUGIN_ROOT + "}", root).replace("$" + PLUGIN_ROOT, root)
            return "" if "$" in path else path
    return ""


def registrations(
    data: Mapping[str, Any], *, scope: str, name: str, events: Sequence[str], root: str = ""
) -> list[Registration]:
    """Our hooks for Stop in one settings file or one plugin, each with its other events."""
    found: dict[str, Registration] = {}
    for entry in entries(data, "Stop"):
        command = command_of(entry)
        if is_ours(command) and command not in found:
            found[command] = Registration(
                scope,
                name,
                command,
                layouts_of(command),
                guard_of(entry, root),
                hooks=_same(data, entry, events),
                root=root,
            )
    return list(found.values())


def _same(data: Mapping[str, Any], first: Mapping[str, Any], events: Sequence[str]) -> dict[str, Any]:
    """What starts the same file of ours for the same layouts, event by event, as settings of its own."""
    wanted = _key(first)
    found = {}
    for event in events:
        groups = [
            {**group, "hooks": same}
            for group in _groups(data, event)
            if (same := [entry for entry in _hooks(group) if _key(entry) == wanted])
        ]
        if groups:
            found[event] = groups
    return found


def _key(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What makes two hooks the same registration: command lines of different events may differ a little."""
    command = command_of(entry)
    if not is_ours(command):
        return ()
    return (guard_of(entry) or command, *layouts_of(command))
