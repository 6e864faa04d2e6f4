"""Where a session stands: the folders to look in, and the loop that it owns."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.model import ATTENDED_VARIABLE, PROJECT_VARIABLE, REGISTRATION
from ralphloop.engine import claude
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import layout as layout_of
from ralphloop.tasklists.registry import own_file, traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Optional

    from ralphloop.domain.model import StopEvent
    from ralphloop.engine.reader import Reader
    from ralphloop.store.shelf import Record
    from ralphloop.tasklists.source import Source


class Call:
    """One run of the hook: who registered it, what it may serve, where it stands, and by which client."""

    __slots__ = ("client", "cwd", "env", "layouts", "registration", "rewakes", "writes")

    def __init__(
        self,
        *,
        registration: str,
        layouts: tuple[str, ...],
        env: Mapping[str, str],
        cwd: str,
        writes: bool = True,
        rewakes: bool = False,
        client: Reader = claude,
    ) -> None:
        self.registration = registration
        self.layouts = layouts
        self.env = env
        self.cwd = cwd
        self.writes = writes
        # whether the client waits for what this run says after the turn
        self.rewakes = rewakes
        self.client = client

    @property
    def is_attended(self) -> bool:
        """Whether a person can type in this session."""
        return self.env.get(ATTENDED_VARIABLE) == "1"

    def serves(self, loop: LoopFiles) -> bool:
        """What a supervisor drives is served by the hook that it registered, and by no other."""
        is_driven = loop.record.supervision is not None
        return loop.record.layout in self.layouts and not (is_driven and self.registration != REGISTRATION)


def roots(cwd: str, env: Mapping[str, str]) -> list[str]:
    """Each folder from the session's up, then from the project's, then the main checkout of a worktree."""
    found: list[str] = []
    mains: list[str] = []
    for start in (cwd, env.get(PROJECT_VARIABLE) or ""):
        if not os.path.isabs(start):
            continue
        folder = os.path.realpath(start)
        while folder not in found:
            found.append(folder)
            main = files.worktree_link(folder)[1]
            if main and main not in mains:
                mains.append(main)
            folder = os.path.dirname(folder)
    return found + [main for main in mains if main not in found]


def held(event: StopEvent, call: Call) -> Optional[LoopFiles]:
    """The loop that this session owns, whoever serves its layout; it owns no other."""
    for root in roots(event.cwd, call.env):
        here = Shelf(root, call.env)
        record = here.owned_by(event.session)
        if record is not None and os.path.isdir(root):
            return LoopFiles(record, here, writes=call.writes)
    return None


def owned(event: StopEvent, call: Call) -> Optional[LoopFiles]:
    """The session's loop, if this registration serves its layout."""
    loop = held(event, call)
    return loop if loop is not None and call.serves(loop) else None


def pointed_at(record: Record, env: Mapping[str, str]) -> tuple[bool, bool]:
    """Whether a pointer names the spec of a loop, and whether the settings of its plugin leave it on."""
    settings = traits(record.layout).settings
    if not settings:
        return True, True
    found = _lists(record.layout, record.root, env)
    for source in found:
        if own_file(source) == own_file(record):
            return True, source.enabled
    if found:
        return False, found[0].enabled
    from ralphloop.tasklists import frontmatter

    path = os.path.join(record.root, settings)
    text = None if files.leads_out(path, record.root) else files.read_quietly(path)
    return False, not frontmatter.is_off(frontmatter.parse(text or ""), "enabled")


def locate(name: str, root: str, env: Mapping[str, str]) -> list[Source]:
    """The lists of one layout at one place, without those whose files lead out of the project."""
    free = bool(env.get(traits(name).chosen_by))
    found = _lists(name, root, env)
    return [source for source in found if free or files.inside(own_file(source), root)]


def _lists(name: str, root: str, env: Mapping[str, str]) -> list[Source]:
    def read(path: str) -> Optional[str]:
        """Pointers and settings, too, say nothing if a link leads to them."""
        text = files.read_quietly(path)
        return None if text is None or files.leads_out(path, root) else text

    return layout_of(name).locate(root, env=env, read=read, names=files.names)
