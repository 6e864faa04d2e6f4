"""Ctrl-C at random instants of commands, started as people do: no traceback, nothing half-written.

What comes while the interpreter itself starts is the interpreter's to tell: it is counted, and taken out.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from e2e.cli_project import OTHER, SESSION, Project
from fakes.effort import SOAK, rounds
from fakes.patience import eventually
from security.life import CLIENT

INSTANTS = rounds(50, soak=1000)
LONGEST_S = 60.0
INTERRUPTED = 130
PACKAGE, FIRST = "/ralphloop/", re.compile("/ralphloop/(__init__|__main__|entry).py$")
pytestmark = pytest.mark.slow

# Each with the exit codes that it has of its own; `{n}` is another number each time.
COMMANDS: dict[str, set[int]] = {
    "status": {0},
    "new list-{n} --from ideas.md": {0},
    "start list-0 --session " + OTHER: {0, 1},
    "report shop": {18},
    "plan --show other": {0},
    "verify F2 --loop shop": {0},
    "doctor --no-live": {0, 1},
    "demo --fast --no-color": {0},
    "run other --plain --yes": {1, 15, 17},  # 17: paused; 1: the last one's supervisor is still at its end
    "log shop -f": set(),
    "watch shop --plain": {0},
}
ENDLESS = ("log shop -f", "watch shop --plain")
ENDLESS_S = 0.5


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def is_ours(self) -> bool:
        """Whether it was our code that the signal met: before that the interpreter has no handler yet, or
        shows where it was in its own modules, at the latest while it loads the first one of ours."""
        if self.code == -signal.SIGINT and not self.out and not self.err:
            return False
        frames = re.findall(r'File "([^"]*)", line \d+, in (\S+)', self.err)
        mine = [frame for frame in frames if FIRST.search(frame[0]) is None or frame[1] != "<module>"]
        return "Traceback" not in self.err or any(PACKAGE in path for path, _ in mine)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    found.program("claude", CLIENT)
    found.write("ideas.md", "- Log in\n- Log out\n")
    listed = b"- Log in\n- Log out\n  - Verify: `sleep 0.3`\n- Pay\n"
    found.fine("new", "shop", "--from", "-", stdin=listed)
    found.fine("start", "shop", "--session", SESSION, "--yes")
    found.new("other")
    found.new("list-0")
    return found


def start(project: Project, command: str, number: int) -> subprocess.Popen[str]:
    words = command.format(n=number).split()
    return subprocess.Popen(
        [sys.executable, "-m", "ralphloop", *words], cwd=project.root, env=project.env(),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> Ended:
    try:
        out, err = process.communicate(timeout=LONGEST_S)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return Ended(process.returncode, out, err)


def usual_s(project: Project, command: str) -> float:
    """How long it takes if nobody interrupts it."""
    if command in ENDLESS:
        return ENDLESS_S
    begun = time.monotonic()
    done = ended(start(project, command, 1_000_000))
    assert done.code in COMMANDS[command], (command, done)
    return time.monotonic() - begun


@pytest.mark.timeout(3600 if SOAK else 300)
def test_no_interrupt_shows_a_traceback_or_leaves_something_half_written(project: Project) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    lasting = {command: usual_s(project, command) for command in COMMANDS}
    codes: Counter[int] = Counter()
    at_start = 0
    for number in range(1, 4 * INSTANTS):
        command = chance.choice([*COMMANDS])
        process = start(project, command, number)
        time.sleep(chance.uniform(0.0, 1.1 * lasting[command]))
        process.send_signal(signal.SIGINT)
        done = ended(process)
        told = (seed, number, command, done)
        assert json.loads(project.fine("status", "--json"))["loops"], told
        if not done.is_ours:
            at_start += 1
            continue
        assert "Traceback" not in done.err, told
        assert done.code in {INTERRUPTED, *COMMANDS[command]}, told
        codes[done.code] += 1
        if codes.total() == INSTANTS:
            break
    print(f"seed {seed}: {at_start} instants met the interpreter's own start, the others ended with {codes}")
    assert codes[INTERRUPTED] > INSTANTS / 5, (seed, codes)
    assert codes.total() == INSTANTS, (seed, at_start, codes)
    eventually(lambda: not [loop for loop in loops(project) if loop["driver"]])
    for loop in loops(project):
        project.fine("log", loop["id"])
        assert loop["fault"] == "", (seed, loop)


def loops(project: Project) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(project.fine("status", "--json"))["loops"]
    return found


def test_a_traceback_of_ours_would_be_seen() -> None:
    """As Python 3.11 shows an interrupt in the middle of our imports, and one of its own start."""
    frame = 'Traceback (most recent call last):\n  File "{}", line 1, in {}\nKeyboardInterrupt\n'
    for path, where in (("cli/main.py", "<module>"), ("cli/main.py", "entry"), ("entry.py", "entry")):
        assert Ended(1, "", frame.format("/x/ralphloop/" + path, where)).is_ours
    assert not Ended(1, "", frame.format("/x/ralphloop/__main__.py", "<module>")).is_ours
    assert Ended(130, "", "").is_ours
    assert not Ended(1, "", frame.format("<frozen site>", "main")).is_ours
    assert not Ended(-2, "", "").is_ours
