"""What ordinary mistakes are answered with: each message says what is wrong, why, and what to type."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import tempfile
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from e2e import mistakes, mistakes_in_lists
from e2e.cli_project import Done, Project
from e2e.mistakes import Mistake
from fakes import pseudo_terminal, warm
from fakes.patience import eventually
from ralphloop.views.fold import width_of

ROWS = (*mistakes.ROWS, *mistakes_in_lists.ROWS)
COLUMNS = 80


@contextmanager
def ground() -> Iterator[Project]:
    """Where paths are short, because nobody folds one; nothing of it is left."""
    with tempfile.TemporaryDirectory(prefix="m-") as folder:
        made = Project(Path(folder))
        yield made
        for pid in mistakes.supervisors(made):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not mistakes.alive(made))


@pytest.fixture
def project() -> Iterator[Project]:
    with ground() as made:
        yield made


@pytest.mark.parametrize("mistake", [pytest.param(row, id=row.name) for row in ROWS])
def test_a_mistake_is_answered_with_what_why_and_cure(project: Project, mistake: Mistake) -> None:
    done = play(project, mistake)
    told = " ".join(done.out.split())
    for part in ("what", "why", "cure"):
        missing = [words for words in getattr(mistake, part) if words not in told]
        assert not missing, f"{part} lacks {missing}:\n{done.out}"
    assert done.code == mistake.code, done.out
    assert [line for line in done.out.splitlines() if width_of(line) > COLUMNS] == []
    assert "usage:" not in done.out
    assert "Traceback" not in done.out
    assert "fatal:" not in done.out, "another program's words"


def play(project: Project, mistake: Mistake) -> Done:
    """Make it, in a terminal of 80 columns to which nobody types; its output, both streams."""
    for path, text in mistake.files.items():
        project.write(path, text)
    for words in mistake.before:
        done = project.run(*words)
        assert done.code == 0, done
    if mistake.setup is not None:
        mistake.setup(project)
    return _in_terminal(project, mistake)


def _in_terminal(project: Project, mistake: Mistake) -> Done:
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    heard: list[bytes] = []
    reader = threading.Thread(target=_listen, args=(ours, heard))
    reader.start()
    process = warm.start(
        mistake.words,
        env=project.env({"TERM": "xterm", **mistake.env}),
        cwd=project.root / mistake.folder,
        stdin=subprocess.PIPE,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    process.communicate(mistake.stdin.encode(), timeout=60)
    reader.join()
    os.close(ours)
    assert process.returncode is not None
    return Done(process.returncode, b"".join(heard).decode().replace("\r\n", "\n"), "")


def _listen(handle: int, heard: list[bytes]) -> None:
    while data := pseudo_terminal.heard(handle):
        heard.append(data)
