"""Nothing grows with history: what is read at a stop, a prompt or a status line is the same after few and
after many ended loops, runs of checks and lines of the journal."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import OTHER, PLUGINS, LoopProject, feature
from hook.lines import text_line, tool_line
from hook.proven import listed as loop_over
from hook.statuslines import COMMAND, payload
from ralphloop.domain.model import Limits
from ralphloop.proof import check_record
from ralphloop.store.shelf import ENDED, Record

FEW, MANY = 3, 60
# Tells each file that is opened and each folder that is listed, then is the launcher.
TELL = """
import posix, sys
told = posix.open(sys.argv[1], posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND)
def tell(event, args):
    if event in ("open", "os.listdir", "os.scandir"):
        posix.write(told, ("%s %s\\n" % (event, args[0])).encode())
sys.addaudithook(tell)
sys.argv = sys.argv[2:]
with open(sys.argv[0]) as file:
    exec(compile(file.read(), sys.argv[0], "exec"), {"__name__": "__main__", "__file__": sys.argv[0]})
"""


def with_history(project: ProjectFactory, count: int, *, verify: str = "false") -> LoopProject:
    """A loop under way, after so many others, runs of its check and lines of its journal."""
    found = loop_over(project, feature("F1", verify=verify), feature("F2"))
    end_loops(found, count)
    loop = found.the_loop()
    facts = {"tasks": ["F1"], "command": verify, "green": False, "duration_s": 0.1, "kind": "claim"}
    for _ in range(count):
        check_record.add(loop, {"at": "2026-01-01T00:00:00.000Z", **facts})
        loop.journal("note", detail="x")
    return found


def end_loops(found: LoopProject, count: int) -> None:
    """One of this session, the others of as many sessions."""
    here = found.shelf()
    with here.lock():
        for number in range(count):
            session = f"session-{number}" if number else found.session
            ended = Record(
                f"old-{number}", layout="features", name="old", root=str(found.root),
                paths={"list": str(found.root / f"{number}/feature_list.json")}, limits=Limits(),
                armed_at="2026-01-01T00:00:00.000Z", session=session,
            )  # fmt: skip
            here.put(ended, ENDED)
            Path(here.kept(ended.id)).mkdir(parents=True)


def asked_by_shell(found: LoopProject, command: str, *, session: str) -> int:
    """How many commands the guard runs; the interpreter does nothing."""
    folder = found.base / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "python3").write_text("#!/bin/sh\n")
    (folder / "python3").chmod(0o755)
    env = {**found.env(), "PATH": str(folder), "CLAUDE_CODE_SESSION_ID": session}
    argv = [str(shutil.which("sh")), "-x", "-c", command]
    ran = subprocess.run(argv, env=env, cwd=found.root, capture_output=True, text=True, check=True)
    return len(ran.stderr.splitlines())


def read_by_python(found: LoopProject, said: dict[str, object], *words: str) -> list[str]:
    """What the hook opens and lists in the scratch folder, in order of names; numbers are each run's own."""
    told = found.base / "told"
    told.unlink(missing_ok=True)
    launcher = str(found.plugin / "lib" / "hook" / "launch.py")
    argv = [sys.executable, "-I", "-S", "-c", TELL, str(told), launcher, *words]
    data = json.dumps(said).encode()
    ran = subprocess.run(argv, env=found.env(), cwd=found.root, capture_output=True, input=data, check=True)
    assert b"Traceback" not in ran.stderr
    ours = [line for line in told.read_text().splitlines() if str(found.base) in line]
    return sorted(re.sub(r"\d+", "#", line.replace(str(found.base), "")) for line in ours)


def of_stop(found: LoopProject) -> list[str]:
    found.add_lines(tool_line("Bash", {"command": "true"}), text_line("Done."))
    return read_by_python(found, found.payload(), PLUGINS["features"], "features")


def of_due_stop(found: LoopProject) -> list[str]:
    found.close(1)
    read = of_stop(found)
    assert found.journal()[-1]["event"] != "note"
    return read


def of_prompt(found: LoopProject) -> list[str]:
    said = found.payload("UserPromptSubmit", session_id=OTHER, prompt="hello")
    return read_by_python(found, said, PLUGINS["features"], "features", "prompt")


def of_statusline(found: LoopProject) -> list[str]:
    """Of a session whose loop has ended, in a project where another one is under way."""
    return read_by_python(found, payload(found, session_id="session-1"), "statusline", "features")


@pytest.mark.parametrize(
    "read", [of_stop, of_due_stop, of_prompt, of_statusline], ids=lambda read: read.__name__
)
def test_python_reads_the_same_after_few_and_after_many(
    project: ProjectFactory, read: Callable[[LoopProject], list[str]]
) -> None:
    few, many = (with_history(project, count) for count in (FEW, MANY))
    for found in (few, many):
        read(found)  # the first writes what later ones go by
    seen = read(many)
    assert seen == read(few)
    folders = [line for line in seen if line.startswith("os.")]
    assert not [line for line in folders if line.endswith((ENDED, "kept", "evidence", "run"))]


@pytest.mark.parametrize("session", ["session-1", OTHER])
def test_the_guard_asks_the_same_after_few_and_after_many(project: ProjectFactory, session: str) -> None:
    few, many = (project("features", {"README.md": "x"}) for _ in range(2))
    for found, count in ((few, FEW), (many, MANY)):
        end_loops(found, count)
    commands = [COMMAND, few.command("UserPromptSubmit"), few.command("Stop")]
    asked = [
        [asked_by_shell(found, command, session=session) for command in commands] for found in (few, many)
    ]
    assert asked[0] == asked[1]
    assert min(asked[0]) > 5
