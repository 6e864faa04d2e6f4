"""A list with checks for the command line, and a command that asks its questions on a real terminal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import shlex
import struct
import subprocess
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from e2e.cli_project import SESSION, Project
from fakes import warm
from fakes.pseudo_terminal import heard

LIST = ".ralph/loops/shop/feature_list.json"
ENTER, INTERRUPT, END = "\n", "\x03", "\x04"


def task(name: str, *verify: str, **fields: Any) -> dict[str, Any]:
    checks = {"verify": list(verify)} if verify else {}
    return {"id": name, "description": f"Do {name}", "passes": False, **checks, **fields}


def write_list(project: Project, *tasks: Mapping[str, Any], **shared: Any) -> Path:
    text = json.dumps({**shared, "features": list(tasks)}, indent=2, ensure_ascii=False) + "\n"
    project.write(".ralph/loops/shop/RALPH_PROMPT.md", "Work through the list.\n")
    return project.write(LIST, text)


def begin(project: Project, *tasks: Mapping[str, Any], **shared: Any) -> None:
    """A loop whose checks the person approved."""
    write_list(project, *tasks, **shared)
    project.fine("start", "shop", "--session", SESSION, "--yes")


def claim(project: Project, *names: str) -> None:
    """Do what the agent does to say that tasks are done."""
    for name in names:
        change(project, name, passes=True)


def change(project: Project, name: str, **fields: Any) -> None:
    """The person, or the agent, edits a task."""
    path = project.root / LIST
    data = json.loads(path.read_text(encoding="utf-8"))
    (found,) = [found for found in data["features"] if found["id"] == name]
    found.update(fields)
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def leaving(project: Project, word: str = "run", *, code: int = 0) -> str:
    """A command that shows that it ran."""
    return f"echo {word} >> {shlex.quote(str(mark(project)))}; exit {code}"


def mark(project: Project) -> Path:
    return project.folder / "ran"


def states(project: Project) -> dict[str, str]:
    return {found["id"]: found["state"] for found in project.status()["tasks"]}


class Asked:
    """A command of ours on a terminal of its own: read what it says, type, and wait for its end."""

    def __init__(
        self, project: Project, *words: str, env: Mapping[str, str] | None = None, columns: int = 80
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._said = b""
        self._process = warm.start(
            words,
            env=project.env({"TERM": "xterm", **(env or {})}),
            cwd=project.root,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            takes_terminal=True,
        )
        os.close(slave)

    def __enter__(self) -> Asked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def said(self) -> str:
        return self._said.decode("utf-8", "replace").replace("\r\n", "\n")

    def wait_for(self, text: str, deadline_s: float = 60.0) -> str:
        due_s = time.monotonic() + deadline_s
        while text not in self.said:
            assert self._read(due_s), f"never said: {text!r}\n{self.said}"
        return self.said

    def answer(self, keys: str, question: str = "[y/N] ") -> tuple[int, str]:
        """Type this at the question; the exit code and all that was said."""
        self.wait_for(question)
        self.type(keys)
        return self.end()

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def interrupt(self, question: str = "[y/N] ") -> tuple[int, str]:
        """Ctrl-C at the question, again if it came in the moment before the terminal was read."""
        self.wait_for(question)
        for _ in range(5):
            os.write(self._master, INTERRUPT.encode())
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
                break
        return self.end()

    def end(self, deadline_s: float = 60.0) -> tuple[int, str]:
        due_s = time.monotonic() + deadline_s
        while self._read(due_s):
            pass
        return self._process.wait(max(1.0, due_s - time.monotonic())), self.said

    def _read(self, due_s: float) -> bool:
        """Take in what comes next; False at the end, or when it takes too long."""
        while time.monotonic() < due_s:
            ready, _, _ = select.select([self._master], [], [], 0.2)
            if ready:
                found = heard(self._master)
                self._said += found
                return bool(found)
        return False
