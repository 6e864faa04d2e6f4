"""The view section: the share of one core that `watch` takes while a session is busy, and while it is not."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

from project import Project, assistant_line, new_loop, tool_call_line
from registration import command_argv, command_env
from table import Figure, Section
from timing import WrongAnswerError

COLUMNS, ROWS = 200, 50
EVENTS_PER_S = 50
JOURNAL_EVERY = 5
AIM = 5.0
START_S = 20.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
EDIT = {
    "file_path": "src/handler.py",
    "old_string": "def answer():\n    return 404\n",
    "new_string": "def answer():\n    body = render()\n    return 200, body\n",
}


def view(scratch: Path, seconds: int) -> Section:
    """At 200x50 with 20 tasks and a 1 MB transcript; the time that it takes to start does not count."""
    section = Section("view")
    if not Path("/proc/self/stat").exists():
        section.notes.append("no /proc here: left out")
        return section
    project = new_loop(scratch, "view", features=20)
    place = transcript_place(project)
    place.write_bytes(project.transcript.read_bytes())
    with Watching(project) as watching:
        watching.wait_until_drawn()
        quiet = watching.share(seconds, lambda number: None)
        before = watching.drawn
        busy = watching.share(seconds, Feeder(project, place).write)
        redrawn = (watching.drawn - before) / seconds
    name = f"busy: {EVENTS_PER_S} events/s at {COLUMNS}x{ROWS}, of a core"
    section.figures += [
        Figure(name, busy, "%", AIM),
        Figure("quiet: nothing happens, of a core", quiet, "%"),
        Figure("busy: bytes drawn per second", redrawn, "B"),
    ]
    return section


def transcript_place(project: Project) -> Path:
    """Where the client would keep this session's transcript."""
    folder = "".join(ch if ch.isalnum() else "-" for ch in str(project.root))
    place = project.home / ".claude" / "projects" / folder / f"{project.session}.jsonl"
    place.parent.mkdir(parents=True)
    return place


class Feeder:
    """Writes what a busy session and its hook write: texts, calls, edits, and decisions."""

    def __init__(self, project: Project, transcript: Path) -> None:
        self._transcript, self._journal = transcript, project.run_folder / "journal.jsonl"

    def write(self, number: int) -> None:
        if number % JOURNAL_EVERY == 0:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
            told = {"at": stamp, "event": "refused", "task": f"F{number}", "detail": "exit code 1"}
            append(self._journal, json.dumps(told).encode() + b"\n")
        elif number % 3 == 0:
            append(self._transcript, tool_call_line())
        elif number % 3 == 1:
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": EDIT}
            append(self._transcript, assistant_line(call))
        else:
            said = f"Step {number}: I read the module and changed the handler. " * 4
            append(self._transcript, assistant_line({"type": "text", "text": said}))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


class Watching:
    """The view in a pseudo-terminal that a thread reads as fast as it can."""

    def __init__(self, project: Project) -> None:
        self.drawn = 0
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = {**command_env(project.home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self._process = subprocess.Popen(
            command_argv("watch"), cwd=project.root, env=env, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(10)
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            if not data:
                return
            self.drawn += len(data)

    def wait_until_drawn(self) -> None:
        due = time.monotonic() + START_S
        while self.drawn < 1000:
            if self._process.poll() is not None or time.monotonic() > due:
                raise WrongAnswerError(f"the view drew nothing (exit {self._process.poll()})")
            time.sleep(0.1)
        time.sleep(2.5)  # the first look at everything is over

    def share(self, seconds: int, each: Callable[[int], None]) -> float:
        """Per cent of one core, user and system time, over so many seconds of events."""
        begin, used = time.monotonic(), self._cpu_s()
        for number in range(seconds * EVENTS_PER_S):
            each(number)
            time.sleep(max(0.0, begin + (number + 1) / EVENTS_PER_S - time.monotonic()))
        if self._process.poll() is not None:
            raise WrongAnswerError(f"the view has ended (exit {self._process.poll()})")
        return 100 * (self._cpu_s() - used) / (time.monotonic() - begin)

    def _cpu_s(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S
