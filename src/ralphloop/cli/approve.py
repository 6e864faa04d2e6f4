"""The command `approve`: the person looks at what changed in a list and at what would run, and allows it."""

from __future__ import annotations

import argparse
import difflib
from typing import NamedTuple

from ralphloop.cli import consent
from ralphloop.cli.book import locked
from ralphloop.cli.choice import choose
from ralphloop.cli.here import UNDER_WAY, Here, here, must_go_on, pick
from ralphloop.cli.output import say, say_json
from ralphloop.cli.person import require_person
from ralphloop.domain.model import NEEDS_APPROVAL, PAUSED
from ralphloop.errors import ProtectedChangedError, UserError
from ralphloop.evidence import approval, protect
from ralphloop.store import approvals, pins, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Record, Shelf
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source


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
    files: dict[str, str]  # the protected ones, as they were when this was shown
    is_half: bool = False  # approved already, but the loop was not let go on: something broke off in between

    @property
    def is_any(self) -> bool:
        return bool(self.diff or self.commands or self.protected or self.is_half)


def run(args: argparse.Namespace) -> int:
    place = here()
    if not args.show:
        require_person(place.env, "an approval")
    loop = _loop(place, args.name)
    source = loop.record if loop is not None else choose(place, args.name)
    change = _change(source, Shelf(source.root, place.env), loop)
    if not args.json:
        _show(source.name, change)
    given = change.is_any and not args.show and _ask(args, place)
    if given:
        _write(source, place, change, loop=loop, by="--yes" if args.yes else "terminal")
    if args.json:
        say_json(_as_json(source.name, change, loop=loop, approved=given))
    elif given:
        say(f"Approved. {_what_next(source.name, loop)}")
    return 0 if given or args.show or not change.is_any else 1


def _loop(place: Here, name: str | None) -> LoopFiles | None:
    """The loop that is meant; none where a list has commands and no loop was started over it yet."""
    running = place.loops(*UNDER_WAY)
    if not running and (name is None or all(name != loop.record.name for loop in place.loops(shelf.ENDED))):
        return None
    loop = pick(place, name)
    must_go_on(loop, loop.state())
    return loop


def _change(source: Source | Record, here_: Shelf, loop: LoopFiles | None) -> Change:
    try:
        listed, texts = tasks.read_source(source)
    except (ValueError, OSError) as error:
        raise UserError(f"the list cannot be read: {error}. Repair {own_file(source)} first.") from None
    commands = approvals.unapproved(here_, listed)
    if loop is None:
        return Change(texts, [], commands, [], {})
    protected = protect.Protected(loop, source.root)
    seen = protected.snapshot(protect.patterns_in(source.layout, texts))
    waits = loop.record.unapproved or loop.state().outcome == NEEDS_APPROVAL
    return Change(texts, _diff(loop, texts), commands, protected.differing(), seen, waits and not commands)


def _diff(loop: LoopFiles, texts: dict[str, str | None]) -> list[str]:
    """How the criteria differ from the pinned ones; claims alone are no difference."""
    role = pins.role_of(loop.record.layout)
    old, new = pins.pinned(loop), texts.get(role)
    if old is None or new is None or not pins.differs(loop.record.layout, old, texts):
        return []
    path = loop.record.paths[role]
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), "pinned", path, lineterm="", n=2))


def _show(name: str, change: Change) -> None:
    if not change.is_any:
        say(f"Nothing in {name} waits for your approval.")
        return
    if change.diff:
        say("The criteria differ from the pinned ones:", *change.diff, "")
    if change.protected:
        say("Protected files differ:", *(f"  {entry.path} ({entry.what})" for entry in change.protected), "")
    if change.commands:
        consent.list_commands(change.commands)
    if change.is_half:
        say(f"The checks of {name} are approved, but it still waits for them.")


def _ask(args: argparse.Namespace, place: Here) -> bool:
    if consent.is_given(yes=args.yes, shown=not args.json, env=place.env, what="Approve"):
        return True
    if not args.json:
        say("Nothing is approved. `--yes` approves without asking.")
    return False


def _write(source: Source | Record, place: Here, change: Change, *, loop: LoopFiles | None, by: str) -> None:
    """Adopt exactly what was shown: what changed meanwhile is looked at again."""
    here_ = Shelf(source.root, place.env)
    if loop is None:
        approvals.approve(here_, change.commands, by=by)
        return
    try:
        with locked(loop):
            if _change(source, here_, loop) != change:
                raise ProtectedChangedError
            patterns = protect.patterns_in(source.layout, change.texts)
            protect.Protected(loop, source.root).pin(patterns, seen=change.files)
            approval.approve(loop, change.commands, by=by, adopt=change.texts)
    except ProtectedChangedError:
        raise UserError("something changed while you looked; run `ralphloop approve` again.") from None


def _what_next(name: str, loop: LoopFiles | None) -> str:
    if loop is None:
        return f"`ralphloop start {name}` begins the loop."
    state = loop.state()
    if state.live and state.owner:
        return f"{name} goes on: send its session any message if it waits."
    if state.state == PAUSED:
        return f"{name} is still paused; `ralphloop resume {name}` goes on."
    return f"{name} is {state.outcome or state.state}."


def _as_json(name: str, change: Change, *, loop: LoopFiles | None, approved: bool) -> dict[str, object]:
    return {
        "name": name,
        "loop": loop.record.id if loop is not None else None,
        "commands": change.commands,
        "digest": approval.digest(change.commands) if change.commands else "",
        "diff": change.diff,
        "protected": [entry.path for entry in change.protected],
        "approved": approved,
    }
