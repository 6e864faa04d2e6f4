"""The hook under test: its command line for each event, and what it has beside answering stops."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphloop.agents.registry import client
from ralphloop.lab.conformance.case import ANY, REGISTRATIONS, TOOL, Case
from ralphloop.lab.conformance.processes import LIMIT_S
from ralphloop.tasklists.registry import LAYOUTS, traits

PACKAGE = Path(__file__).resolve().parents[2]
_WORD = re.compile(r"[^\s'\"();|&<>$`]+")


@dataclass(frozen=True)
class Hook:
    """A hook that can be asked. `commands` are by layout, of those that it serves, and event."""

    commands: Mapping[str, Mapping[str, str]]
    path: str
    tool: tuple[str, ...] = ()
    limit_s: float = LIMIT_S
    named: bool = False  # whether a registration can be given another name
    env: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def layouts(self) -> tuple[str, ...]:
        return tuple(self.commands)

    def command(self, event: str, layout: str, *, registration: str = "") -> str:
        line = self.commands[self._served(layout)][event]
        return re.sub(r"\brl_as=[\w-]+", lambda _: f"rl_as={registration}", line) if registration else line

    def variables(self, layout: str) -> Mapping[str, str]:
        return self.env.get(self._served(layout), {})

    def _served(self, layout: str) -> str:
        return self.layouts[0] if layout == ANY else layout

    def lacks(self, case: Case) -> str:
        """Why this case is not for this hook; empty if it is."""
        if case.layout != ANY and case.layout not in self.commands:
            return f"layout {case.layout} is not served"
        events = self.commands[self._served(case.layout)]
        for need in case.needs:
            if need == TOOL and not self.tool:
                return "needs the commands of ralphloop (--tool)"
            if need == REGISTRATIONS and not self.named:
                return "needs a name for each registration"
            if need not in (TOOL, REGISTRATIONS) and need not in events:
                return f"needs the event {need}" + ("" if self.named else " (--events)")
        return ""


def foreign(
    command: str,
    *,
    layouts: Sequence[str],
    path: str,
    events: Sequence[str] = (),
    tool: Sequence[str] = (),
    limit_s: float = LIMIT_S,
) -> Hook:
    """Any command line, the same for every event; files that it and the tool's name are those of the
    caller's folder."""
    line = _WORD.sub(lambda found: _in_line(found[0], is_first=found.start() == 0), command)
    commands = {layout: dict.fromkeys(("Stop", *events), line) for layout in layouts}
    words = tuple(_absolute(word, is_first=not place) for place, word in enumerate(tool))
    return Hook(commands, path, tool=words, limit_s=limit_s)


def _in_line(word: str, *, is_first: bool) -> str:
    found = _absolute(word, is_first=is_first)
    return word if found == word else shlex.quote(found)


def _absolute(word: str, *, is_first: bool) -> str:
    is_program = is_first and "/" not in word
    return word if is_program or not os.path.isfile(word) else os.path.abspath(word)


def own(*, layouts: Sequence[str] = LAYOUTS, path: str) -> Hook:
    """Ours: as the plugins register it in a checkout, else as `ralphloop install` would."""
    folder = PACKAGE.parents[1] / "plugins"
    commands, env = {}, {}
    for layout in layouts:
        plugin = folder / traits(layout).plugin
        registered = plugin / "hooks" / "hooks.json"
        if registered.is_file():
            data = json.loads(registered.read_text(encoding="utf-8"))
            env[layout] = {"CLAUDE_PLUGIN_ROOT": str(plugin)}
        else:
            program = client().program
            data = program.hook_settings(program.hook_command(str(PACKAGE)))
        commands[layout] = _lines(data["hooks"], env.get(layout, {}))
    tool = (sys.executable, str(PACKAGE))
    with_python = os.pathsep.join((os.path.dirname(os.path.realpath(sys.executable)), path))
    return Hook(commands, with_python, tool=tool, named=True, env=env)


def _lines(hooks: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """Of each event the first command, with the variables that the client fills in."""
    found = {event: str(groups[0]["hooks"][0]["command"]) for event, groups in hooks.items()}
    for name, value in env.items():
        found = {event: line.replace(f"${{{name}}}", value) for event, line in found.items()}
    return found
