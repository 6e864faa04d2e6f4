"""Counts the instructions of a stop under valgrind: a figure that a busy machine does not move.

`python benchmarks/instructions.py [--runs N]`. What stands before an `exec` is not counted, so of an active
stop it is Python's part. The interpreter runs isolated and draws its hash seed anew; that is the spread.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from project import Project, new_loop, new_project, wait_until_settled
from registration import bare_python_argv, stop_argv
from sections import hook_candidate, must_be_silent, must_refuse
from timing import Candidate, Run

WARM_UP_RUNS = 2  # writes the bundle, and settles what a stop remembers of the last one
COLLECTED = re.compile(r"Collected\s*:\s*(\d+)")


def candidates(scratch: Path) -> list[Candidate]:
    idle = new_project(scratch, "idle")
    active = new_loop(scratch, "active", features=5)
    due = new_loop(scratch, "due", features=5, verify="false")
    known = hook_candidate("active", active)
    return [
        Candidate("python", bare_python_argv(), idle.root, idle.env),
        Candidate("idle", stop_argv(), idle.root, idle.env, idle.next_stop, must_be_silent),
        replace(known, before=settled(active, active.next_stop)),
        Candidate("due", stop_argv(), due.root, due.env, settled(due, due.next_claim), must_refuse),
    ]


def settled(project: Project, before: Callable[[], bytes]) -> Callable[[], bytes]:
    """A list that was just written is read in another way, so let it age."""

    def prepare() -> bytes:
        payload = before()
        wait_until_settled(project.list_file)
        return payload

    return prepare


def instructions(candidate: Candidate) -> int:
    """Of one run and all that it starts."""
    payload = candidate.before()
    with tempfile.TemporaryDirectory(prefix="ralphloop-callgrind-") as folder:
        tool = ["valgrind", "--tool=callgrind", "--trace-children=yes"]
        places = [f"--callgrind-out-file={folder}/out.%p", f"--log-file={folder}/log.%p"]
        ran = subprocess.run(
            [*tool, *places, *candidate.argv],
            input=payload, capture_output=True, cwd=candidate.cwd, env=candidate.env, check=False,
        )  # fmt: skip
        candidate.check(Run(0.0, ran.returncode, ran.stdout, ran.stderr))
        logs = [log.read_text() for log in Path(folder).glob("log.*")]
    return sum(int(count) for log in logs for count in COLLECTED.findall(log))


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="ralphloop-bench-") as folder:
        for candidate in candidates(Path(folder).resolve()):
            counts = sorted([instructions(candidate) for _ in range(WARM_UP_RUNS + runs)][WARM_UP_RUNS:])
            spread = (counts[-1] - counts[0]) / median(counts)
            print(f"{candidate.name:8}{median(counts):14,.0f}  spread {spread:.2%}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Count the instructions of a stop under valgrind.")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="counted runs of each (3)")
    main(parser.parse_args().runs)
