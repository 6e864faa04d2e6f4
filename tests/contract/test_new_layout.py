"""A layout is one module: a fourth one, written here, is driven from start to end by all else as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ralphloop

PACKAGE = Path(ralphloop.__file__).parent
TOY = '''
"""The `toy` layout: a TODO.txt, one task in a line."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.layout import TELL, Traits
from ralphloop.domain.model import Task, TaskList
from ralphloop.tasklists.restoring import Restored
from ralphloop.tasklists.source import Source

NAME = "toy"
TRAITS = Traits(
    plugin="ralph-toy", action="", voice="", kind="list", files={"todo": "TODO.txt"}, truth=("todo",),
    phases={}, settings="", chosen_by="", iterations=0, closing="an x", delegates=False,
    waits_for_approval=True, rests_empty=False, tells_completion=True, at_limit=TELL,
)


def locate(root, *, env, read, names):
    paths = {"todo": os.path.join(root, "TODO.txt")}
    return [Source(NAME, "todo", root=root, paths=paths)] if "TODO.txt" in names(root) else []


def places(root, settings):
    return []


def parse(texts):
    lines = (texts["todo"] or "").splitlines()
    return TaskList([Task(str(n), line[2:], done=line[0] == "x") for n, line in enumerate(lines, 1)])


def mark(texts, *places, done):
    lines = texts["todo"].splitlines()
    for place in places:
        lines[place] = ("x" if done else "-") + lines[place][1:]
    return {"todo": "\\n".join(lines) + "\\n"}


def is_work(written, *, by_shell):
    return True


def record(texts, tally):
    return {}


def restore(texts, pinned):
    return Restored()


def hold_additions(texts, pinned, *, known, modified):
    return {}, [], []


def protect(texts):
    return []
'''


class Ground:
    """A copy of the package with the toy in it, and a project that has a list of that kind."""

    def __init__(self, base: Path) -> None:
        self.package, self.root = base / "lib" / "ralphloop", base / "project"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        (self.package / "tasklists" / "toy.py").write_text(TOY)
        registry = self.package / "tasklists" / "registry.py"
        text = registry.read_text()
        registry.write_text(text.replace('LAYOUTS = ("features", ', 'LAYOUTS = ("features", "toy", '))
        assert registry.read_text() != text
        self.root.mkdir()
        self.list = self.root / "TODO.txt"
        self.list.write_text("x plan\n- build\n- test\n")
        self.env = {"HOME": str(base / "home"), "PATH": os.defpath}

    def run(self, *words: str, given: str = "") -> str:
        done = subprocess.run(
            [sys.executable, *words], input=given, cwd=self.root, env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def command(self, *words: str) -> str:
        return self.run(str(self.package), *words)

    def stop(self, reply: str) -> dict[str, str]:
        event = {"hook_event_name": "Stop", "session_id": "S", "cwd": str(self.root)}
        given = json.dumps({**event, "last_assistant_message": reply})
        said = self.run("-I", "-S", str(self.package / "hook" / "launch.py"), "settings", given=given)
        found: dict[str, str] = json.loads(said)
        return found


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_a_layout_that_is_one_module_is_driven_from_start_to_end(ground):
    assert "1/3 done" in ground.command("start", "todo", "--session", "S")
    first = ground.stop("I begin.")
    assert first["decision"] == "block"
    assert "go on with task 2 (2/3)" in first["reason"]
    assert "(or set an x in TODO.txt)" in first["reason"]
    ground.command("done", "2", "--loop", "todo")
    assert ground.list.read_text() == "x plan\nx build\n- test\n"
    assert "go on with task 3 (3/3)" in ground.stop("Two is done.")["reason"]
    assert "toy · " in ground.command("status")
    ground.list.write_text("x plan\nx build\nx test\n")
    assert "complete: 3/3 done" in ground.stop("Three is done.")["systemMessage"]
