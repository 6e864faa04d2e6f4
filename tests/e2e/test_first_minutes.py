"""The README alone, followed by somebody new: from `git clone` to a proven task in a project of their own."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from e2e.client import REPOSITORY
from e2e.packing import IDENTITY, fill, make_origin, must, newcomer
from e2e.test_docs import commands, fenced
from ralphloop.lab import scratch
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import Reply, call, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(300)]

README = REPOSITORY / "README.md"
STEPS, SECONDS = 6, 60  # the most that it may take; on two quiet cores it takes seven seconds
MARK = "the next step begins"


def first_screen() -> tuple[list[str], str, str]:
    """What is typed up to the first run of a loop, without pipx; the file to save before, and its text."""
    (get, install), session = fenced(README, "sh")[:2], fenced(README, "console")[0]
    clone_and_look = [line.partition("#")[0].strip() for line in get.splitlines() if "pipx" not in line]
    typed = [line.partition("#")[0].strip() for line in commands(session)]
    until_run = next(place for place, line in enumerate(typed) if line.startswith("ralphloop run")) + 1
    (file,) = re.findall(r"as `(\S+)`:\n\n```markdown\n", README.read_text(encoding="utf-8"))
    return [*clone_and_look, install.strip(), *typed[:until_run]], file, fenced(README, "markdown")[0]


def follow(steps: Sequence[str], folder: Path, env: Mapping[str, str]) -> tuple[list[float], str]:
    """Type the steps into one shell: how long each took, and all that was said."""
    script = "\n".join(f"{step}\necho '{MARK}'" for step in steps)
    shell = subprocess.Popen(
        ["sh", "-eu", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert shell.stdout is not None
    took, told, since = list[float](), list[str](), time.monotonic()
    with shell:
        for line in shell.stdout:
            told.append(line)
            if line.strip() == MARK:
                took.append(time.monotonic() - since)
                since = time.monotonic()
    assert shell.returncode == 0, "".join(told)
    return took, "".join(told)


def work(project: Path) -> Iterator[Reply]:
    """The agent: it does the one task of the list."""
    yield call("Write", file_path=str(project / "hello.sh"), content='echo "Hello, $1!"\n')
    yield call("Bash", command="ralphloop done F1", description="claim the task")
    yield text("F1 is done.")


def own_project(folder: Path) -> Path:
    """What somebody new has already: a repository with a file in it."""
    project = folder / "own project"
    project.mkdir()
    (project / "notes.txt").write_text("mine\n", encoding="utf-8")
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=mine"]):
        must(["git", *IDENTITY, *words], cwd=project)
    return project


def test_from_the_clone_to_the_first_proven_task(claude_binary: Path, tmp_path: Path) -> None:
    """Without the network: git and pip find theirs on this machine, and the client is there and logged in."""
    folder = tmp_path.resolve()
    home, bins, project = folder / "home", folder / "bin", own_project(folder)
    steps, file, listed = first_screen()
    steps = [step.replace("your-project", f"'{project}'") for step in steps]
    (project / file).write_text(listed, encoding="utf-8")
    bins.mkdir()
    (bins / "claude").symlink_to(claude_binary)
    env = newcomer(home, fill(folder / "shelf"), bins)
    (home / ".gitconfig").write_text(f'[url "{make_origin(folder)}"]\n\tinsteadOf = {steps[0].split()[2]}\n')
    scratch.trust(home, project)
    with ModelServer(list(work(project))) as server:
        env = scratch.client_env(home, server.base_url, path=env["PATH"]) | env
        took, told = follow(steps, folder, env)
    print(*(f"{seconds:6.1f} s  {step}" for seconds, step in zip(took, steps, strict=True)), sep="\n")
    status = must([home / ".ralphloop/bin/ralphloop", "status", "--json"], cwd=project, env=env)
    (loop,) = json.loads(status)["loops"]
    assert [(task["id"], task["state"]) for task in loop["tasks"]] == [("F1", "proven")], told
    assert len(steps) <= STEPS
    assert sum(took) < SECONDS, took
