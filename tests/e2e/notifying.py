"""A project whose loops are told of: programs that note how they were called, and who is still at it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e.cli_project import PACKAGE, SESSION, Done, Project
from fakes import warm
from fakes.patience import eventually

LAUNCHER = [sys.executable, "-I", "-S", str(PACKAGE / "hook" / "launch.py")]
# Each call is one line, written at once.
RECORD = f"""#!{sys.executable}
import json, sys
with open(sys.argv[0] + ".calls", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
"""


def settle(project: Project, text: str) -> None:
    """Write the person's own settings."""
    file = project.home / ".config/ralphloop/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)


def hook(
    project: Project,
    event: str = "Stop",
    *,
    env: Mapping[str, str] | None = None,
    registration: str = "settings",
    keeps: tuple[int, ...] = (),
    **payload: Any,
) -> Done:
    """One event of the session, as the client sends it; it is over when nobody has its output open. `keeps`
    are descriptors that the client leaves open in it."""
    said = {"hook_event_name": event, "session_id": SESSION, "cwd": str(project.root), **payload}
    given, around = json.dumps(said).encode(), project.env(env)
    if not keeps:
        ended = warm.run([registration], program=warm.HOOK, stdin=given, env=around, cwd=said["cwd"])
        assert ended.code == 0, ended
        return Done(ended.code, ended.stdout.decode(), ended.stderr.decode())
    done = subprocess.run(
        [*LAUNCHER, registration],
        input=given, env=around, cwd=said["cwd"], capture_output=True, timeout=60, pass_fds=keeps,
    )  # fmt: skip
    assert done.returncode == 0
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def at_work(project: Project) -> list[int]:
    """The processes that run with this project's home, or are about to: what a finished command or hook has
    left."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if _is_of(project, path):
                found.append(int(path.name))
    return found


def _is_of(project: Project, path: Path) -> bool:
    """One that the warm interpreter forked shows that one's environment until it runs a program, and none at
    all while it begins to; where it is stays the same."""
    words = (path / "cmdline").read_bytes().split(b"\0")  # read first: it may run a program in between
    environment = (path / "environ").read_bytes()
    if f"HOME={project.home}".encode() in environment.split(b"\0"):
        return True
    is_between = not environment or words == [b""] or os.fsencode(warm.SERVER) in words
    return is_between and Path(os.readlink(path / "cwd")).is_relative_to(project.folder)


def wait_until_told(project: Project) -> None:
    """Until nothing is at work any more; whoever was to be told has been told then."""
    eventually(lambda: not at_work(project), what="a notice is still on its way", deadline_s=60)
    errors = project.home / ".local/state/ralphloop/errors.log"
    assert not errors.exists(), errors.read_text()
    assert not list(project.home.rglob("reports/*"))


def notices(project: Project, program: str = "notify-send") -> list[list[str]]:
    """Title and body of each notice, in order."""
    file = project.bin / f"{program}.calls"
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)[-2:] for line in lines]


def journal(project: Project, event: str = "notify") -> list[dict[str, Any]]:
    (file,) = (project.root / ".ralph/run").glob("*/journal.jsonl")
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    return [entry for entry in entries if entry["event"] == event]


def log(project: Project) -> str:
    (file,) = (project.root / ".ralph/run").glob("*/hook.log")
    return file.read_text()


def close(folder: Path, *places: int) -> None:
    """Do what an agent does to claim tasks of a list of features."""
    file = folder / "feature_list.json"
    data = json.loads(file.read_text())
    for place in places:
        data["features"][place]["passes"] = True
    file.write_text(json.dumps(data))


def opened(pid: int) -> dict[int, str]:
    """What a process has open, by descriptor."""
    folder = Path(f"/proc/{pid}/fd")
    return {int(path.name): os.readlink(path) for path in folder.iterdir()}
