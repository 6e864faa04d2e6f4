"""Runs whole processes, times them interleaved, and sums the samples up."""

from __future__ import annotations

import json
import os
import select
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

WARM_UP_ROUNDS = 3
PROCESS_TIMEOUT_S = 60


@dataclass(frozen=True)
class Run:
    """One finished process."""

    elapsed_ms: float
    exit_code: int
    stdout: bytes
    stderr: bytes
    cpu_ms: float = 0.0  # its own and that of the children it waited for

    @property
    def blocks(self) -> bool:
        try:
            return self.exit_code == 0 and json.loads(self.stdout)["decision"] == "block"
        except (ValueError, KeyError):
            return False


@dataclass(frozen=True)
class Candidate:
    """One command to time; `before` makes its stdin and `check` looks at its answer, both off the clock."""

    name: str
    argv: list[str]
    cwd: Path
    env: dict[str, str]
    before: Callable[[], bytes] = bytes
    check: Callable[[Run], None] = lambda run: None


@dataclass(frozen=True)
class Series:
    """The samples of one candidate."""

    name: str
    samples_ms: list[float]

    @property
    def median_ms(self) -> float:
        return median(self.samples_ms)

    @property
    def p95_ms(self) -> float:
        return quantiles(self.samples_ms, n=20, method="inclusive")[-1]


class WrongAnswerError(Exception):
    """A timed process did not do the job whose time was asked for."""


@dataclass
class Started:
    """A process under way, with the file ends that belong to it."""

    pid: int
    started_at: float
    stdout: int
    stderr: int


def interleave(candidates: Sequence[Candidate], rounds: int, *, cpu: bool = False) -> list[Series]:
    """Time every candidate once per round, in an order that rotates, after a few rounds that do not count.
    `cpu` takes what they computed instead of how long they took."""
    samples: dict[str, list[float]] = {candidate.name: [] for candidate in candidates}
    for number in range(-WARM_UP_ROUNDS, rounds):
        first = number % len(candidates)
        for candidate in [*candidates[first:], *candidates[:first]]:
            run = run_candidate(candidate)
            if number >= 0:
                samples[candidate.name].append(run.cpu_ms if cpu else run.elapsed_ms)
    return [Series(name, taken) for name, taken in samples.items()]


def run_candidate(candidate: Candidate) -> Run:
    payload = candidate.before()
    run = finish(start(candidate.argv, candidate.cwd, env=candidate.env, stdin=payload))
    if run.exit_code != 0:
        raise WrongAnswerError(f"{candidate.name}: exit code {run.exit_code}: {run.stderr.decode()[-500:]}")
    candidate.check(run)
    return run


def start(argv: list[str], cwd: Path, *, env: dict[str, str], stdin: bytes) -> Started:
    """Spawn with pipes, as the client does. posix_spawn costs the same however large this process is."""
    stdin_read, stdin_write = os.pipe()
    os.write(stdin_write, stdin)
    os.close(stdin_write)
    stdout_read, stdout_write = os.pipe()
    stderr = scratch_file()
    ends = [(os.POSIX_SPAWN_DUP2, fd, n) for n, fd in enumerate((stdin_read, stdout_write, stderr))]
    os.chdir(cwd)
    started_at = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=ends, setpgroup=0)
    os.close(stdin_read)
    os.close(stdout_write)
    return Started(pid, started_at, stdout_read, stderr)


def scratch_file() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def finish(started: Started) -> Run:
    """Read to the end of stdout, then reap: the clock stops when the process is gone."""
    chunks = []
    while chunk := read_before_timeout(started):
        chunks.append(chunk)
    _, status, used = os.wait4(started.pid, 0)
    elapsed_ms = (time.perf_counter() - started.started_at) * 1000
    stderr = os.pread(started.stderr, 65536, 0)
    os.close(started.stdout)
    os.close(started.stderr)
    cpu_ms = (used.ru_utime + used.ru_stime) * 1000
    return Run(elapsed_ms, os.waitstatus_to_exitcode(status), b"".join(chunks), stderr, cpu_ms)


def read_before_timeout(started: Started) -> bytes:
    ready, _, _ = select.select([started.stdout], [], [], PROCESS_TIMEOUT_S)
    if not ready:
        os.killpg(started.pid, signal.SIGKILL)
    return os.read(started.stdout, 65536)
