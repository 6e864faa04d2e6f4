"""What Claude Code loads for a session: which settings files count, which plugins are on, what hooks those
register, which of them are ours; and what of a folder it would run unasked.

Without a terminal the client shows no dialog: it runs a project's hooks and servers at once (2.1.325). Of a
worktree it asks and notes that of the main checkout.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ralphloop.agents.claude import program
from ralphloop.agents.claude.usage import config_folder
from ralphloop.agents.registration import MARKET, SETTINGS, Line, Read, Registration, Settings, Setup
from ralphloop.domain import jsontext
from ralphloop.tasklists.registry import LAYOUTS

FOLDER = ".claude"  # of a project; the client lets the agent edit nothing below it
USER_SETTINGS = "~/.claude/settings.json"  # as a person is told of them
LOCAL_SETTINGS = ".claude/settings.local.json"  # which `install` writes
PROGRAMS = (".claude/settings.json", LOCAL_SETTINGS, ".mcp.json")  # what makes the client start programs
PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"
# Wide in the path only: what is found is written anew and compared.
SHAPE = re.compile(
    r"(?P<on>rl_on=[a-z]+ )?rl_guard=(?P<guard>.+) rl_as=(?P<name>[a-z-]+) "
    r"rl_layouts=(?P<layouts>[a-z0-9_ '-]+); .+",
    re.DOTALL,
)


def look(env: Mapping[str, str], folders: Sequence[str], read: Read) -> Setup:
    """What a session in one of these folders gets."""
    settings = load(settings_paths(env, folders), read)
    config = os.path.abspath(config_folder(env))
    plugins = installed(enabled_plugins(settings), config=config, folders=folders, read=read)
    events = tuple(program.EVENTS)
    ours = [
        each
        for said in settings
        for each in registrations(said.data, scope=said.scope, name=said.path, events=events)
    ]
    ours += [each for plugin in plugins for each in plugin.registrations(events)]
    return Setup(settings, plugins, ours, switched_off(settings))


def settings_path(scope: str, *, project: str, env: Mapping[str, str]) -> str:
    if scope == "user":
        return os.path.join(os.path.abspath(config_folder(env)), "settings.json")
    return os.path.join(project, FOLDER, "settings.json" if scope == "project" else "settings.local.json")


def settings_paths(env: Mapping[str, str], folders: Iterable[str]) -> list[tuple[str, str]]:
    """Scope and path of each settings file, those that win last."""
    found = [("user", settings_path("user", project="", env=env))]
    for folder in dict.fromkeys(folders):
        found += [(scope, settings_path(scope, project=folder, env=env)) for scope in ("project", "local")]
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
    return (entry for _, entry in placed(data, event))


def placed(data: Mapping[str, Any], event: str) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Each hook of one event, with the keys that lead to it."""
    hooks = data.get("hooks")
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    for place, group in enumerate(groups if isinstance(groups, list) else ()):
        listed = group.get("hooks") if isinstance(group, dict) else None
        for index, entry in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(entry, dict):
                yield ("hooks", event, place, "hooks", index), entry


def other_hooks(data: Mapping[str, Any]) -> list[str]:
    """What else runs at a stop by these settings."""
    return [_command(entry) for entry in entries(data, "Stop") if ours(entry) is None]


def _command(entry: Mapping[str, Any]) -> str:
    """What a hook runs, as one line; a hook that runs no command by what it asks or calls."""
    arguments = entry.get("args")
    words = arguments if isinstance(arguments, list) else []
    first = next((entry[key] for key in ("command", "prompt", "url", "tool") if entry.get(key)), "")
    return " ".join(str(word) for word in (first, *words))


def parse(line: str, root: str = "") -> Line | None:
    """A command line of ours taken apart, of settings or of the plugin in the folder `root`.

    Ours is what has our shape from end to end: a repository can bring settings of its own, and what only
    names our files may do anything."""
    found = SHAPE.fullmatch(line)
    guard = os.path.join(root, "lib", "hook", "guard.sh") if root else _word(found["guard"] if found else "")
    layouts = tuple(found["layouts"].strip("'").split(" ")) if found else ()
    if found is None or not os.path.isabs(guard) or not set(layouts) <= set(LAYOUTS):
        return None
    written = os.path.join(PLUGIN_ROOT, "lib") if root else os.path.dirname(os.path.dirname(guard))
    own = program.hook_command(written, registration=found["name"], layouts=layouts)
    if root:  # in a plugin's file the client fills in the folder, which single quotes would prevent
        path = os.path.join(written, "hook", "guard.sh")
        own = own.replace(shlex.quote(path), f'"{path}"')
    return Line(guard, found["name"], layouts) if line == (found["on"] or "") + own else None


def _word(text: str) -> str:
    """The one word that a shell would make of this; empty if it is not one."""
    try:
        words = shlex.split(text)
    except ValueError:
        return ""
    return words[0] if len(words) == 1 else ""


def ours(entry: Mapping[str, Any], root: str = "") -> Line | None:
    """Our part in a hook of settings, or of the plugin in the folder `root`; None for any other hook."""
    command = entry.get("command")
    if "args" in entry or entry.get("type", "command") != "command" or not isinstance(command, str):
        return None
    line = parse(command, root)
    return line if line and (line.name == SETTINGS) is not bool(root) else None


def registrations(
    data: Mapping[str, Any], *, scope: str, name: str, events: Sequence[str], root: str = ""
) -> list[Registration]:
    """Our hooks for Stop in one settings file or one plugin, each with the events that it is there for."""
    found: dict[Line, Registration] = {}
    for entry in entries(data, "Stop"):
        line = ours(entry, root)
        if line is not None and line not in found:
            there = [each for each in events if any(ours(one, root) == line for one in entries(data, each))]
            found[line] = Registration(scope, name, line, tuple(there), root)
    return list(found.values())


@dataclass(frozen=True)
class Plugin:
    id: str  # name@marketplace
    settings: Sequence[Settings]  # the files that switch it on
    root: str = ""  # its folder; empty if it is not installed
    hooks: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.id.partition("@")[0]

    @property
    def is_ours(self) -> bool:
        return self.id.partition("@")[2] == MARKET or bool(self.registrations(("Stop",)))

    @property
    def has_stop_hook(self) -> bool:
        return any(entries(self.hooks, "Stop"))

    @property
    def runs_only_ours(self) -> bool:
        """Whether it brings no hook but ours."""
        events = self.hooks.get("hooks")
        listed = [
            one
            for event in (events if isinstance(events, dict) else ())
            for one in entries(self.hooks, event)
        ]
        return bool(listed) and all(ours(entry, self.root) for entry in listed)

    def registrations(self, events: Sequence[str]) -> list[Registration]:
        if not self.root:
            return []
        return registrations(self.hooks, scope="", name=self.id, events=events, root=self.root)


def installed(
    enabled: Mapping[str, Sequence[Settings]], *, config: str, folders: Sequence[str], read: Read
) -> list[Plugin]:
    """The plugins that these settings switch on, with their folders for a session in one of `folders`."""
    known = _object(read, os.path.join(config, "plugins", "installed_plugins.json")).get("plugins")
    markets = _object(read, os.path.join(config, "plugins", "known_marketplaces.json"))
    found = []
    for name, settings in enabled.items():
        rows = known.get(name) if isinstance(known, dict) else None
        root = _source(name, markets, read) or _copy(rows if isinstance(rows, list) else [], folders)
        hooks = _object(read, os.path.join(root, "hooks", "hooks.json")) if root else {}
        found.append(Plugin(name, settings, root, hooks))
    return found


def _copy(rows: Sequence[Any], folders: Sequence[str]) -> str:
    """The installed copy that a session here uses: one made for this project before the person's own."""
    fit = [row for row in rows if isinstance(row, dict) and row.get("projectPath") in (None, *folders)]
    fit.sort(key=lambda row: row.get("projectPath") is None)
    paths = [row["installPath"] for row in fit if isinstance(row.get("installPath"), str)]
    return paths[0] if paths else ""


def _source(name: str, markets: Mapping[str, Any], read: Read) -> str:
    """The folder of a plugin from a directory on this machine: the client reads it in place (2.1.325), and
    2.1.325 does so even if nobody ever installed it."""
    plugin, _, market = name.partition("@")
    known = markets.get(market)
    source = known.get("source") if isinstance(known, dict) else None
    if not isinstance(source, dict) or source.get("source") != "directory":
        return ""
    top = str(source.get("path", ""))
    listed = _object(read, os.path.join(top, ".claude-plugin", "marketplace.json")).get("plugins")
    for row in listed if isinstance(listed, list) else ():
        if isinstance(row, dict) and row.get("name") == plugin and isinstance(row.get("source"), str):
            folder = os.path.normpath(os.path.join(top, row["source"]))
            return folder if folder.startswith(os.path.normpath(top) + os.sep) else ""
    return ""


def _object(read: Read, path: str) -> dict[str, Any]:
    try:
        return jsontext.parse_object(read(path) or "{}")
    except (OSError, ValueError):
        return {}


def known_to_client(env: Mapping[str, str]) -> str:
    """The file in which the client notes what the person has accepted."""
    base = env.get("CLAUDE_CONFIG_DIR") or env.get("HOME") or os.path.expanduser("~")
    return os.path.join(base, ".claude.json")


def is_trusted(folder: str, known: str) -> bool:
    """Whether this folder, or one above it, was accepted; `known` is the text of the client's file."""
    try:
        projects = json.loads(known)["projects"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    if not isinstance(projects, dict):
        return False
    accepted = {
        path
        for path, about in projects.items()
        if isinstance(about, dict) and about.get("hasTrustDialogAccepted") is True
    }
    return any(place in accepted for place in upwards(folder))


def programs_in(folder: str, *, exists: Callable[[str], bool] = os.path.lexists) -> list[str]:
    """The files that would start something, in this folder and up to the top of its repository."""
    found = []
    for place in upwards(folder):
        found += [os.path.join(place, name) for name in PROGRAMS if exists(os.path.join(place, name))]
        if exists(os.path.join(place, ".git")):
            break
    return found


def programs_for_worktrees(main: str, *, exists: Callable[[str], bool] = os.path.lexists) -> list[str]:
    """The files of a main checkout that count in its worktrees, too (2.1.325)."""
    path = os.path.join(main, LOCAL_SETTINGS)
    return [path] if exists(path) else []


def upwards(folder: str) -> Iterator[str]:
    yield folder
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        yield folder
