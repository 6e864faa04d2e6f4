"""The supervisor section: what `run` adds to each session, around a client that does next to nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from statistics import median

from project import LOOP_NAME, Project, command, feature_list, new_project
from registration import command_argv, command_env
from table import Figure, Section
from timing import Series, WrongAnswerError

AIM_MS, AIM_MB = 150.0, 60.0
RUN_TIMEOUT_S = 300.0

# Says when it began, marks the next task as done, asks the hook that it was given, and says when it ended.
CLIENT = """#!/bin/sh
echo "began $(date +%s%N)" >>"$HOME/clients"
cat >/dev/null
exec {python} -I -S {script} "$@"
"""
AGENT = """
import json, os, subprocess, sys, time

options = dict(zip(sys.argv[2::1], sys.argv[3::1]))
path = os.path.join(os.getcwd(), ".ralph/loops/{loop}/feature_list.json")
with open(path) as file:
    text = file.read()
with open(path, "w") as file:
    file.write(text.replace('"passes": false', '"passes": true', 1))
stop = json.loads(options["--settings"])["hooks"]["Stop"][0]["hooks"][0]["command"]
payload = {{"hook_event_name": "Stop", "session_id": options["--session-id"], "cwd": os.getcwd(),
           "prompt_id": options["--session-id"], "last_assistant_message": "Done."}}
subprocess.run(["/bin/sh", "-c", stop], input=json.dumps(payload).encode(), stdout=subprocess.DEVNULL)
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False,
                  "terminal_reason": "completed", "result": "", "session_id": options["--session-id"]}}))
sys.stdout.flush()
with open(os.path.join(os.environ["HOME"], "clients"), "a") as file:
    file.write(f"ended {{time.time_ns()}}\\n")
os._exit(0)
"""


def supervisor(scratch: Path, rounds: int) -> Section:
    """From the end of one session to the start of the next, and the most memory that the supervisor had."""
    project = new_project(scratch, "supervisor", transcript_size=0)
    source = scratch / "features.json"
    source.write_text(feature_list(rounds))
    command(project, "new", LOOP_NAME, "--from", str(source))
    env = with_client(project, scratch / "bin")
    peak_kb = run(project, env)
    gaps = between_sessions((project.home / "clients").read_text())
    if len(gaps) != rounds - 1:
        raise WrongAnswerError(f"{len(gaps) + 1} sessions for {rounds} tasks")
    section = Section("supervisor", series=[Series("between two sessions", gaps)])
    section.figures += [
        Figure("overhead per session", median(gaps), "ms", AIM_MS),
        Figure("peak memory of the supervisor", peak_kb / 1024, "MB", AIM_MB),
    ]
    return section


def with_client(project: Project, folder: Path) -> dict[str, str]:
    """An environment in which `claude` is the one above."""
    folder.mkdir()
    script, client = folder / "agent.py", folder / "claude"
    script.write_text(AGENT.format(loop=LOOP_NAME))
    client.write_text(CLIENT.format(python=sys.executable, script=script))
    client.chmod(0o755)
    env = command_env(project.home)
    return {**env, "PATH": os.pathsep.join([str(folder), env.get("PATH", os.defpath)])}


def run(project: Project, env: dict[str, str]) -> int:
    """Drive the loop to its end; the supervisor's peak memory in KB."""
    words = [*command_argv(), "run", LOOP_NAME, "--batch", "1", "--max-iterations", "1000000", "--plain"]
    process = subprocess.Popen(
        words, cwd=project.root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    peak = PeakMemory(process.pid)
    peak.start()
    try:
        said, _ = process.communicate(timeout=RUN_TIMEOUT_S)
    finally:
        peak.finish()
    if process.returncode:
        raise WrongAnswerError(f"run exited with {process.returncode}: {said[-2000:]}")
    return peak.most_kb


class PeakMemory(threading.Thread):
    """Reads what the system says of the supervisor, a child of the command, as long as it lives."""

    def __init__(self, parent: int) -> None:
        super().__init__(daemon=True)
        self._parent = parent
        self._over = threading.Event()
        self.most_kb = 0

    def run(self) -> None:
        while not self._over.wait(0.1):
            for child in self._children():
                self.most_kb = max(self.most_kb, peak_kb(child))

    def _children(self) -> list[str]:
        try:
            return Path(f"/proc/{self._parent}/task/{self._parent}/children").read_text().split()
        except OSError:
            return []

    def finish(self) -> None:
        self._over.set()
        self.join()


def peak_kb(pid: str) -> int:
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


def between_sessions(told: str) -> list[float]:
    """Milliseconds from each end to the beginning after it."""
    rows = [line.split() for line in told.splitlines()]
    moments = [(word, int(when)) for word, when in rows]
    return [
        (after[1] - before[1]) / 1e6
        for before, after in pairwise(moments)
        if (before[0], after[0]) == ("ended", "began")
    ]
