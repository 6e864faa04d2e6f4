"""The demo's temporary folder: its own home, its own git project, and commands that see nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralphloop.agents.registry import client
from ralphloop.domain.model import FEATURES
from ralphloop.errors import DemoError
from ralphloop.lab.scratch import scratch_folder
from ralphloop.store.loop import JOURNAL

PACKAGE = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).resolve().parent / "templates"
NAME = "greeter"
TITLE = client().program.TITLE

_GIT_CONFIG = """\
[user]
\tname = Scripted Agent
\temail = agent@example.invalid
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
"""


@dataclass(frozen=True)
class Stage:
    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / NAME

    @property
    def path(self) -> str:
        """Our own command first, then this Python, then git, then the system's tools."""
        found = (self.folder / "bin", Path(sys.executable).parent, _git_folder(), "/usr/bin", "/bin")
        return os.pathsep.join(dict.fromkeys(str(place) for place in found))

    def run(self, *argv: str) -> str:
        """Run a command as the person would in the project; its output, or DemoError with the reason."""
        env = {"HOME": str(self.home), "PATH": self.path, "LANG": "C.UTF-8", "NO_COLOR": "1"}
        done = subprocess.run(
            argv,
            cwd=self.project,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            said = " ".join(done.stdout.split()) or "no output"
            raise DemoError(f"`{shlex.join(argv)}` ended with exit code {done.returncode}: {said}")
        return done.stdout

    def loop(self) -> dict[str, Any]:
        """The loop as its own file has it."""
        found = sorted(self.project.glob(".ralph/run/*/loop.json"))
        if len(found) != 1:
            raise DemoError(f"expected one loop.json in {self.project}, found {len(found)}")
        loaded = json.loads(found[0].read_text(encoding="utf-8"))
        return loaded if isinstance(loaded, dict) else {}

    def last_stop(self) -> dict[str, Any]:
        """The journal's entry on the latest stop."""
        stops = [entry for entry in self._journal() if entry.get("event") == "stop"]
        return stops[-1] if stops else {}

    def _journal(self) -> list[dict[str, Any]]:
        found = [json.loads(line) for journal in self.project.glob(f".ralph/run/*/{JOURNAL}")
                 for line in journal.read_text(encoding="utf-8").splitlines()]  # fmt: skip
        return [entry for entry in found if isinstance(entry, dict)]

    def refused(self) -> list[str]:
        """The tasks whose claims a check refused."""
        return [str(entry["task"]) for entry in self._journal() if entry.get("event") == "refused"]

    def proven(self) -> list[str]:
        (ledger,) = self.project.glob(".ralph/run/*/ledger.json")
        tasks = json.loads(ledger.read_text(encoding="utf-8"))["tasks"]
        return [task for task, known in tasks.items() if known.get("state") == "proven"]

    def open_tasks(self) -> list[str]:
        listed = self.project / ".ralph" / "loops" / NAME / "feature_list.json"
        features = json.loads(listed.read_text(encoding="utf-8"))["features"]
        return [str(feature["id"]) for feature in features if feature.get("passes") is not True]

    def commits(self) -> list[str]:
        return self.run("git", "log", "--oneline", "--reverse", "--all").splitlines()


def hook_command() -> str:
    """The command that a client registers, for the launcher of this very package."""
    return client().program.hook_command(str(PACKAGE), registration="demo", layouts=(FEATURES,))


@contextlib.contextmanager
def set_up(*, keep: bool) -> Iterator[Stage]:
    """A stage that is gone afterwards, however the demo ends; `keep` leaves it."""
    _git_folder()
    with scratch_folder("ralphloop-demo-", keep=keep) as folder:
        stage = Stage(folder)
        _furnish(stage)
        yield stage


def _git_folder() -> Path:
    git = shutil.which("git")
    if git is None:
        raise DemoError("the demo needs git; install it and run `ralphloop demo` again.")
    return Path(git).parent


def _furnish(stage: Stage) -> None:
    command = stage.folder / "bin" / "ralphloop"
    settings = client().program.hook_settings(hook_command())
    files = {
        command: f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(PACKAGE))} "$@"\n',
        stage.home / ".gitconfig": _GIT_CONFIG,
        stage.home / client().registration.FOLDER / "settings.json": json.dumps(settings, indent=2) + "\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    command.chmod(0o755)
    stage.project.mkdir()
