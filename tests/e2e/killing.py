"""A loop under siege: the real client driven by `ralphloop run`, parts of it killed at random instants, and
what must hold after each blow and at the end."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from e2e.looping import bash
from e2e.running import Running, list_of, task_in
from fakes.effort import SOAK
from fakes.patience import eventually
from ralphloop.lab.model_server import ModelRequest
from ralphloop.lab.reply import Reply, text

RUN, SUPERVISOR, GUARDIAN, CLIENT = "run", "supervisor", "guardian", "client"
EVENTS = ("session", "claim", "proven", "stop", "session_end")
# Kills count as iterations and as attempts at a task.
PATIENT = ("--batch", "1", "--max-iterations", "900", "--max-attempts", "900")
AWAY = "setsid tail -f /dev/null >/dev/null 2>&1 &"  # leaves its group, and would live for ever
LONGEST_S = 2.5 if SOAK else 1.5  # of a random pause: as long as a session takes, or longer
GONE_S = 20.0  # a noisy machine's deadline; the times that were measured are told


def tasks_to_do(count: int) -> dict[str, str]:
    """Tasks whose work leaves a line with its time in a file of their own."""
    return list_of(*({"verify": f"test -s work/F{place}"} for place in range(1, count + 1)))


def work_on(task: str, *, leaving: str = "") -> str:
    """One line per time that it was done, then the claim."""
    return f"{leaving} mkdir -p work; date +%s%3N >> work/{task}; ralphloop done {task}"


def worker(request: ModelRequest) -> Reply:
    """Any session does any task: what it was sent to, one call and a word."""
    last = request.body["messages"][-1]["content"]
    if isinstance(last, list) and any(part.get("type") == "tool_result" for part in last):
        return text("It is done.")
    task = task_in(request)
    return bash(work_on(task, leaving=AWAY if int(task[1:]) % 3 == 0 else ""))


@dataclass(frozen=True)
class Blow:
    """One kill: who was hit, when, and how long it took until nothing was left."""

    victims: tuple[str, ...]
    at: float
    gone_after_s: float = 0.0


@dataclass
class Siege:
    stage: Running
    seed: int
    words: Sequence[str] = PATIENT
    blows: list[Blow] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def start(self) -> None:
        self.process = self.stage.start(*self.words)

    def go_on(self) -> None:
        """`ralphloop run`, for the first time or once more: a dead holder is never in its way."""
        self.start()
        eventually(lambda: self.roles().get(SUPERVISOR) or self._failed(), deadline_s=60)

    def _failed(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"run ended at once: {self.process.communicate()}")
        return False

    def roles(self) -> dict[str, list[int]]:
        """The processes of the run by what they are; what the client started is not among them."""
        found: dict[str, list[int]] = {}
        for pid, words in self.stage.processes().items():
            role = _role(words)
            if role:
                found.setdefault(role, []).append(pid)
        return found

    def wait_for_an_instant(self) -> None:
        """A random time from now, or a random event and a moment."""
        if self.chance.random() < 0.5:
            time.sleep(self.chance.uniform(0.0, LONGEST_S))
            return
        wanted = self.chance.choice(EVENTS)
        seen = len(self.stage.events(wanted))
        due = time.monotonic() + 10.0
        while len(self.stage.events(wanted)) == seen and time.monotonic() < due:
            time.sleep(0.01)
        time.sleep(self.chance.uniform(0.0, 0.3))

    def tails(self) -> set[int]:
        """The commands that the client has at work."""
        return {pid for pid, words in self.stage.processes().items() if words[0] == "tail"}

    def freeze(self, victims: Sequence[str]) -> None:
        """So that none of them sees the others die."""
        roles = self.roles()
        for pid in [pid for role in victims for pid in roles[role]]:
            os.kill(pid, signal.SIGSTOP)

    def strike(self, victims: Sequence[str], *, sure: bool = True) -> set[int]:
        """SIGKILL them all, as nearly at once as one process can, as soon as all of them are there; without
        `sure` those that are. The processes of the session that was hit."""
        roles = eventually(lambda: self._all_there(victims)) if sure else self.roles()
        struck = set(self.stage.processes()) - {*roles.get(RUN, []), *roles.get(SUPERVISOR, [])}
        for pid in [pid for role in victims for pid in roles.get(role, [])]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.blows.append(Blow(tuple(victims), time.time()))
        return struck

    def _all_there(self, victims: Sequence[str]) -> dict[str, list[int]]:
        roles = self.roles()
        return roles if roles.keys() >= set(victims) else {}

    def await_the_end_of(self, struck: set[int]) -> None:
        """Of a session whose client or guardian was hit nothing is left, while the run goes on."""
        with contextlib.suppress(AssertionError):
            eventually(lambda: not struck & set(self.stage.processes()), deadline_s=GONE_S)
        left = struck & set(self.stage.processes())
        assert not left, f"{self.told()}: left {[self.stage.processes().get(pid) for pid in left]}"
        self._note_time()

    def _note_time(self) -> None:
        blow = self.blows[-1]
        self.blows[-1] = Blow(blow.victims, blow.at, time.time() - blow.at)

    def await_silence(self) -> None:
        """Nothing of the run is left; how long that took goes with the blow. What the client had started is
        gone too, unless nobody was spared who could have ended it: then the next run does."""
        blow = self.blows[-1]
        assert self.process is not None
        self.process.communicate(timeout=GONE_S)
        spared = not {RUN, SUPERVISOR, GUARDIAN} <= set(blow.victims)
        left = self.stage.processes if spared else self.roles
        with contextlib.suppress(AssertionError):
            eventually(lambda: not left(), deadline_s=GONE_S)
        assert left() == {}, f"{self.told()}: left {left()}"
        self._note_time()

    def look_at_the_files(self) -> None:
        """Every machine file is whole, and `status` reads the loop."""
        for file in self._machine_files():
            for part in file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]:
                json.loads(part)
        status = self.stage.command("status", "--json")
        assert status.code == 0, f"{self.told()}: {status.stderr}"
        assert json.loads(status.stdout)["loops"][0]["name"] == "demo"

    def _machine_files(self) -> Iterator[Path]:
        for folder in (self.stage.root / ".ralph/run", self.stage.home.path / ".local/state/ralphloop"):
            yield from folder.rglob("*.json")
            yield from folder.rglob("*.jsonl")

    def finish(self) -> None:
        """Left in peace, one long session does the rest."""
        done = self.stage.run("--max-iterations", "900", "--max-attempts", "900", timeout_s=200)
        assert done.code == 0, f"{self.told()}: {done}"

    def check_the_end(self, count: int) -> None:
        """Complete, each task proven once by evidence that is there, and nothing of it done again later."""
        stage, ids = self.stage, {f"F{place}" for place in range(1, count + 1)}
        assert stage.ending == ("ended", "complete"), self.told()
        assert stage.tasks() == dict.fromkeys(ids, "proven"), self.told()
        assert stage.loop["iteration"] <= 900
        found = json.loads(stage.command("evidence", "--json").stdout)["evidence"]
        sound = {
            task for entry in found if entry["green"] and entry["file"] == "sound" for task in entry["tasks"]
        }
        assert sound == ids, self.told()
        assert stage.command("verify", "--all").code == 0
        for task in sorted(ids):
            self._check_task(task)
        assert stage.processes() == {}

    def _check_task(self, task: str) -> None:
        proven = [_ms(entry["at"]) for entry in self.stage.events("proven") if entry["task"] == task]
        worked = [int(line) for line in (self.stage.root / "work" / task).read_text().split()]
        assert max(worked) <= proven[0], f"{self.told()}: {task} was done again, {worked} {proven}"
        # A blow between the journal and the ledger, which are two files, makes the proof be taken again.
        struck = [ms for ms in proven[:-1] if any(0 <= blow.at * 1000 - ms < 1000 for blow in self.blows)]
        blows = [round(blow.at * 1000) for blow in self.blows]
        assert len(proven) == 1 + len(struck), f"{self.told()}: {task} proven at {proven}, blows at {blows}"

    def told(self) -> str:
        said = ", ".join(f"{'+'.join(blow.victims)} {blow.gone_after_s:.2f}" for blow in self.blows)
        return f"seed {self.seed}, {len(self.blows)} blows ({said})"


def _role(words: Sequence[str]) -> str:
    if "supervise" in words:
        return SUPERVISOR
    if any(word.endswith("guardian.py") for word in words):
        return GUARDIAN
    if "--session-id" in words and os.path.basename(words[0]) == "claude":
        return CLIENT
    return RUN if list(words[1:4]) == ["-m", "ralphloop", "run"] else ""


def _ms(at: str) -> float:
    return datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp() * 1000


def zombies_of(parents: Sequence[int]) -> list[Any]:
    """Dead children that one of these has not taken note of."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state, parent = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[:2]
            if state == "Z" and int(parent) in parents:
                found.append((int(name), int(parent)))
    return found
