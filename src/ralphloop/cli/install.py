"""The command `install`: register our hooks in the client's settings, and what a loop needs beside them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import takewhile

from ralphloop.agents import claude, registration, settings
from ralphloop.agents.settings import CAP, CAP_NAME, THEIRS, Installed, Wanted
from ralphloop.agents.settings_hooks import ADDED, SAME
from ralphloop.cli import interpreter, scope
from ralphloop.cli.here import Here, here
from ralphloop.cli.output import say, say_json
from ralphloop.domain.limits import PHASE_TURNS
from ralphloop.hook.words import client_cap, command, shown
from ralphloop.store import files
from ralphloop.store.installs import BACKED_UP, BEGAN, FOLDER, SettingsFile

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
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

Everything else in the settings file stays as it is, and `ralphloop uninstall` takes out what this put in.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    with scope.opened(place, args.scope) as file:
        before = scope.usable_text(file)
        cap = _cap_below(place, file.path)
        wanted = _wanted(place, raises_cap=not cap, statusline=args.statusline)
        kept = scope.recorded(file) if before is not None else None
        done = settings.install(before or "", wanted, kept)
        changed = done.text != before
        backed_up = changed and _write(file, done, before=before)
        interpreter.record(place)
    warnings = list(_warnings(done, cap=cap, is_shared=changed and args.scope == scope.PROJECT))
    if args.json:
        say_json(_as_json(args, file, done, changed=changed, backed_up=backed_up, warnings=warnings))
    else:
        for line in _told(done, shown(file.path, place.cwd), changed=changed, wanted=wanted):
            say(line)
        if backed_up:
            say(f"The file as it was: {shown(file.backup, place.cwd)}")
        for warning in warnings:
            say("! " + warning)
        say("Next: `ralphloop doctor` proves that a loop runs here.")
    return 0


def _wanted(place: Here, *, raises_cap: bool, statusline: bool) -> Wanted:
    """The rules are in the words that the hook will tell the agent, under the interpreter that it runs in."""
    word = command(place.env, interpreter.real())
    return Wanted(
        hook=claude.hook_command(PACKAGE),
        rules=tuple(f"Bash({word} {claim}:*)" for claim in CLAIMS),
        statusline=claude.statusline_command(PACKAGE),
        raised=raises_cap,
        shown=statusline,
    )


def _cap_below(place: Here, path: str) -> str:
    """The cap that the person set where this file's would win over it; empty if none."""
    found = place.env.get(CAP_NAME, "")
    config = os.path.abspath(registration.config_folder(place.env))
    paths = registration.settings_paths(config, [place.project])
    below = takewhile(lambda scoped: scoped[1] != path, paths)
    for each in registration.load(below, files.read_text):
        env = each.data.get("env")
        if isinstance(env, dict) and CAP_NAME in env:
            found = str(env[CAP_NAME])
    return found


def _write(file: SettingsFile, done: Installed, *, before: str | None) -> bool:
    """Whether a backup was made."""
    known = file.record() or {}
    record = {
        **done.ours.to_json(),
        **{key: known[key] for key in (FOLDER, BACKED_UP, BEGAN) if key in known},
    }
    is_blank = settings.is_blank(before)
    if is_blank:
        record[BEGAN] = before
    try:
        return file.install(done.text, record, backup=None if is_blank else before)
    except OSError as error:
        raise scope.cannot_write(file, error) from None


def _told(done: Installed, path: str, *, changed: bool, wanted: Wanted) -> Iterator[str]:
    if not changed:
        yield f"Nothing had to change in {path}."
        return
    yield f"Changed {path}:"
    if done.hooks != SAME:
        done_so = "registered" if done.hooks == ADDED else "brought up to date"
        yield f"The hooks are {done_so}: {', '.join(claude.EVENTS)}."
    if done.rules != SAME:
        yield f"The agent may run without asking you: {', '.join(wanted.rules)}"
    if done.cap == ADDED:
        yield f"{CAP_NAME} is {CAP}: so many plain replies in a row may be sent on."
    if done.statusline not in (SAME, THEIRS):
        yield "The status line shows the loop."


def _warnings(done: Installed, *, cap: str, is_shared: bool) -> Iterator[str]:
    value = settings.cap_in(done.text) or cap
    if done.cap == THEIRS and 0 < client_cap({CAP_NAME: value}) <= PHASE_TURNS:
        yield (
            f"{CAP_NAME} is {value} by your own setting, which stays: the client may end a turn before the "
            f"loop does; {PHASE_TURNS + 1} or more is safe, 0 is no cap."
        )
    if done.statusline == THEIRS:
        yield "`statusLine` is yours and stays; pipe its stdin to `ralphloop statusline` to show the loop."
    if is_shared:
        yield "this file is shared, and names paths of this machine now; --scope local keeps them out of it."


def _as_json(
    args: argparse.Namespace,
    file: SettingsFile,
    done: Installed,
    *,
    changed: bool,
    backed_up: bool,
    warnings: list[str],
) -> dict[str, object]:
    return {
        "scope": args.scope,
        "path": file.path,
        "changed": changed,
        "hooks": done.hooks,
        "rules": done.rules,
        "cap": done.cap,
        "statusline": done.statusline,
        "backup": file.backup if backed_up else None,
        "warnings": warnings,
    }
