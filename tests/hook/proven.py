"""Lists whose tasks have checks, what the checks leave behind, and the command line beside the hook."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fakes import warm
from fakes.patience import eventually
from hook.conftest import ProjectFactory
from hook.harness import FOLDERS, OWN_FILES, PATH, POINTERS, Answer, LoopProject, feature, spec_state
from hook.lines import text_line, tool_line

LIST = OWN_FILES["features"]
WAITS = "touch begun; while [ ! -f go ]; do sleep 0.1; done"


def listed(
    project: ProjectFactory, *features: Mapping[str, Any], armed: bool = True, **shared: Any
) -> LoopProject:
    """A loop over these features; `shared` stands on the list itself."""
    text = json.dumps({**shared, "features": list(features)}, indent=2) + "\n"
    found = project("features", {LIST: text})
    if armed:
        found.arm()
    return found


def boxed(
    project: ProjectFactory, layout: str, tasks: str, *, armed: bool = True, **state: Any
) -> LoopProject:
    """A loop over this tasks.md."""
    folder = FOLDERS[layout]
    fields = {"taskIndex": 0, "totalTasks": tasks.count("- [ ] ") + tasks.count("- [x] "), **state}
    found = project(
        layout,
        {
            POINTERS[layout]: os.path.basename(folder) + "\n",
            OWN_FILES[layout]: spec_state(**fields),
            f"{folder}/tasks.md": tasks,
        },
    )
    if armed:
        found.arm()
    return found


def checked(project: ProjectFactory, layout: str, *commands: str, armed: bool = True) -> LoopProject:
    """A loop with one task per command; an empty one is a task without a check."""
    if layout == "features":
        return listed(
            project,
            *(feature(f"F{n}", **({"verify": text} if text else {})) for n, text in enumerate(commands, 1)),
            armed=armed,
        )
    rows = ["# Tasks", ""]
    for number, text in enumerate(commands, 1):
        rows.append(f"- [ ] 1.{number} Task number {number}")
        rows += [f"  - **Verify**: `{text}`"] if text else []
    return boxed(project, layout, "\n".join(rows) + "\n", armed=armed)


def list_file(found: LoopProject) -> Path:
    """The file that the agent claims its tasks in."""
    return found.own if found.layout == "features" else found.folder / "tasks.md"


def is_closed(found: LoopProject, number: int) -> bool:
    if found.layout == "features":
        return json.loads(found.own.read_text())["features"][number - 1]["passes"] is True
    return f"[x] 1.{number} " in list_file(found).read_text()


def known(found: LoopProject, task: str) -> dict[str, str]:
    """What the loop's ledger says of a task."""
    return dict(json.loads(found.kept("ledger.json").read_text())["tasks"].get(task, {}))


def evidence(found: LoopProject) -> list[dict[str, Any]]:
    """The records on disk, oldest first."""
    return [json.loads(path.read_text()) for path in sorted((found.run_folder / "evidence").glob("*.json"))]


def commands_run(found: LoopProject) -> list[str]:
    return [record["command"] for record in evidence(found)]


def events(found: LoopProject, name: str) -> list[dict[str, Any]]:
    return [row for row in found.journal() if row["event"] == name]


def adding_to(path: Path, word: str = "ran") -> str:
    """A command that leaves a line each time it runs."""
    return f"echo {word} >> {shlex.quote(str(path))}"


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


class Slow:
    """A stop whose check runs until it is let go."""

    def __init__(self, found: LoopProject) -> None:
        self.found = found
        found.add_lines(tool_line("Bash", {}), text_line("Done."))
        self.process = found.start(json.dumps(found.payload()).encode())
        eventually((found.root / "begun").exists)

    def let_go(self) -> Answer:
        self.found.write({"go": ""})
        return self.found.finish(self.process)


def cli_argv(*words: str) -> list[str]:
    return [sys.executable, "-m", "ralphloop", *words]


def cli_env(found: LoopProject, env: Mapping[str, str] | None = None) -> dict[str, str]:
    return {"PATH": PATH, "HOME": str(found.home), "LANG": "C.UTF-8", **(env or {})}


def cli(
    found: LoopProject,
    *words: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """The command line in a terminal of the person's own, unless the environment says otherwise."""
    ended = warm.run(words, env=cli_env(found, env), cwd=cwd or found.root, stdin=stdin.encode())
    return subprocess.CompletedProcess(words, ended.code, ended.stdout.decode(), ended.stderr.decode())
