"""The command `install`: register our hooks in the client's settings, and what a loop needs beside them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from ralphloop.agents.registration import ADDED, CAP, SAME, THEIRS, Installed, Wanted
from ralphloop.agents.registry import client
from ralphloop.cli import scope
from ralphloop.cli.output import say_json, tell
from ralphloop.engine.words import command, shown
from ralphloop.loops.place import Place, here
from ralphloop.loops.setup import CAP_RAISED, CAP_REPAIR, PACKAGE, cap_in, cap_told, is_low, record_programs
from ralphloop.store import files
from ralphloop.store.installs import BACKED_UP, BEGAN, FOLDER, GUARD, WHOLE, SettingsFile

CLAIMS = ("done", "ask")  # what a loop asks of the agent


def configure(parser: argparse.ArgumentParser) -> None:
    scope.add_options(parser)
    parser.add_argument(
        "--statusline", action="store_true", help="also show the loop in the client's status line"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop install
  ralphloop install --scope user --statusline
  ralphloop install --scope project

Everything else in the settings file stays as it is, and `ralphloop uninstall`
takes out what this put in.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    with scope.opened(place, args.scope) as file:
        said = scope.settled(file, partial(_install, place, file, statusline=args.statusline))
        record_programs(place)
    is_shared = said.changed and args.scope == scope.PROJECT
    warnings = list(_warnings(said.done, value=said.cap, is_shared=is_shared))
    if args.json:
        say_json(_as_json(args.scope, file.path, said=said, warnings=warnings))
        return 0
    for line in _told(said, shown(file.path, place.cwd)):
        tell(line)
    if said.backup:
        tell(f"The file as it was: {shown(said.backup, place.cwd)}")
    for warning in warnings:
        tell("! " + warning)
    tell("Next: `ralphloop doctor` proves that a loop runs here.")
    return 0


@dataclass(frozen=True)
class Said:
    """What came of an installation; `cap` is the one that holds now, `backup` the one that was made."""

    done: Installed
    wanted: Wanted
    changed: bool
    cap: str
    backup: str


def _install(place: Place, file: SettingsFile, *, statusline: bool) -> Said:
    before = scope.usable_text(file)
    below = _cap_below(place, file.path)
    wanted = _wanted(place, raises_cap=not below, statusline=statusline)
    kept = scope.recorded(file) if before is not None else None
    settings = client().settings
    done = settings.install(before or "", wanted, kept)
    changed = done.text != before
    backup = _write(file, done, before=before) if changed else ""
    return Said(done, wanted, changed, settings.cap_in(done.text) or below, backup)


def _wanted(place: Place, *, raises_cap: bool, statusline: bool) -> Wanted:
    """The rules are in the words that the hook will tell the agent, under the interpreter that it runs in."""
    word, agent = command(place.env), client()
    return Wanted(
        hook=agent.program.hook_command(PACKAGE),
        rules=tuple(agent.settings.rule(f"{word} {claim}") for claim in CLAIMS),
        statusline=agent.program.statusline_command(PACKAGE),
        raised=raises_cap,
        shown=statusline,
    )


def _cap_below(place: Place, path: str) -> str:
    """The cap that the person set where this file's would win over it; empty if none."""
    registration = client().registration
    paths = registration.settings_paths(place.env, [place.project])
    below = takewhile(lambda scoped: scoped[1] != path, paths)
    return cap_in(place.env, registration.load(below, files.read_text))


def _write(file: SettingsFile, done: Installed, *, before: str | None) -> str:
    """The backup, if one was made."""
    known = file.record() or {}
    record = {
        **done.ours.to_json(),
        **{key: known[key] for key in (FOLDER, BACKED_UP, BEGAN) if key in known},
        GUARD: os.path.join(PACKAGE, "hook", "guard.sh"),
    }
    is_blank = client().settings.is_blank(before)
    if is_blank:
        record[BEGAN] = before
    if is_blank or known.get(WHOLE) == before:
        record[WHOLE] = done.text
    return file.install(before, done.text, record, keep=not is_blank)


def _told(said: Said, path: str) -> Iterator[str]:
    done = said.done
    if not said.changed:
        yield f"Nothing had to change in {path}."
        return
    yield f"Changed {path}:"
    if done.hooks != SAME:
        done_so = "registered" if done.hooks == ADDED else "brought up to date"
        yield f"The hooks are {done_so}: {', '.join(client().program.EVENTS)}."
    if done.rules != SAME:
        yield f"The agent may run without asking you: {', '.join(said.wanted.rules)}"
    if done.cap == ADDED:
        yield f"{CAP_RAISED}: {cap_told(CAP)}."
    if done.statusline not in (SAME, THEIRS):
        yield "The status line shows the loop."


def _warnings(done: Installed, *, value: str, is_shared: bool) -> Iterator[str]:
    if done.cap == THEIRS and is_low(value):
        yield f"{cap_told(value)}. That is your own setting, which stays: {CAP_REPAIR}."
    if done.statusline == THEIRS:
        yield "`statusLine` is yours and stays; pipe its stdin to `ralphloop statusline` to show the loop."
    if is_shared:
        yield "this file is shared, and names paths of this machine now; --scope local keeps them out of it."


def _as_json(wanted: str, path: str, *, said: Said, warnings: list[str]) -> dict[str, object]:
    return {
        "scope": wanted,
        "path": path,
        "changed": said.changed,
        "hooks": said.done.hooks,
        "rules": said.done.rules,
        "cap": said.done.cap,
        "statusline": said.done.statusline,
        "backup": said.backup or None,
        "warnings": warnings,
    }
