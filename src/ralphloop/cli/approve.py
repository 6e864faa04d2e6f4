"""The command `approve`: the person looks at what changed in a list and at what would run, and allows it."""

from __future__ import annotations

import argparse
import difflib
from typing import NamedTuple

from ralphloop.cli import consent
from ralphloop.cli.book import WAIT_S
from ralphloop.cli.errors import UserError
from ralphloop.cli.here import Here, here, must_go_on, pick
from ralphloop.cli.output import say, say_json
from ralphloop.cli.person import require_person
from ralphloop.evidence import approval, protect
from ralphloop.store import pins, tasks
from ralphloop.store.lock import BusyError
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file
from ralphloop.views.snapshot import state_of


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--yes", action="store_true", help="approve without being asked")
    parser.add_argument("--show", action="store_true", help="only show what waits, change nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop approve
  ralphloop approve shop --show
  ralphloop approve shop --yes

It allows the checks that are new, and adopts your own changes of the list: what it says now holds from
now on. Run it in a terminal of your own; inside the agent's client, type /ralphloop:approve DIGEST.
"""


class Change(NamedTuple):
    """What an approval would change."""

    texts: dict[str, str | None]
    diff: list[str]
    commands: list[str]
    protected: list[protect.Touched]


def run(args: argparse.Namespace) -> int:
    place = here()
    loop = pick(place, args.name)
    if not args.show:
        require_person(place.env, "an approval")
    must_go_on(loop, state_of(loop))
    change = _change(loop)
    nothing = not (change.diff or change.commands or change.protected)
    if not args.json:
        _show(loop, change, nothing=nothing)
    given = not (nothing or args.show) and _ask(args, place, change)
    if given:
        _write(loop, change, by="--yes" if args.yes else "terminal")
    if args.json:
        say_json(_as_json(loop, change, approved=given))
    elif given:
        say(f"Approved. {_what_next(loop)}")
    return 0 if nothing or given or args.show else 1


def _change(loop: LoopFiles) -> Change:
    try:
        listed, texts = tasks.read_source(loop.record)
    except (ValueError, OSError) as error:
        raise UserError(f"the list cannot be read: {error}. Repair {own_file(loop.record)} first.") from None
    commands = approval.waiting(loop, listed)
    touched = protect.Protected(loop, loop.record.root).differing()
    return Change(texts, _diff(loop, texts), commands, touched)


def _diff(loop: LoopFiles, texts: dict[str, str | None]) -> list[str]:
    """How the criteria differ from the pinned ones; claims alone are no difference."""
    role = pins.role_of(loop.record.layout)
    old, new = pins.pinned(loop), texts.get(role)
    if old is None or new is None or not pins.differs(loop.record.layout, old, texts):
        return []
    path = loop.record.paths[role]
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), "pinned", path, lineterm="", n=2))


def _show(loop: LoopFiles, change: Change, *, nothing: bool) -> None:
    if nothing:
        say(f"Nothing in {loop.record.name} waits for your approval.")
        return
    if change.diff:
        say("The criteria differ from the pinned ones:", *change.diff, "")
    if change.protected:
        say("Protected files differ:", *(f"  {entry.path} ({entry.what})" for entry in change.protected), "")
    if change.commands:
        consent.list_commands(change.commands)


def _ask(args: argparse.Namespace, place: Here, change: Change) -> bool:
    if consent.is_given(change.commands, yes=args.yes, env=place.env, what="Approve"):
        return True
    if not args.json and not args.yes:
        say("Nothing is approved. Add --yes where there is no terminal to ask on.")
    return False


def _write(loop: LoopFiles, change: Change, *, by: str) -> None:
    """Adopt exactly what was shown: a list that changed meanwhile is looked at again."""
    try:
        with loop.lock(wait_s=WAIT_S):
            now = _change(loop)
            if now.texts != change.texts or now.commands != change.commands:
                raise UserError("the list changed while you looked; run `ralphloop approve` again.")
            approval.approve(loop, change.commands, by=by, adopt=change.texts)
            protect.pin(loop, loop.record.root)
    except BusyError:
        raise UserError(f"the loop {loop.record.name} is busy with a stop; try again in a moment.") from None


def _what_next(loop: LoopFiles) -> str:
    state = state_of(loop)
    if state.live and state.owner:
        return f"{loop.record.name} goes on: send its session any message if it waits."
    return f"{loop.record.name} is {state.outcome or state.state}."


def _as_json(loop: LoopFiles, change: Change, *, approved: bool) -> dict[str, object]:
    return {
        "loop": loop.record.id,
        "commands": change.commands,
        "digest": approval.digest(change.commands) if change.commands else "",
        "diff": change.diff,
        "protected": [entry.path for entry in change.protected],
        "approved": approved,
    }
