"""The launcher as a client starts it, in a copy of the package that no other test has compiled."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ralphloop
from ralphloop.engine import find
from ralphloop.store import arming
from ralphloop.store.shelf import Shelf
from unit.layouts import FEATURES, SPECKIT, SPECUM

PACKAGE = Path(ralphloop.__file__).parent
HOT = ("domain", "tasklists", "store", "engine", "hook")
HOT_MODULES = ("error_tree", "errors", "posix_path", "system")
RARE = ("agents", "config", "proof")  # what a hook imports on rare branches

FILES = {
    FEATURES: {".ralph/loops/demo/feature_list.json": '{"features": [{"id": "1", "description": "build"}]}'},
    SPECUM: {
        "specs/.current-spec": "demo",
        "specs/demo/.ralph-state.json": '{"phase": "execution", "taskIndex": 0, "totalTasks": 1}',
        "specs/demo/tasks.md": "- [ ] 1 build\n",
    },
    SPECKIT: {
        ".specify/.current-feature": "demo",
        ".specify/specs/demo/.speckit-state.json": '{"phase": "execution", "taskIndex": 0, "totalTasks": 1}',
        ".specify/specs/demo/tasks.md": "- [ ] 1 build\n",
    },
}

# Runs the launcher's own code; what was imported by the time of the answer goes to stderr.
WATCH = """
import sys
import posix
write = posix.write
def watch(handle, data):
    if handle == 1:
        write(2, " ".join(sorted(sys.modules)).encode())
    return write(handle, data)
posix.write = watch
del sys.argv[0]
with open(sys.argv[0]) as file:
    code = compile(file.read(), sys.argv[0], "exec")
exec(code, {"__name__": "__main__", "__file__": sys.argv[0]})
"""


def copy_package(place: Path) -> None:
    """All that a hook may import; whatever else it asked for would be missing."""
    place.mkdir(parents=True)
    for name in (*HOT, *RARE):
        shutil.copytree(PACKAGE / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in PACKAGE.glob("*.py"):
        shutil.copy(path, place)


class Stage:
    """A project with one running loop, and the means to stop its session."""

    def __init__(self, folder: Path, layout: str) -> None:
        self.layout = layout
        self.package = folder / "package" / "ralphloop"
        self.project = folder / "project"
        self.env = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
        copy_package(self.package)
        for path, text in FILES[layout].items():
            (self.project / path).parent.mkdir(parents=True, exist_ok=True)
            (self.project / path).write_text(text)
        self.transcript = folder / "t.jsonl"
        self.transcript.write_text('{"type": "user", "message": {"content": "go"}}\n')
        self.watcher = folder / "watch.py"
        self.watcher.write_text(WATCH)
        root = str(self.project.resolve())
        (source,) = find.locate(layout, root, self.env)
        self.runs = 0
        self.loop = arming.arm(source, Shelf(root, self.env), session="S", started=True)

    def run(
        self, *, python: str = sys.executable, watched: bool = False, registration: str = "test", **payload
    ) -> subprocess.CompletedProcess[str]:
        launcher = str(self.package / "hook" / "launch.py")
        script = [str(self.watcher), launcher] if watched else [launcher]
        self.runs += 1
        event = {
            "hook_event_name": "Stop", "session_id": "S", "cwd": str(self.project), "prompt_id": "P",
            "transcript_path": str(self.transcript),
            "last_assistant_message": f"This was step {self.runs} of the work.", **payload,
        }  # fmt: skip
        return subprocess.run(
            [python, "-I", "-S", *script, registration, self.layout],
            input=json.dumps(event), capture_output=True, text=True, env=self.env, cwd=self.project,
            check=True,
        )  # fmt: skip

    def imported(self) -> set[str]:
        """What is in memory when the answer to an active stop is written."""
        done = self.run(watched=True)
        assert json.loads(done.stdout)["decision"] == "block"
        return set(done.stderr.split())


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, FEATURES)
