"""The timed sections: what a stop costs, and how that grows with the transcript and the task list."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from project import MB, Project, command, new_loop, new_project, new_reference_loop, wait_until_settled
from registration import (
    bare_python_argv,
    base_interpreter,
    command_argv,
    command_env,
    reference_argvs,
    stop_argv,
)
from table import Figure, Section, ratio
from timing import Candidate, Run, Series, WrongAnswerError, interleave, run_candidate

LARGE_TRANSCRIPT = 2048 * MB
FREE_DISK_NEEDED = 6 * 1024 * MB
STOP_AIMS = (
    ("idle", "sh", 1.5),
    ("active", "python", 2.0),
    ("active", "bash+jq", 0.15),
    ("active", "node", 0.35),
)
LARGE_LIST = 100_000
# A process of its own, because a spawned child starts with the peak of whoever spawned it.
PEAK_MEMORY = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
print(os.wait4(pid, 0)[2].ru_maxrss, file=sys.stderr)
"""


def stop(scratch: Path, rounds: int) -> Section:
    """What one stop costs, beside bare processes and the same job in bash and in Node."""
    idle = new_project(scratch, "idle")
    active = new_loop(scratch, "active", features=5)
    candidates = [
        Candidate("sh", ["/bin/sh", "-c", ":"], idle.root, idle.env, idle.next_stop),
        Candidate("python", bare_python_argv(), idle.root, idle.env, idle.next_stop),
        Candidate("idle", stop_argv(), idle.root, idle.env, idle.next_stop, must_be_silent),
        hook_candidate("active", active),
    ]
    section = Section("stop")
    for name, argv in reference_argvs().items():
        if argv is None:
            section.notes.append(f"{name} is not installed: left out")
            continue
        candidates.append(hook_candidate(name, new_reference_loop(scratch, name, features=5), argv))
    section.series = interleave(candidates, rounds)
    section.figures = stop_ratios(section.series, reference_argvs())
    return section


def stop_ratios(series: list[Series], references: Iterable[str]) -> list[Figure]:
    """Those with an aim, then ours beside every other hook that has none."""
    aimed = {lower for _, lower, _ in STOP_AIMS}
    pairs = [*STOP_AIMS, *(("active", name, None) for name in references if name not in aimed)]
    return [figure for upper, lower, aim in pairs for figure in ratio(series, upper, lower, aim)]


def transcript(scratch: Path, rounds: int) -> Section:
    """A stop must not get slower as the session grows."""
    section = Section("transcript")
    if shutil.disk_usage(scratch).free < FREE_DISK_NEEDED:
        section.notes.append("skipped: less than 6 GB of free disk")
        return section
    small = new_loop(scratch, "small-transcript", features=5)
    large = new_loop(scratch, "large-transcript", features=5, transcript_size=LARGE_TRANSCRIPT)
    try:
        section.series = interleave([hook_candidate("1 MB", small), hook_candidate("2 GB", large)], rounds)
    finally:
        large.transcript.unlink()
    section.figures = ratio(section.series, "2 GB", "1 MB", 1.3)
    section.notes.append("the 2 GB are 4 MB of real lines, a sparse hole, and 4 MB of real lines")
    return section


def features(scratch: Path, rounds: int) -> Section:
    """A stop must not get slower with the task list, once the hook has seen it."""
    few = new_loop(scratch, "few-features", features=10)
    many = new_loop(scratch, "many-features", features=LARGE_LIST)
    candidates = [hook_candidate("10 features", few), hook_candidate("100000 features", many)]
    wait_until_settled(many.list_file)
    first = run_candidate(candidates[1])
    section = Section("features", interleave(candidates, rounds))
    section.figures = [
        *ratio(section.series, "100000 features", "10 features", 1.5),
        Figure("first stop at 100000 features", first.elapsed_ms, "ms"),
        Figure("peak memory at 100000 features", peak_memory_mb(candidates[1]), "MB", 30),
    ]
    return section


def checks(scratch: Path, rounds: int) -> Section:
    """A list with checks costs nothing until one is due."""
    without = new_loop(scratch, "without-checks", features=5)
    idle = new_loop(scratch, "idle-checks", features=5, verify="true")
    due = new_loop(scratch, "due-checks", features=5, verify="false")
    candidates = [
        hook_candidate("no checks", without),
        hook_candidate("checks, none due", idle),
        Candidate("a check is due", stop_argv(), due.root, due.env, due.next_claim, must_refuse),
    ]
    section = Section("checks", interleave(candidates, rounds))
    section.figures = [
        *ratio(section.series, "checks, none due", "no checks", 1.05),
        *ratio(section.series, "a check is due", "no checks", None),
    ]
    return section


def commands(scratch: Path, rounds: int) -> Section:
    """The command people type most, on a loop of ordinary size."""
    project = new_loop(scratch, "commands", features=100)
    command(project, "status")
    script = Path(sys.executable).with_name("ralphloop")
    argv = [str(script), "status"] if script.exists() else command_argv("status")
    env = command_env(project.home)
    candidates = [
        Candidate("python", bare_python_argv(), project.root, env),
        Candidate("ralphloop status, 100 tasks", argv, project.root, env),
    ]
    return Section("commands", interleave(candidates, rounds))


def hook_candidate(name: str, project: Project, argv: list[str] | None = None) -> Candidate:
    return Candidate(name, argv or stop_argv(), project.root, project.env, project.next_stop, must_block)


def must_be_silent(run: Run) -> None:
    if run.stdout or run.stderr:
        raise WrongAnswerError(f"a project without a loop was answered: {run.stdout!r} {run.stderr!r}")


def must_block(run: Run) -> None:
    if not run.blocks:
        raise WrongAnswerError(f"expected a block, got {run.stdout!r} {run.stderr!r}")


def must_refuse(run: Run) -> None:
    must_block(run)
    if b"is refused" not in run.stdout:
        raise WrongAnswerError(f"expected a refused claim, got {run.stdout!r}")


def peak_memory_mb(candidate: Candidate) -> float:
    """The largest process of one run; ru_maxrss counts KB on Linux and bytes on macOS."""
    helper = [base_interpreter(), "-I", "-S", "-c", PEAK_MEMORY, *candidate.argv]
    run = run_candidate(replace(candidate, argv=helper))
    return int(run.stderr.split()[-1]) / (MB if sys.platform == "darwin" else 1024)
