"""The command `uninstall`: take out of the client's settings what `install` put in, and nothing else."""

from __future__ import annotations

import argparse
from functools import partial

from ralphloop.agents.registration import Removed
from ralphloop.agents.registry import client
from ralphloop.cli import scope
from ralphloop.cli.output import say_json, tell
from ralphloop.engine.words import shown
from ralphloop.loops.place import here
from ralphloop.store.installs import BEGAN, SettingsFile


def configure(parser: argparse.ArgumentParser) -> None:
    scope.add_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop uninstall
  ralphloop uninstall --scope user

Loops and task lists stay as they are; without the hooks no agent is sent on.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    with scope.opened(place, args.scope) as file:
        removed, is_gone, backup = scope.settled(file, partial(_uninstall, file))
    if args.json:
        told = {"removed": removed.gone, "left": removed.left, "file_gone": is_gone, "backup": backup or None}
        say_json({"scope": args.scope, "path": file.path, **told})
        return 0
    path = shown(file.path, place.cwd)
    for what in removed.gone:
        tell(f"{path}: took out {what}.")
    if not removed.gone:
        tell(f"Nothing that is known to be ours is in {path}.")
    if is_gone:
        tell(f"{path} held nothing else and is gone.")
    if removed.left:
        tell(f"! Nothing tells whether these are yours, so they stay in {path}: {', '.join(removed.left)}")
    if backup:
        tell(f"The file as it was before the first install: {shown(backup, place.cwd)}")
    return 0


def _uninstall(file: SettingsFile) -> tuple[Removed, bool, str]:
    """What was taken out, whether the file is gone, and the backup that stays."""
    before = scope.usable_text(file)
    removed = _removed(file, before)
    text = _rest(file, removed) if before is not None else None
    return removed, before is not None and text is None, file.uninstall(before, text)


def _removed(file: SettingsFile, before: str | None) -> Removed:
    settings = client().settings
    if before is None or settings.is_blank(before):
        return Removed([], [], before or "")
    return settings.uninstall(before, scope.recorded(file))


def _rest(file: SettingsFile, removed: Removed) -> str | None:
    """What is to be left of the file: of one that we began, what was there before."""
    record = file.record() or {}
    if BEGAN not in record or not removed.gone or not client().settings.is_empty(removed.text):
        return removed.text
    began = record[BEGAN]
    return began if isinstance(began, str) else None
