"""`ralphloop run` with the real client: the command in a scratch home, and what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.cli_project import WIDE
from e2e.client import ClientHome
from e2e.looping import Outside
from fakes import warm
from fakes.patience import eventually as eventually
from ralphloop.lab.model_server import ModelRequest, ModelServer
from ralphloop.lab.reply import Reply, text

LOOP = ".ralph/loops/demo/"
# Errors come at once instead of after the client's own retries, and waits take seconds.
# No line is folded: what is said counts here, and test_width.py looks at how.
QUICK = {**WIDE, "CLAUDE_CODE_MAX_RETRIES": "0", "RALPHLOOP_RESET_MARGIN": "0", "RALPHLOOP_BACKOFF": "1s"}


def list_of(*features: Mapping[str, Any], **shared: Any) -> dict[str, str]:
    """The project files of a loop `demo`; each feature needs only what differs from an open one."""
    listed = [
        {"id": f"F{place}", "description": f"Make file {place}", "passes": False, **feature}
        for place, feature in enumerate(features, 1)
    ]
    return {
        LOOP + "feature_list.json": json.dumps({**shared, "features": listed}, indent=2),
        LOOP + "progress.txt": "Status: NOT_STARTED\nIteration: 1\n",
        LOOP + "RALPH_PROMPT.md": "Work through the feature list.\n",
        ".gitignore": ".ralph/run/\n",
    }


def task_in(request: ModelRequest) -> str:
    """The task that the session was last sent to, as its prompt or its last continuation says."""
    said = json.dumps(request.body["messages"])
    return said.rpartition("go on with task ")[2].partition(" ")[0]


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str


@dataclass
class Running:
    """One project whose loop is driven by `ralphloop run`."""

    home: ClientHome
    root: Path
    server: ModelServer
    extra: Mapping[str, str] = field(default_factory=dict)

    def env(self) -> dict[str, str]:
        bin_folder = self.home.path / "bin"
        if not bin_folder.exists():
            bin_folder.mkdir()
            (bin_folder / "claude").symlink_to(self.home.binary)
            self.home.trust(self.root)
        env = self.home.env(self.server, {**QUICK, **self.extra})
        return {**env, "PATH": os.pathsep.join([str(bin_folder), env["PATH"]])}

    def words(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "ralphloop", *arguments]

    def run(self, *arguments: str, timeout_s: float = 100.0) -> Done:
        """`ralphloop run demo` with everything allowed, to its end."""
        process = self.start(*arguments)
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except BaseException:
            self.clear_away()
            raise
        return Done(process.returncode, stdout, stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        usual = ["run", "demo", "--yes", "--permission-mode", "bypassPermissions"]
        return self.popen(*usual, *arguments)

    def popen(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.words(*arguments), cwd=self.root, env=self.env(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def command(self, *arguments: str) -> Done:
        """Another command of the person, at another terminal."""
        done = warm.run(arguments, env=self.env(), cwd=self.root)
        return Done(done.code, done.stdout.decode(), done.stderr.decode())

    @property
    def outside(self) -> Outside:
        return Outside(self.home, self.root)

    @property
    def loop(self) -> dict[str, Any]:
        return self.outside.loop

    @property
    def ending(self) -> tuple[str, str | None]:
        return self.loop["state"], self.loop["outcome"]

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        return [entry for entry in self.outside.journal() if not kinds or entry["event"] in kinds]

    def tasks(self) -> dict[str, str]:
        """Each task's state, as `status` tells it."""
        loops = json.loads(self.command("status", "--json").stdout)["loops"]
        return {task["id"]: task["state"] for task in loops[0]["tasks"]}

    def processes(self) -> dict[int, list[str]]:
        """All that is alive and was started in this home, with its words."""
        mark = f"HOME={self.home.path}".encode()
        found = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mark not in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                    continue
                words = Path("/proc", name, "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                found[int(name)] = words
        return found

    def pids(self, word: str) -> list[int]:
        return [pid for pid, words in self.processes().items() if any(word in each for each in words[:4])]

    def clear_away(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def running(
    home: ClientHome, root: Path, script: Any, *, env: Mapping[str, str] | None = None, subagents: Any = ()
) -> Iterator[Running]:
    """A project with a model that answers by this script; nothing of it is left afterwards."""
    with ModelServer(script, subagents=subagents, default="Nothing is left to be said.") as server:
        stage = Running(home, root, server, env or {})
        try:
            yield stage
            assert stage.outside.errors() == ""
        finally:
            stage.clear_away()


def says(words: str = "Done.") -> Reply:
    return text(words)
