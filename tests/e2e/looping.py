"""Loops for the client to work through: project files per layout, the turns of a model that does them,
and a look at the loop from outside."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.client import REPOSITORY, ClientHome
from fakes import warm
from ralphloop.lab.reply import Reply, call, text

SPECUM_STATE = {
    "source": "spec", "name": "demo", "basePath": "./specs/demo", "phase": "execution", "taskIndex": 0,
    "totalTasks": 3, "taskIteration": 1, "maxTaskIterations": 5, "globalIteration": 1,
    "maxGlobalIterations": 100,
}  # fmt: skip
SPECKIT_STATE = {
    "featureId": "001", "name": "demo", "basePath": ".specify/specs/001-demo", "phase": "execution",
    "taskIndex": 0, "totalTasks": 3, "taskIteration": 1, "maxTaskIterations": 5, "globalIteration": 1,
    "maxGlobalIterations": 100, "awaitingApproval": False,
}  # fmt: skip
TASKS = "# Tasks\n\n- [ ] 1.1 First\n  - **Do**: touch one\n- [ ] 1.2 Second\n- [ ] 1.3 Third\n"


def plugin(name: str) -> Path:
    return REPOSITORY / "plugins" / name


def features(count: int) -> dict[str, str]:
    listed = [{"id": f"F{n}", "description": f"Make file {n}", "passes": False} for n in range(1, count + 1)]
    folder = ".ralph/loops/demo/"
    return {
        folder + "feature_list.json": json.dumps({"features": listed}, indent=2),
        folder + "progress.txt": "Status: NOT_STARTED\nIteration: 1\n",
        folder + "RALPH_PROMPT.md": "Work through the feature list.\n",
    }


def bash(command: str) -> Reply:
    return call("Bash", command=command, description="a step of the task")


def feature_turns(first: int, last: int) -> list[Reply]:
    """One turn per feature: the work, the claim, a word about it."""
    turns = []
    for n in range(first, last + 1):
        turns += [bash(f"touch made-{n} && ralphloop done F{n}"), text(f"Feature {n} is made.")]
    return turns


def box_turns(tasks: Path, *ids: str) -> list[Reply]:
    turns = []
    for task in ids:
        edit = f"sed -i 's/- \\[ \\] {task} /- [x] {task} /' {tasks}"
        turns += [bash(edit), text(f"Task {task} is done.")]
    return turns


@dataclass(frozen=True)
class Outside:
    """The person at another terminal of the same machine."""

    home: ClientHome
    root: Path

    def ralphloop(self, *arguments: str) -> str:
        env = {"HOME": str(self.home.path), "PATH": os.environ["PATH"]}
        done = warm.run(arguments, env=env, cwd=self.root)
        assert done.code == 0, f"ralphloop {arguments}: {done}"
        return done.stdout.decode()

    def loops(self) -> list[dict[str, Any]]:
        files = sorted((self.root / ".ralph/run").glob("*/loop.json"))
        return [json.loads(file.read_text()) for file in files]

    @property
    def loop(self) -> dict[str, Any]:
        (loop,) = self.loops()
        return loop

    def journal(self) -> list[dict[str, Any]]:
        (file,) = (self.root / ".ralph/run").glob("*/journal.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()]

    def errors(self) -> str:
        """What the hook would have reported as a bug of its own."""
        file = self.home.path / ".local/state/ralphloop/errors.log"
        return file.read_text() if file.exists() else ""
