"""A loop that a supervisor drives with commits: a real repository, and what its branch says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hook.conftest import ProjectFactory
from hook.harness import Answer, LoopProject
from hook.proven import listed
from ralphloop.domain.model import Supervision
from ralphloop.store import arming

IDENTITY = "[user]\n\tname = Person\n\temail = person@example.invalid\n"
TRAILERS = ("Task", "Loop", "Evidence")


class Commit(NamedTuple):
    sha: str
    subject: str
    body: str
    task: str
    loop: str
    evidence: str


def git(found: LoopProject, *words: str, cwd: Path | None = None, check: bool = True) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(found.home), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words], cwd=cwd or found.root, env=env, check=check, capture_output=True, text=True
    )
    return done.stdout.strip("\n")


def driven(project: ProjectFactory, *features: Mapping[str, Any], branch: str = "work") -> LoopProject:
    """A loop over these features whose list is committed, on a branch of its own."""
    found = listed(project, *features, armed=False)
    (found.home / ".gitconfig").write_text(IDENTITY)
    found.commit_all()
    git(found, "switch", "--quiet", "--create", branch)
    found.arm()
    drive(found, branch=branch)
    return found


def drive(found: LoopProject, *, branch: str = "work") -> None:
    """What a supervisor does before it starts a session."""
    loop = found.the_loop()
    state = loop.load()
    assert state is not None
    arming.hand_on(loop, state, session=found.session, terms=Supervision(branch=branch), batch=[])


def turn(found: LoopProject, *closed: int, **fields: Any) -> Answer:
    """A turn that closes these tasks and leaves a file for each."""
    for number in closed:
        (found.root / f"work{number}.txt").write_text(f"work on {number}\n")
        found.close(number)
    return found.turn(registration="run", **fields)


def commits(found: LoopProject, branch: str = "work") -> list[Commit]:
    """Those that are about a task, oldest first."""
    shape = [f"%(trailers:key=Ralphloop-{name},valueonly,separator=%x2C)" for name in TRAILERS]
    text = git(found, "log", "--reverse", f"--format=%H%x1f%s%x1f%b%x1f{'%x1f'.join(shape)}%x1e", branch)
    rows = [row.strip("\n").split("\x1f") for row in text.split("\x1e") if row.strip("\n")]
    return [commit for commit in (Commit(*row) for row in rows) if commit.task]


def files_of(found: LoopProject, commit: Commit) -> set[str]:
    text = git(found, "show", "--format=", "--name-only", commit.sha)
    return {name for name in text.splitlines() if name}


def is_clean(found: LoopProject) -> bool:
    return not git(found, "status", "--porcelain")
