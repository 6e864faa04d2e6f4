"""What can be seen from a folder: loops, task lists, which of them is meant, and who stands there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping

from ralphloop import spelling
from ralphloop.agents.registry import agent_in
from ralphloop.domain.model import EXECUTION, FINAL, SESSION_VARIABLE
from ralphloop.engine import claim, find
from ralphloop.errors import UserError
from ralphloop.loops.result import Tell, quiet
from ralphloop.store import files, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import LAYOUTS, own_file, traits
from ralphloop.tasklists.source import Source

UNDER_WAY = (shelf.OWNED, shelf.ARMED)
MARKS = (".ralph", ".git")  # of a project's folder
FOLDERS_MAX = 50_000  # of the state directory that one look goes through
KEPT = "@ralph"  # in a folder of the state directory: there are loops of the project
SHOWN = 3


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
        return said if is_session(said) else None

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
        # a folder that is named is the same from anywhere, and the loop belongs to the project
        roots = [self.project] if self._names_folder else self.roots
        found: dict[str, Source] = {}
        for root in roots:
            for layout in LAYOUTS:
                for source in find.locate(layout, root, self.env):
                    found.setdefault(os.path.realpath(own_file(source)), source)
        return list(found.values())

    def nearest_sources(self) -> list[Source]:
        """The lists of the nearest place of each layout, those whose own file exists."""
        if self._names_folder:
            found = self.sources()
        else:
            call = find.Call(registration="", layouts=LAYOUTS, env=self.env, cwd=self.cwd)
            found = list(claim.sources(self.cwd, call))
        return [source for source in found if files.signature(own_file(source))] or found

    @property
    def _names_folder(self) -> bool:
        return any(os.path.isabs(self.env.get(traits(name).chosen_by) or "") for name in LAYOUTS)

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


def is_session(text: str) -> bool:
    """Whether a record can be kept under this session id."""
    return bool(text and files.file_name(text))


def must_be_session(text: str | None) -> None:
    if text is not None and not is_session(text):
        raise UserError(f"{text[:40]!r} cannot be a session id; leave it out, or name another.")


def require_person(env: Mapping[str, str], what: str) -> None:
    """Refuse inside a coding agent's tools what only the person may do."""
    client = agent_in(env)
    if client:
        raise UserError(
            f"{what} is the person's to decide, and this runs inside {client}; "
            "the person must run it in their own terminal, or type its slash command where there is one."
        )


def pick(place: Place, name: str | None, *, ended: bool = True, live: bool = False) -> LoopFiles:
    """The loop that a command is about; `ended` also takes one that is over if none is under way, `live` the
    one that does not rest if only one does not."""
    if name is not None:
        return _loop_named(place, name)
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
    raise UserError(f"no loop is under way in {place.project}; {_how_to_start(place)}.")


def _loop_named(place: Place, name: str) -> LoopFiles:
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
    told = _instead(place, name, known, else_=_how_to_start(place, name))
    raise UserError(f"there is no loop {name} here; {told}")


def _names(loops: list[LoopFiles]) -> str:
    names = [loop.record.name for loop in loops]
    return ", ".join(names) if len(set(names)) == len(names) else _ids(loops)


def _ids(loops: list[LoopFiles]) -> str:
    return ", ".join(loop.record.id for loop in loops)


def _how_to_start(place: Place, name: str | None = None) -> str:
    """What to type where there is no loop: go where one is, begin one over a list, or make a list first."""
    found = [source.name for source in place.sources()]
    wanted = name if name in found else found[0] if len(found) == 1 else None
    if wanted:
        return f"`ralphloop start {wanted}` begins one"
    if found:
        return f"`ralphloop start NAME` begins one over a task list: {', '.join(found[:12])}"
    return nothing_here(place, name)


def choose(place: Place, name: str | None) -> Source:
    """The task list that is meant: the one that is named, or the only one with work left."""
    if name is not None:
        return _list_named(place, name)
    found = place.nearest_sources()
    if not found:
        raise UserError(f"there is no task list here; {nothing_here(place)}.")
    if len(found) > 1:
        found = [source for source in found if _is_open(source)] or found
    if len(found) > 1:
        raise UserError("there are several task lists here; name one of: " + ", ".join(_said(found)))
    return found[0]


def _list_named(place: Place, name: str) -> Source:
    everything = place.sources()
    found = [source for source in everything if name in (source.name, f"{source.layout}:{source.name}")]
    if not found:
        _must_be_there(place, name)
        told = _instead(place, name, _said(everything), else_=f"`ralphloop new {name}` creates one")
        raise UserError(f"there is no task list {name} in {place.project}; {told}")
    near = [source for source in found if source.root == found[0].root]
    if len({source.layout for source in near}) > 1:
        choices = ", ".join(f"{source.layout}:{source.name}" for source in near)
        raise UserError(f"several task lists are called {name}; name one of: {choices}")
    return near[0]


def _must_be_there(place: Place, name: str) -> None:
    """A loop rests here, and its list is gone: deleted, or on another branch."""
    for loop in place.loops(*UNDER_WAY):
        if loop.record.name == name:
            path = os.path.relpath(own_file(loop.record), place.cwd)
            back = f"`git switch` to the branch that has it, or `git checkout HEAD -- {path}`"
            gone = f"the loop {name} is here, but not its list ({path})"
            raise UserError(f"{gone}: bring it back ({back}), or `ralphloop cancel {name}`.")


def _said(sources: list[Source]) -> list[str]:
    names = [source.name for source in sources]
    return [
        source.name if names.count(source.name) == 1 else f"{source.layout}:{source.name}"
        for source in sources
    ]


def _is_open(source: Source) -> bool:
    """Whether a task of it is open; in one that cannot be read, some may be."""
    try:
        return not all(task.done for task in tasks.parse_source(source).tasks)
    except (ValueError, OSError):
        return True


def has_work(source: Source) -> bool:
    """Whether something is left to do: tasks, the first ones of an empty list, the repair of a broken one; of
    a list that cannot be opened nothing is known to be."""
    try:
        found = tasks.parse_source(source).tasks
    except ValueError:
        return True
    except OSError:
        return False
    return not found or not all(task.done for task in found)


def is_done(source: Source) -> bool:
    """Whether nothing of the list is left to do; False for one that cannot be read."""
    try:
        listed = tasks.parse_source(source)
    except (ValueError, OSError):
        return False
    return listed.phase == EXECUTION and bool(listed.tasks) and all(task.done for task in listed.tasks)


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


def nothing_here(place: Place, name: str | None = None) -> str:
    """What to type where there is nothing to work on: go where loops are under way, or make a list."""
    new, there = f"`ralphloop new {name or 'NAME'}`", _elsewhere(place, name)
    if there:
        return f"{there}, or make a list here: {new}"
    return f"{new} makes a task list, and `ralphloop run` begins a loop over it"


def _instead(place: Place, name: str, known: list[str], *, else_: str) -> str:
    """What may be meant by a name that is not here: one like it, or one of another project."""
    there = "" if spelling.near(name, known) else _elsewhere(place, name)
    return f"{there}." if there else spelling.or_known(name, known, else_=else_)


def _elsewhere(place: Place, name: str | None) -> str:
    """Where loops are under way that cannot be seen from here, those of this name; empty if nowhere."""
    found = {}
    for root in projects(place.env, quiet):
        if root in place.roots or not os.path.isdir(root):
            continue
        names = {record.name for kind in UNDER_WAY for record in Shelf(root, place.env).records(kind)}
        if names and name in (None, *names):
            found[root] = sorted(names) if name is None else [name]
    if not found:
        return ""
    shown = [f"{', '.join(names[:SHOWN])} in {root}" for root, names in list(found.items())[:SHOWN]]
    return f"under way elsewhere: {', '.join(shown)}. Change to it with `cd {shlex.quote(next(iter(found)))}`"


def projects(env: Mapping[str, str], passed_over: Tell) -> Iterator[str]:
    """The folders for which the state directory has loops; no link is followed."""
    tree = os.path.join(shelf.home(env), "by-path")
    for count, (folder, below, _) in enumerate(os.walk(tree)):
        if count >= FOLDERS_MAX:
            passed_over(f"{tree} has more than {FOLDERS_MAX} folders; the rest is not looked at.")
            return
        if KEPT in below and not os.path.islink(os.path.join(folder, KEPT)):
            yield folder[len(tree) :] or os.sep
        below[:] = sorted(name for name in below if name != KEPT)
