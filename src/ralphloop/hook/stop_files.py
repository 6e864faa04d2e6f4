"""The files that decide a stop, as texts for a record: with marks for the project's path and the home's, and
without secrets."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.model import PROJECT_VARIABLE
from ralphloop.engine import claim, find
from ralphloop.store import approvals, files, shelf
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import layout as layout_of
from ralphloop.tasklists.registry import own_file, traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from ralphloop.domain.model import StopEvent
    from ralphloop.engine.find import Call
    from ralphloop.store.shelf import Record, Shelf
    from ralphloop.tasklists.source import Source

ROOT, HOME, LOGS = "@ROOT@", "@HOME@", "@LOGS@"  # the last one: the folder of the project's transcripts
STATE = ".local/state/ralphloop"  # where a record has the state directory, wherever it was
FILE_MOST, ALL_MOST = 2 * 1024 * 1024, 16 * 1024 * 1024
LOOPS_MOST = 20
MACHINE = ("loop.json", "ledger.json", "pinned", "request", "usage.json")
SHOWN = ("loop.json", "ledger.json")


class StopFiles:
    """What belongs to the loops of one project, read now."""

    def __init__(self, here: Shelf, event: StopEvent, call: Call) -> None:
        self.files: dict[str, str] = {}
        self.home: dict[str, str] = {}
        # path -> why its text is not here
        self.left_out: dict[str, str] = {}
        self.lists: list[Record | Source] = []
        self._here = here
        self._event = event
        self._call = call
        self._own_home = call.env.get("HOME") or os.path.expanduser("~")
        self._room = ALL_MOST
        standing = [event.cwd, call.env.get(PROJECT_VARIABLE) or ""]
        self._marks = marks(here, self._own_home, standing, logs=os.path.dirname(event.transcript))
        for folder in find.roots(event.cwd, call.env):
            if files.worktree_link(folder)[1]:
                self._add(os.path.join(folder, ".git"))

    @property
    def concerns_a_loop(self) -> bool:
        return bool(self.lists)

    @property
    def layout(self) -> str:
        return self.lists[0].layout if self.lists else ""

    def add_loop(self, loop: LoopFiles, kind: str = shelf.OWNED) -> None:
        record = loop.record
        self._add(self._record_file(record, kind))
        for name in (*MACHINE, *traits(record.layout).truth):
            self._add(os.path.join(loop.kept, name))
        for name in SHOWN:
            self._add(loop.path(name))
        self._add_list(record)

    def add_all(self) -> None:
        """Every loop under way that this registration may serve, and every list that can be claimed."""
        for kind in (shelf.OWNED, shelf.ARMED):
            served = [one for one in self._here.records(kind) if one.layout in self._call.layouts]
            for record in served[:LOOPS_MOST]:
                self.add_loop(LoopFiles(record, self._here, writes=False), kind)
            for record in served[LOOPS_MOST:]:
                name = self._place(self._record_file(record, kind))[1]
                self.left_out[name] = "one of more than %d loops" % LOOPS_MOST
        for source in claim.sources(self._event.cwd, self._call):
            if source.enabled and source.root == self._here.root:
                self._add_list(source)

    def _record_file(self, record: Record, kind: str) -> str:
        name = files.file_name(record.session or "") if kind == shelf.OWNED else record.id
        return os.path.join(self._here.folder, kind, name + ".json")

    def _add_list(self, listed: Record | Source) -> None:
        if any(own_file(known) == own_file(listed) for known in self.lists):
            return
        self.lists.append(listed)
        for path in (*listed.paths.values(), *_pointers(listed.layout, self._here.root)):
            self._add(path)
        tree = os.path.join(self._here.home, "by-path")
        for path in {own_file(listed), os.path.realpath(own_file(listed))}:
            if os.path.isfile(shelf.mirror(tree, path)):  # an earlier loop over this list has ended
                self._add(shelf.mirror(tree, path))

    def _add(self, path: str) -> None:
        try:
            size = os.stat(path).st_size
        except (OSError, ValueError):
            return
        where, name = self._place(path)
        if where is None:
            self.left_out[name] = "outside of the project and the home"
        elif where is self.files and files.leads_out(path, self._here.root):
            self.left_out[name] = "leads out of the project"
        elif size > min(FILE_MOST, self._room):
            self.left_out[name] = "%d bytes" % size
        else:
            text = files.read_quietly(path)
            if text is None:
                self.left_out[name] = "cannot be read"
            else:
                where[name] = text
                self._room -= size

    def _place(self, path: str) -> tuple[dict[str, str] | None, str]:
        """Where a record has this file: below the project, or below the home."""
        for folder, found, front in (
            (self._here.root, self.files, ""),
            (self._here.home, self.home, STATE + "/"),
            (self._own_home, self.home, ""),
        ):
            inside = folder.rstrip(os.sep) + os.sep
            if path.startswith(inside):
                return found, front + path[len(inside) :]
        return None, path

    def approved(self) -> list[str]:
        """The commands that might have run; none where no list speaks of any."""
        if not any("verify" in text.lower() for text in (*self.files.values(), *self.home.values())):
            return []
        return sorted(approvals.approved(self._here))

    def public(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """The facts as they may be written down."""
        from ralphloop.proof import mask

        secrets = mask.spellings(mask.secrets(self._call.env))

        def clean(value: Any) -> Any:
            if isinstance(value, str):
                return blank(mask.mask(value, secrets), self._marks)
            if isinstance(value, dict):
                return {clean(key): clean(item) for key, item in value.items()}
            return [clean(item) for item in value] if isinstance(value, (list, tuple)) else value

        return {key: clean(value) for key, value in facts.items()}


def _pointers(layout: str, root: str) -> list[str]:
    """The files that lead to a list, and the settings of its plugin."""
    own = layout_of(layout)
    if not own.TRAITS.settings:
        return []
    from ralphloop.tasklists import frontmatter

    settings = os.path.join(root, own.TRAITS.settings)
    known = frontmatter.parse(files.read_quietly(settings) or "")
    return [settings, *(pointer for _, pointer in own.places(root, known))]


def marks(here: Shelf, home: str, standing: list[str], *, logs: str = "") -> list[tuple[str, str]]:
    """What stands for which path, longest path first; a folder may be known by a link to it as well."""
    found = {here.root: ROOT, here.home: HOME + "/" + STATE, home: HOME, os.path.realpath(home): HOME}
    if os.path.basename(os.path.dirname(logs)) == "projects":  # its name tells where the project is
        found[logs] = LOGS
    for path in standing:
        real = os.path.realpath(path) if os.path.isabs(path) else ""
        below = real[len(here.root) :] if real == here.root or files.inside(path, here.root) else None
        if below is not None and path.endswith(below):
            found.setdefault(path[: len(path) - len(below)].rstrip(os.sep), ROOT)
    known = [(path, mark) for path, mark in found.items() if len(path) > 1]
    return sorted(known, key=lambda pair: -len(pair[0]))


def blank(text: str, pairs: list[tuple[str, str]]) -> str:
    """The text with marks for these paths; `/work` is no part of `/works` or `/work.old`."""
    for path, mark in pairs:
        first, *rest = text.split(path)
        text = first + "".join([(path if _goes_on(part) else mark) + part for part in rest])
    return text


def _goes_on(rest: str) -> bool:
    """Whether the name of a file or folder goes on here."""
    follows = rest[1:2] if rest[:1] == "." else rest[:1]
    return follows.isalnum() or rest[:1] in ("_", "-")
