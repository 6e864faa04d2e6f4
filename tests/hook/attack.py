"""A list with checks, what would show that one of them ran, and the command line beside the hook."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from hook.harness import FOLDERS, OWN_FILES, POINTERS, LoopProject, feature, loop_files, spec_state
from hook.lines import tool_line, user_line
from ralphloop.proof.approval import digest
from ralphloop.store import approvals
from ralphloop.store.shelf import OWNED, Shelf

PROMPT = "Work through the list of this project.\n\nOne at a time.\n"


def mark(project: LoopProject) -> Path:
    """Outside of every project: no copying or restoring makes it come or go."""
    return project.base / "ran"


def leaving(path: Path, word: str = "run") -> str:
    """A command that shows that it ran."""
    return f"echo {word} >> {shlex.quote(str(path))}"


def checked_list(*commands: str, total: int = 3, done: int = 0, **shared: Any) -> str:
    """A feature list whose tasks have these checks, one each; the last one has those that are left."""
    features = [feature(f"F{n}", passes=n <= done) for n in range(1, total + 1)]
    for found, command in zip(features, commands, strict=False):
        found["verify"] = command
    return json.dumps({**shared, "features": features}, indent=2) + "\n"


def checked_files(layout: str, *commands: str, total: int = 3, **shared: Any) -> dict[str, str]:
    """The files of a list with a check for each of the first tasks."""
    if layout == "features":
        return {**loop_files(layout), OWN_FILES[layout]: checked_list(*commands, total=total, **shared)}
    folder = FOLDERS[layout]
    rows = ["# Tasks", ""]
    for number in range(1, total + 1):
        rows.append(f"- [ ] 1.{number} Task number {number}")
        rows += [f"  - **Verify**: `{commands[number - 1]}`"] if number <= len(commands) else []
    return {
        POINTERS[layout]: os.path.basename(folder) + "\n",
        OWN_FILES[layout]: spec_state(taskIndex=0, totalTasks=total),
        f"{folder}/tasks.md": "\n".join(rows) + "\n",
    }


def state_of(project: LoopProject) -> dict[str, Any]:
    """The state of the session's loop, from the copy out of the agent's reach."""
    here = project.shelf()
    (record,) = [record for record in here.records(OWNED) if record.session == project.session]
    value = json.loads((Path(here.kept(record.id)) / "loop.json").read_text())
    assert isinstance(value, dict)
    return value


def outcome(project: LoopProject) -> Any:
    return state_of(project)["outcome"]


def commands_run(project: LoopProject) -> list[str]:
    """What the evidence says was run, oldest first."""
    found = []
    for index in sorted(project.state_home.rglob("evidence.jsonl")):
        found += [json.loads(line)["command"] for line in index.read_text().splitlines()]
    return found


def asked_with_its_prompt(project: LoopProject) -> None:
    """The session's first prompt is the loop's own."""
    project.send("UserPromptSubmit", prompt=PROMPT)
    project.add_lines(user_line(PROMPT))


def passed_by_its_agent(project: LoopProject) -> None:
    """The session's own tool call closed a task."""
    project.close(1)
    call = {"file_path": str(project.own), "content": '"id": "F1", "passes": true'}
    project.add_lines(user_line("begin"), tool_line("Write", call))


def started_without_approval(project: LoopProject) -> None:
    """The person began a loop and allowed none of its checks."""
    project.arm(approve=False)
    project.close(1)


def needs_approval(project: LoopProject, *commands: str) -> None:
    """The next stop says what waits, runs nothing, and lets the session go."""
    answer = project.turn()
    assert not answer.blocks
    assert "these checks need your approval" in answer.message
    for command in commands:
        assert f"`{command}`" in answer.message
    if commands:
        assert f"/ralphloop:approve {digest(commands)}" in answer.message
    assert outcome(project) == "needs_approval"


@contextlib.contextmanager
def process(*words: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Another program that runs meanwhile."""
    running = subprocess.Popen(words, env=dict(env or {}), stdin=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def forge(here: Shelf, command: str) -> None:
    """An approval in a place where none counts, as whoever ships a repository would write it."""
    with mock.patch.object(approvals, "is_within_reach", return_value=False):
        approvals.approve(here, [command], by="terminal")
