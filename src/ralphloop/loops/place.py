"""What can be seen from a folder: loops, task lists, and the session that stands there."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralphloop import spelling
from ralphloop.domain.model import COMPLETE, FINAL, SESSION_VARIABLE, LoopState
from ralphloop.engine import find
from ralphloop.errors import UserError
from ralphloop.loops import elsewhere
from ralphloop.store import files, shelf
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import LAYOUTS, own_file
from ralphloop.tasklists.source import Source

UNDER_WAY = (shelf.OWNED, shelf.ARMED)
MARKS = (".ralph", ".git")  # of a project's folder


class Place:
    """With `writes` off, what is only looked at here is not touched by the look."""

    def __init__(self, cwd: str, env: Mapping[str, str], *, writes: bool = True) -> None:
        self.cwd = os.path.abspath(cwd)
        self.env = env
        self.writes = writes
        self.roots = find.roots(self.cwd, env)
        self.shelves = [Shelf(root, env) for root in self.roots]

    @property
    def session(self) -> str | None:
        """The session whose tool or prompt runs this command, if a client says so."""
        said = self.env.get(SESSION_VARIABLE) or ""
        return said if said and files.file_name(said) else None

    @property
    def project(self) -> str:
        """The nearest folder that is a project, else this one."""
        for root in self.roots:
            if any(os.path.exists(os.path.join(root, mark)) for mark in MARKS):
                return root
            if root == os.path.dirname(root):
                break
        return os.path.realpath(self.cwd)

    def loops(self, *kinds: str) -> list[LoopFiles]:
        """The loops recorded as such, nearest project first."""
        return [
            LoopFiles(record, here, writes=self.writes)
            for here in self.shelves
            for kind in kinds
            for record in here.records(kind)
        ]

    def sources(self) -> list[Source]:
        """Every task list that can be seen from here, nearest first."""
        roots = self.roots
        if os.path.isabs(self.env.get("RALPH_LOOP_DIR") or ""):
            roots = [self.project]  # the folder is the same from anywhere, the loop belongs to the project
        found: dict[str, Source] = {}
        for root in roots:
            for layout in LAYOUTS:
                for source in find.locate(layout, root, self.env):
                    found.setdefault(os.path.realpath(own_file(source)), source)
        return list(found.values())

    def owned_by(self, session: str) -> LoopFiles | None:
        for here in self.shelves:
            record = here.owned_by(session)
            if record is not None:
                return LoopFiles(record, here, writes=self.writes)
        return None


def here(*, writes: bool = True) -> Place:
    try:
        return Place(os.getcwd(), os.environ, writes=writes)
    except FileNotFoundError:
        raise UserError("the current folder is gone; change to your project first.") from None


def pick(place: Place, name: str | None, *, ended: bool = True, live: bool = False) -> LoopFiles:
    """The loop that a command is about; `ended` also takes one that is over if none is under way, `live` the
    one that does not rest if only one does not."""
    if name is not None:
        return _named(place, name)
    found = place.loops(*UNDER_WAY)
    running = [loop for loop in found if not loop.is_over] or found
    if live:
        running = [loop for loop in running if loop.state().live] or running
    if len(running) == 1:
        return running[0]
    if running:
        mine = [loop for loop in running if place.session and loop.record.session == place.session]
        if len(mine) == 1:
            return mine[0]
        raise UserError(
            "several loops are under way here, and you named none; name one of: " + _names(running)
        )
    over = _latest(place.loops(shelf.ENDED)) if ended else []
    resumable = [loop for loop in over if loop.state().outcome not in FINAL]
    if len(resumable) > 1:
        raise UserError("no loop is under way here; name one of those that ended: " + _names(resumable))
    if over:
        return (resumable or over)[0]
    raise UserError(f"no loop is under way in {place.project}; {_begin(place)}.")


def _named(place: Place, name: str) -> LoopFiles:
    everything = place.loops(*UNDER_WAY, shelf.ENDED)
    exact = [loop for loop in everything if loop.record.id == name]
    if exact:
        return exact[0]
    called = [loop for loop in everything if loop.record.name == name]
    if called:
        running = [loop for loop in place.loops(*UNDER_WAY) if loop.record.name == name]
        if len(running) > 1:
            raise UserError(f"several loops are called {name}; name one by its id: {_ids(running)}")
        return (running or _latest(called))[0]
    begun = [loop for loop in everything if loop.record.id.startswith(name)]
    if len(begun) > 1:
        raise UserError(f"several loops begin with {name}: {_ids(begun)}")
    if begun:
        return begun[0]
    known = sorted({loop.record.name for loop in everything})
    told = "" if spelling.near(name, known) else elsewhere.hint(place.env, place.roots, name=name)
    told = f"{told}." if told else spelling.or_known(name, known, else_=_begin(place, name))
    raise UserError(f"there is no loop {name} here; {told}")


def _begin(place: Place, name: str | None = None) -> str:
    """What to type where there is no loop: go where one is, begin one over a list, or make a list first."""
    found = [source.name for source in place.sources()]
    wanted = name if name in found else found[0] if len(found) == 1 else None
    if wanted:
        return f"`ralphloop start {wanted}` begins one"
    if found:
        return f"`ralphloop start NAME` begins one over a task list: {', '.join(found[:12])}"
    return elsewhere.begin(place.env, place.roots, name=name)


def last_over(place: Place, source: Source) -> LoopFiles | None:
    """The newest loop over this list that has ended."""
    left = [loop for loop in place.loops(*UNDER_WAY) if loop.is_over]  # whose record could not be moved
    loops = [*place.loops(shelf.ENDED), *left]
    ended = [loop for loop in loops if own_file(loop.record) == own_file(source)]
    return max(ended, key=begun, default=None)


def _latest(loops: list[LoopFiles]) -> list[LoopFiles]:
    """The newest loop of each task list, newest first."""
    newest: dict[str, LoopFiles] = {}
    for loop in sorted(loops, key=begun, reverse=True):
        newest.setdefault(own_file(loop.record), loop)
    return list(newest.values())


def begun(loop: LoopFiles) -> tuple[str, str]:
    return loop.record.armed_at, loop.record.id


def _names(loops: list[LoopFiles]) -> str:
    names = [loop.record.name for loop in loops]
    return ", ".join(names) if len(set(names)) == len(names) else _ids(loops)


def _ids(loops: list[LoopFiles]) -> str:
    return ", ".join(loop.record.id for loop in loops)


def must_not_be_anothers(place: Place, loop: LoopFiles) -> None:
    """An agent speaks for its own session's loop only; the person, outside a client, for any."""
    owner = loop.record.session
    if place.session and owner and owner != place.session:
        name = loop.record.name
        raise UserError(f"the loop {name} belongs to session {owner}, not to this one ({place.session}).")


def must_go_on(loop: LoopFiles, state: LoopState) -> None:
    """Refuse to change a loop that is over for good."""
    if state.outcome in FINAL:
        name, more = loop.record.name, ""
        if state.outcome == COMPLETE:
            more = f"every task is done: add one to {own_file(loop.record)}, then "
        raise UserError(
            f"the loop {name} is {state.outcome}; {more}`ralphloop start {name}` begins a new one."
        )
