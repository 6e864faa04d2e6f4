"""A scratch project with a home of its own and a running loop of one layout, which stops happen in."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from ralphloop.engine import claude_past, find, stop
from ralphloop.hook import main as hook
from ralphloop.store import approvals, arming, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import traits

OWNER = "0f6b1f5e-8f0a-4c62-9c1e-000000000001"
OTHER = "0f6b1f5e-8f0a-4c62-9c1e-000000000002"
OWN_FILES = {
    "features": ".ralph/loops/demo/feature_list.json",
    "specum": "specs/demo/.ralph-state.json",
    "speckit": ".specify/specs/001-demo/.speckit-state.json",
}
POINTERS = {"specum": "specs/.current-spec", "speckit": ".specify/.current-feature"}
NAMES = ("feature_list.json", "progress.txt", ".ralph-state.json", ".speckit-state.json", "tasks.md")
PATH = os.pathsep.join([os.path.dirname(os.path.realpath(sys.executable)), "/usr/bin", "/bin"])

Tree = dict[str, tuple[int, bytes]]


def quick() -> None:
    """No waiting for a client that writes late: nobody writes here but us."""
    stop.LAG_S = tasks.PATIENCE_S = claude_past.PATIENCE_S = 0.0


def base_folder() -> str:
    """In memory where there is such a place: a target runs thousands of times a minute."""
    memory = "/dev/shm"
    made = tempfile.mkdtemp(prefix="ralphloop-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


class Ground:
    """The project, its home and the transcript of the session that owns the loop."""

    def __init__(self, layout: str, files: Mapping[str, str], *, base: str | None = None) -> None:
        self.base = os.path.realpath(base or base_folder())
        self.layout = layout
        self.root = os.path.join(self.base, "my project")
        self.home = os.path.join(self.base, "home")
        os.makedirs(self.root)
        os.makedirs(self.home)
        self.env = {"HOME": self.home, "PATH": PATH, "CLAUDE_PROJECT_DIR": self.root}
        self.transcript = os.path.join(self.home, ".claude", "projects", "-p", OWNER + ".jsonl")
        self.mark = os.path.join(self.base, "ran")
        for path, said in files.items():
            self.write(path, said)

    @property
    def own(self) -> str:
        """The file without which there is no loop: the list, or the state."""
        return os.path.join(self.root, OWN_FILES[self.layout])

    @property
    def listed(self) -> str:
        """The file that tasks are claimed in."""
        return self.own if self.layout == "features" else os.path.join(os.path.dirname(self.own), "tasks.md")

    @property
    def state_home(self) -> str:
        return os.path.join(self.home, ".local", "state", "ralphloop")

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.root, self.env)

    def write(self, path: str, said: str | bytes) -> None:
        place = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(said if isinstance(said, bytes) else said.encode("utf-8", "surrogateescape"))

    def arm(self, *, approve: bool = True, **options: Any) -> LoopFiles:
        """Begin the loop as `start` does, for the owner."""
        (source,) = find.locate(self.layout, self.root, self.env)
        if approve:
            commands = approvals.unapproved(self.shelf, tasks.parse_source(source))
            approvals.approve(self.shelf, commands, by="terminal")
        return arming.arm(source, self.shelf, session=OWNER, started=True, **options)

    @contextlib.contextmanager
    def standing(self) -> Iterator[None]:
        """This process as the client would start the hook: in the project, with the client's environment."""
        before, env = os.getcwd(), dict(os.environ)
        os.chdir(self.root)
        os.environ.clear()
        os.environ.update(self.env)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(env)
            os.chdir(before)

    def respond(self, data: bytes, argv: list[str] | None = None) -> str:
        """What the hook says to these bytes on stdin."""
        with self.standing():
            return hook.respond(data, argv or [traits(self.layout).plugin, self.layout])

    def is_ours(self, path: str) -> bool:
        """Whether the hook may write there: its state directory, the run folder, the loop's own files."""
        if path.startswith((self.state_home + os.sep, os.path.join(self.root, ".ralph", "run"))):
            return True
        if path in (self.state_home, os.path.dirname(self.state_home), os.path.join(self.home, ".local"),
                    os.path.join(self.root, ".ralph")):  # fmt: skip
            return True
        folder = os.path.dirname(self.own)
        return os.path.dirname(path) == folder and os.path.basename(path) in NAMES

    def tree(self) -> Tree:
        """Every path below with its mode and content."""
        return dict(_walk(self.base))

    def put_back(self, before: Tree) -> None:
        """Make the tree what it was, touching only what differs."""
        after = self.tree()
        for path in sorted(set(after) - set(before), reverse=True):
            if stat.S_ISDIR(after[path][0]):
                os.rmdir(path)
            else:
                os.unlink(path)
        for path in sorted(before):
            if after.get(path) != before[path]:
                _lay(path, *before[path])

    def remove(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)


def _walk(folder: str) -> Iterator[tuple[str, tuple[int, bytes]]]:
    with os.scandir(folder) as found:
        for entry in found:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                yield entry.path, (mode, b"")
                yield from _walk(entry.path)
            elif stat.S_ISLNK(mode):
                yield entry.path, (mode, os.readlink(entry.path).encode("utf-8", "surrogateescape"))
            else:
                with open(entry.path, "rb") as file:
                    yield entry.path, (mode, file.read())


def _lay(path: str, mode: int, data: bytes) -> None:
    if stat.S_ISDIR(mode):
        os.makedirs(path, exist_ok=True)
    else:
        with open(path, "wb") as file:
            file.write(data)
    os.chmod(path, stat.S_IMODE(mode))


def feature(name: str, *, passes: bool = False, **fields: Any) -> dict[str, Any]:
    return {"id": name, "description": f"Do {name}", "steps": ["one", "two"], "passes": passes, **fields}


def feature_list(*features: Mapping[str, Any]) -> str:
    return json.dumps({"features": list(features)}, indent=2) + "\n"


def spec_state(**fields: Any) -> dict[str, Any]:
    return {
        "source": "spec", "name": "demo", "basePath": "./specs/demo", "phase": "execution", "taskIndex": 0,
        "totalTasks": 3, "taskIteration": 1, "maxTaskIterations": 5, "globalIteration": 1,
        "maxGlobalIterations": 100, "awaitingApproval": False, **fields,
    }  # fmt: skip


def files_of(layout: str, listed: str, **state: Any) -> dict[str, str]:
    """The files of one loop over this list: a feature_list.json, or a tasks.md with its state."""
    folder = os.path.dirname(OWN_FILES[layout])
    if layout == "features":
        return {
            OWN_FILES[layout]: listed,
            f"{folder}/progress.txt": "Status: IN_PROGRESS\nIteration: 1\n\nfree text\n",
            f"{folder}/RALPH_PROMPT.md": "Work through the list.\n",
        }
    total = listed.count("- [ ] ") + listed.count("- [x] ")
    return {
        POINTERS[layout]: os.path.basename(folder) + "\n",
        OWN_FILES[layout]: json.dumps(spec_state(**{"totalTasks": total, **state}), indent=2) + "\n",
        f"{folder}/tasks.md": listed,
    }
