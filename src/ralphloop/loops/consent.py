"""The person's consent: what would run, what changed in a list, and the approval of exactly that."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ralphloop import config
from ralphloop.domain.model import NEEDS_APPROVAL, PAUSED
from ralphloop.domain.prompt import count
from ralphloop.errors import ProtectedChangedError, UserError
from ralphloop.loops.opened import locked, must_go_on
from ralphloop.loops.place import UNDER_WAY, Place, choose, pick, require_person
from ralphloop.loops.result import Quoted, Result, Tell, quiet
from ralphloop.proof import approval, protect
from ralphloop.store import approvals, pins, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Record, Shelf
from ralphloop.tasklists import registry
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.restoring import pair
from ralphloop.tasklists.source import Source
from ralphloop.views import json_slip

# how the person said it, as the journal has it
YES, TERMINAL, PROGRAM = "--yes", "terminal", "program"


class Approval(NamedTuple):
    """What the person was shown and allows, and how they said so."""

    commands: tuple[str, ...]
    by: str = PROGRAM


class Change(NamedTuple):
    """What an approval would change."""

    name: str
    loop: LoopFiles | None
    source: Source | Record
    texts: dict[str, str | None]
    diff: list[str]
    commands: list[str]
    protected: list[protect.Touched]
    files: dict[str, str]  # the protected ones, as they were when this was shown
    is_half: bool = False  # approved already, but the loop was not let go on: something broke off in between

    @property
    def is_any(self) -> bool:
        return bool(self.diff or self.commands or self.protected or self.is_half)

    @property
    def told(self) -> list[str]:
        """What the person looks at before they allow it."""
        if not self.is_any:
            return [f"Nothing in {self.name} waits for your approval."]
        lines = ["The list differs from what was pinned at the start:", *self.diff, ""] if self.diff else []
        if self.protected:
            touched = (f"  {entry.path} ({entry.what})" for entry in self.protected)
            lines += ["Protected files differ:", *touched, ""]
        lines += listing(self.commands) if self.commands else []
        if self.is_half:
            lines.append(f"The checks of {self.name} are approved, but it still waits for them.")
        return lines

    @property
    def next(self) -> str:
        """What becomes of it as long as the person only looks."""
        kept = [*(["the list"] if self.diff else []), *(["the protected files"] if self.protected else [])]
        back = f", and a stop may put {' and '.join(kept)} back" if kept else ""
        how = f"`ralphloop approve {self.name}` allows it"
        return f"This is only shown. {how}; until then it does not count{back}."

    def result(self, *, approved: bool, code: int = 0) -> Result:
        facts = {
            "name": self.name,
            "loop": self.loop.record.id if self.loop is not None else None,
            "commands": self.commands,
            "digest": approval.digest(self.commands) if self.commands else "",
            "diff": self.diff,
            "protected": [entry.path for entry in self.protected],
            "approved": approved,
        }
        told = (f"Approved. {_what_next(self.name, self.loop)}",) if approved else ()
        return Result(facts, told, code)


def waiting_change(place: Place, name: str | None = None) -> Change:
    """What in a loop, or in a list without one, waits for the person's approval."""
    loop = _loop(place, name)
    source = loop.record if loop is not None else choose(place, name)
    must_count(Shelf(source.root, place.env))
    return _change(place, source, loop)


def must_count(here: Shelf) -> None:
    """An error where no approval would count."""
    void = approvals.why_void(here)
    if void:
        raise UserError(void + ".")


def approve(place: Place, change: Change, *, by: str = PROGRAM, told: Tell = quiet) -> Result:
    """Adopt exactly what was shown: what changed meanwhile is looked at again. Checks that are new are tried
    once on the tree that the loop began with."""
    require_person(place.env, "an approval")
    here, loop, source = Shelf(change.source.root, place.env), change.loop, change.source
    if loop is None:
        approvals.approve(here, change.commands, by=by)
        return change.result(approved=True)
    try:
        with locked(loop):
            if _change(place, source, loop) != change:
                raise ProtectedChangedError
            patterns = _patterns(place, source, change.texts)
            protect.Protected(loop, source.root).pin(patterns, seen=change.files)
            approval.approve(loop, change.commands, by=by, env=place.env, adopt=change.texts)
    except ProtectedChangedError:
        raise UserError("something changed while you looked; run `ralphloop approve` again.") from None
    from ralphloop.loops import proving  # nobody else who asks for consent needs it

    notes = proving.try_first(loop, tasks.parse_source(source), env=place.env, told=told)
    new = [f"! {note.said}." for note in notes]
    approved = change.result(approved=True)
    return approved._replace(messages=(*approved.messages, *new))


def listing(commands: Sequence[str], *, already: int = 0) -> list[str]:
    """The commands that would run, as the person is shown them."""
    what = count(len(commands), "command")
    lines = [f"To prove the tasks, ralphloop would run {what} here, as you:"]
    for command in commands:
        first, *rest = command.split("\n")
        lines += [f"  $ {first}", *(Quoted(f"    {line}") for line in rest)]
    return [*lines, f"({already} more you approved before.)"] if already else lines


def _loop(place: Place, name: str | None) -> LoopFiles | None:
    """The loop that is meant; none where a list has commands and no loop was started over it yet."""
    running = place.loops(*UNDER_WAY)
    if not running and (name is None or all(name != loop.record.name for loop in place.loops(shelf.ENDED))):
        return None
    loop = pick(place, name)
    must_go_on(loop, loop.state())
    return loop


def _patterns(place: Place, source: Source | Record, texts: Mapping[str, str | None]) -> list[str]:
    """What the list protects."""
    extra = config.load(source.root, place.env).get("criteria")
    return protect.patterns_in(source.layout, texts, root=source.root, extra=extra)


def _change(place: Place, source: Source | Record, loop: LoopFiles | None) -> Change:
    try:
        listed, texts = tasks.read_source(source)
    except (ValueError, OSError) as error:
        why = json_slip.fault(source, error).rstrip(".")
        raise UserError(f"the list cannot be read: {why}. Repair {own_file(source)} first.") from None
    commands = approvals.unapproved(Shelf(source.root, place.env), listed)
    if loop is None:
        return Change(source.name, None, source, texts, [], commands, [], {})
    protected = protect.Protected(loop, source.root)
    seen = protected.snapshot(_patterns(place, source, texts))
    waits = loop.record.unapproved or loop.state().outcome == NEEDS_APPROVAL
    differing, is_half = protected.differing(), waits and not commands
    return Change(source.name, loop, source, texts, _diff(loop, texts), commands, differing, seen, is_half)


def _diff(loop: LoopFiles, texts: dict[str, str | None]) -> list[str]:
    """How the criteria differ from the pinned ones; claims alone are no difference."""
    role = registry.traits(loop.record.layout).criteria
    old, new = pins.pinned(loop), texts.get(role)
    if old is None or new is None or not pins.differs(loop.record.layout, old, texts):
        return []
    path = loop.record.paths[role]
    old = _with_claims(loop.record.layout, old, texts=texts)
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), "pinned", path, lineterm="", n=2))


def _with_claims(layout: str, pinned: str, *, texts: dict[str, str | None]) -> str:
    """The pinned list with what was claimed since: that is the loop's own doing, and not to be approved."""
    of, role = registry.layout(layout), registry.traits(layout).criteria
    before: dict[str, str | None] = {**texts, role: pinned}
    then, now = of.parse(before).tasks, of.parse(texts).tasks
    pairs = list(enumerate(pair(then, now)))
    for done in (True, False):
        changed = [
            at for at, at_now in pairs if at_now >= 0 and now[at_now].done is done is not then[at].done
        ]
        before.update(of.mark(before, *changed, done=done))
    return before[role] or pinned


def _what_next(name: str, loop: LoopFiles | None) -> str:
    if loop is None:
        return f"`ralphloop start {name}` begins the loop."
    state = loop.state()
    if state.live and state.owner:
        return f"{name} goes on: send its session any message if it waits."
    if state.state == PAUSED:
        return f"{name} is still paused; `ralphloop resume {name}` goes on."
    return f"{name} is {state.outcome or state.state}."
