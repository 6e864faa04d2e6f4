"""Real commands for checks, and what became of the processes that they name in a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from fakes.patience import eventually
from ralphloop.proof import checker
from ralphloop.proof.checker import Ran

LINUX = sys.platform == "linux"


class Bench:
    """A folder to run checks in; a command there writes the ids of its processes into `pids`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"PATH": os.environ["PATH"], "PYTHON": sys.executable}
        self.pids_file = folder / "pids"

    def run(self, text: str, *, timeout_s: float = 60.0, **options) -> Ran:
        values = {"cwd": str(self.folder), "env": self.env, "timeout_s": timeout_s, **options}
        return checker.run(text, **values)

    def script(self, name: str, text: str) -> str:
        """A Python script, as words for a command line."""
        (self.folder / name).write_text(text)
        return f'"$PYTHON" {name}'

    def pids(self, count: int = 1) -> list[int]:
        """The processes that the command named; waits until there are so many."""
        wait_until(lambda: len(self._named()) >= count)
        return self._named()

    def _named(self) -> list[int]:
        if not self.pids_file.exists():
            return []
        return [
            int(line) for line in self.pids_file.read_text().splitlines(keepends=True) if line[-1] == "\n"
        ]


def wait_until(holds: Callable[[], bool]) -> None:
    eventually(holds)


def gone(pid: int) -> bool:
    """Ended; whether somebody has taken note of it is not the question."""
    return state_of(pid) in ("", "Z", "X")


def state_of(pid: int) -> str:
    """The letter by which the system tells what it does; empty if there is no such process."""
    if LINUX:
        try:
            return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except OSError:
            return ""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip()[:1]
