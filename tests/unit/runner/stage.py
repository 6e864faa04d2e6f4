"""Small programs in the client's place, and a look at which processes of theirs are alive."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from ralphloop.runner.agent_process import AgentProcess, Ending
from unit.proof.processes import gone, wait_until

WITHIN_S = 30.0

# Holds an agent until it is killed, and takes its output meanwhile.
HOLDER = """
import json, select, sys
from ralphloop.runner.agent_process import AgentProcess
agent = AgentProcess(**json.loads(sys.argv[1]))
print(agent.pid, agent._guardian.pid, flush=True)
while agent.ended is None:
    select.select(agent.handles(), [], [])
    agent.take()
print("ended", flush=True)
"""


class Stage:
    """A folder for the programs; all that runs on it has one mark in its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = f"STAGE={uuid.uuid4()}"
        self.env = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, "STAGE": self.mark[6:]}

    def agent(self, *words: str, prompt: str = "") -> AgentProcess:
        return AgentProcess(words, cwd=str(self.folder), env=self.env, prompt=prompt)

    def shell(self, text: str, *, prompt: str = "") -> AgentProcess:
        return self.agent("/bin/sh", "-c", text, prompt=prompt)

    def python(self, text: str, *, prompt: str = "") -> AgentProcess:
        return self.agent(sys.executable, "-c", text, prompt=prompt)

    @contextlib.contextmanager
    def holder(self, text: str) -> Iterator[subprocess.Popen[str]]:
        """A process of its own that holds an agent; to be killed."""
        request = {"words": ["/bin/sh", "-c", text], "cwd": str(self.folder), "env": self.env, "prompt": ""}
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, json.dumps(request)],
            env={**self.env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        with process:
            try:
                yield process
            finally:
                process.kill()

    def pids(self, count: int = 1) -> list[int]:
        """The processes that named themselves in the file `pids`; waits until there are so many."""
        file = self.folder / "pids"
        wait_until(lambda: file.exists() and file.read_text().count("\n") >= count)
        return [int(line) for line in file.read_text().split()]

    def living(self) -> list[str]:
        """The command lines of what is alive on this stage."""
        return [words for _, words in _marked(self.mark.encode())]

    def clear(self) -> None:
        """End what a failed test left."""
        for pid, _ in _marked(self.mark.encode()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def a_stage(folder: Path) -> Iterator[Stage]:
    made = Stage(folder.resolve())
    try:
        yield made
    finally:
        made.clear()


def _marked(mark: bytes) -> Iterator[tuple[int, str]]:
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        with contextlib.suppress(OSError, ValueError):
            folder = Path("/proc", str(int(name)))
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(name), words


def wait_for_line(agent: AgentProcess, line: bytes) -> list[bytes]:
    """All that came until then."""
    deadline, seen = time.monotonic() + WITHIN_S, []
    while line not in seen:
        assert time.monotonic() < deadline, f"{line!r} did not come, only {seen}"
        seen += some(agent)
    return seen


def some(agent: AgentProcess) -> list[bytes]:
    """What comes next, or nothing after a second."""
    with selectors.DefaultSelector() as selector:
        for handle in agent.handles():
            selector.register(handle, selectors.EVENT_READ)
        selector.select(1.0)
    return agent.take()


def to_the_end(agent: AgentProcess) -> tuple[list[bytes], Ending]:
    lines: list[bytes] = []
    deadline = time.monotonic() + WITHIN_S
    while agent.ended is None:
        assert time.monotonic() < deadline, "the agent did not end"
        lines += some(agent)
    return lines, agent.ended


__all__ = ["HOLDER", "Stage", "a_stage", "gone", "some", "to_the_end", "wait_for_line", "wait_until"]
