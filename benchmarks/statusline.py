"""The statusline section: what the line under the input box costs, which is drawn after every message."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from project import Project, new_loop, new_project, wait_until_settled
from registration import bare_python_argv, statusline_argv
from sections import LARGE_LIST, hook_candidate, must_be_silent
from table import Section, ratio
from timing import Candidate, Run, WrongAnswerError, interleave, run_candidate

AIMS = (
    ("no loop", "sh", 1.5),
    ("a loop", "python", 2.0),
    ("100000 features", "a loop", 1.5),
)


def statusline(scratch: Path, rounds: int) -> Section:
    """The line without a loop, of a small loop, and of one with a list that the hook has seen once."""
    idle = new_project(scratch, "idle")
    few = new_loop(scratch, "few", features=5)
    many = new_loop(scratch, "many", features=LARGE_LIST)
    wait_until_settled(many.list_file)
    for project in (few, many):
        run_candidate(hook_candidate("one stop", project))
    candidates = [
        Candidate("sh", ["/bin/sh", "-c", ":"], idle.root, idle.env, partial(payload, idle)),
        Candidate("python", bare_python_argv(), idle.root, idle.env, partial(payload, idle)),
        shown("no loop", idle, must_be_silent),
        shown("a loop", few, must_name_the_next_task),
        shown("100000 features", many, must_name_the_next_task),
    ]
    section = Section("statusline", interleave(candidates, rounds))
    for upper, lower, aim in AIMS:
        section.figures += ratio(section.series, upper, lower, aim)
    return section


def shown(name: str, project: Project, check: Callable[[Run], None]) -> Candidate:
    return Candidate(name, statusline_argv(), project.root, project.env, partial(payload, project), check)


def payload(project: Project) -> bytes:
    """What client 2.1.325 sends, as far as it is looked at."""
    folder = str(project.root)
    said = {
        "session_id": project.session,
        "transcript_path": str(project.transcript),
        "cwd": folder,
        "prompt_id": project.prompt,
        "workspace": {"current_dir": folder, "project_dir": folder, "added_dirs": []},
        "cost": {"total_cost_usd": 1.2, "total_duration_ms": 1319},
        "context_window": {"context_window_size": 1_000_000, "used_percentage": 41},
    }
    return json.dumps(said).encode()


def must_name_the_next_task(run: Run) -> None:
    if b" \xc2\xb7 next F1 \xc2\xb7 context 41 %" not in run.stdout:
        raise WrongAnswerError(f"expected the line of a loop, got {run.stdout!r} {run.stderr!r}")
