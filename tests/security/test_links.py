"""A link out of the project, wherever it stands, is neither written through nor read from."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from e2e.checking import begin, claim, task
from e2e.cli_project import SESSION, Project
from ralphloop.cli.main import BUG
from security.life import AGENT, texts

pytestmark = pytest.mark.slow

OUTSIDE = "words-from-outside-the-project"
TEXT = f'{{"{OUTSIDE}": "{OUTSIDE}", "question": "{OUTSIDE}", "event": "stop", "at": "{OUTSIDE}"}}\n'
TOML = f'{OUTSIDE} = "{OUTSIDE}"\n'
RUN = ".ralph/run/@"  # the loop's own folder
# Those that stand together change nothing in what a stop or a command comes to, and no two of them are read
# or written by the same few lines: one cannot hide the other.
PLACES = [
    [".ralph/loops/shop/feature_list.json"],
    [".ralph/config.toml"],
    [".ralph/loops/shop/progress.txt", ".claude/settings.json", f"{RUN}/journal.jsonl", f"{RUN}/loop.json",
     f"{RUN}/evidence/0001-F1.json"],
    [".ralph/loops/shop/RALPH_PROMPT.md", f"{RUN}/journal.1.jsonl", f"{RUN}/ledger.json", "check.sh"],
    [".ralph/run/.gitignore", f"{RUN}/hook.log", f"{RUN}/run.log", f"{RUN}/evidence"],
    [f"{RUN}/rejected", ".claude"],
    [".ralph"], [".ralph/loops"], [".ralph/loops/shop"], [".ralph/run"], [RUN],
]  # fmt: skip
SPEC_PLACES = [
    ["specs/.current-spec"], ["specs/login/.ralph-state.json"], ["specs/login/tasks.md"],
    ["specs/login/.progress.md", ".claude/ralph-specum.local.md"], ["specs"], ["specs/login"], [".claude"],
]  # fmt: skip
EVENT = "../stop.json"
BY_AGENT = [["done", "F2"], ["ask", "F3", "well?"]]
BY_PERSON = [
    ["verify", "F1"], ["approve", "--yes"], ["pause"], ["resume"], ["status"], ["status", "--json"], ["log"],
    ["log", "--json"], ["report"], ["report", "--format", "html"], ["evidence"], ["evidence", "0001-F1"],
    ["evidence", "--json"], ["explain", EVENT], ["config"], ["watch", "--once"], ["plan", "--show", "shop"],
    ["approve", "--show"], ["doctor", "--no-live"], ["start", "shop"], ["specum", "status"],
    ["specum", "implement"], ["record", "list"], ["record", "show", "1"],
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A loop with a proof and a refusal, beside a folder that is nobody's business."""
    project = Project(tmp_path)
    project.write("check.sh", "test -f made-$1\n")
    project.write("made-1", "")
    project.fine("record", "on")
    return project


def swap(project: Project, *places: str) -> Path:
    """Put a link in each place that leads to what looks just like it, in a folder outside."""
    outside = project.folder / "outside"
    outside.mkdir()
    runs = [path.name for path in (project.root / ".ralph/run").glob("*-*")]
    for place in places:
        path = project.root / place.replace("@", runs[0] if runs else "none")
        _link(path, outside / path.name)
    return outside


def _link(path: Path, outside: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        path.rename(outside)
        for held in [held for held in outside.rglob("*") if held.is_file()]:
            held.write_text(TOML if held.suffix == ".toml" else TEXT, encoding="utf-8")
    else:
        outside.write_text(TOML if path.suffix == ".toml" else TEXT, encoding="utf-8")
        path.unlink(missing_ok=True)
    path.symlink_to(outside)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def live_on(project: Project) -> str:
    """Stops, claims and every look at it; all that was said."""
    event = {"hook_event_name": "Stop", "session_id": SESSION, "cwd": str(project.root)}
    (project.root / EVENT).write_text(json.dumps(event), encoding="utf-8")
    said = [json.dumps(project.stop()), json.dumps(project.stop())]
    for env, words in [(AGENT, words) for words in BY_AGENT] + [({}, words) for words in BY_PERSON]:
        done = project.run(*words, env=env)
        assert done.code != BUG, done
        said += [done.out, done.err]
    return "\n".join(said)


def kept_of_ours(project: Project) -> list[str]:
    """The files that we wrote which have words from outside; what a link leads to is not ours."""
    real = [(path, text) for path, text in texts(project) if not _is_outside(project, path)]
    return [str(path) for path, text in real if OUTSIDE in text]


def _is_outside(project: Project, path: Path) -> bool:
    return os.path.realpath(path).startswith(str(project.folder / "outside"))


@pytest.mark.parametrize("places", PLACES, ids=" ".join)
def test_a_link_in_the_place_of_a_loops_file_leads_nobody_out(project: Project, places: list[str]) -> None:
    begin(project, task("F1", "sh check.sh 1"), task("F2", "sh check.sh 2"), task("F3"), protect=["check.sh"])
    claim(project, "F1", "F2")
    project.stop()
    outside = swap(project, *places)
    before = contents(outside)
    said = live_on(project)
    assert contents(outside) == before
    assert OUTSIDE not in said.replace(str(outside), "")
    assert kept_of_ours(project) == []


@pytest.mark.parametrize("places", SPEC_PLACES, ids=" ".join)
def test_nor_one_in_the_place_of_a_specs_file(project: Project, places: list[str]) -> None:
    project.spec(tasks="- [ ] F1 Form\n  - **Verify**: `sh check.sh 1`\n- [ ] F2 Check\n- [ ] F3 Errors\n")
    assert project.run("start", "login", "--session", SESSION, "--yes").code == 0
    project.stop()
    outside = swap(project, *places)
    before = contents(outside)
    said = live_on(project)
    assert contents(outside) == before
    assert OUTSIDE not in said.replace(str(outside), "")
    assert kept_of_ours(project) == []
