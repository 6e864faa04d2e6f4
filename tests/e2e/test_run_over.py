"""`run` over a list whose last loop is complete: it says so, and finishes what a killed run left."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import SESSION, Project
from e2e.notifying import RECORD, close, hook, notices, settle
from hook.branches import IDENTITY
from ralphloop.domain.model import Supervision
from ralphloop.store import arming, supervisor
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.store.supervisor import Holder

BRANCH = "work"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.program("notify-send", RECORD)
    settle(made, 'notify = ["desktop"]\n')
    (made.home / ".gitconfig").write_text(IDENTITY)
    (made.root / ".git/HEAD").write_text(f"ref: refs/heads/{BRANCH}\n")
    return made


def git(project: Project, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=project.root, env=project.env(), capture_output=True, text=True
    )
    return done.stdout.strip()


def loop_of(project: Project) -> LoopFiles:
    here = Shelf(str(project.root), project.env())
    record = here.owned_by(SESSION)
    assert record is not None
    return LoopFiles(record, here)


def completed(project: Project, *, branch: str = "", owes: bool = False, tasks: int = 1) -> LoopFiles:
    """A loop that a supervisor drove to its end; one that `owes` was killed before its last words."""
    folder = project.begin(tasks=tasks)
    loop = loop_of(project)
    state = loop.load()
    assert state is not None
    terms = Supervision(branch=branch)
    arming.hand_on(loop, state, session=SESSION, terms=terms, batch=[])
    for place in range(tasks):
        close(folder, place)
    hook(project, registration="run")
    supervisor.say(loop, Holder(pid=1, owes=owes))
    return loop


def add_task(project: Project) -> None:
    file = project.root / ".ralph/loops/shop/feature_list.json"
    listed = json.loads(file.read_text())
    listed["features"].append({"id": "N1", "description": "One more", "passes": False})
    file.write_text(json.dumps(listed))


def events(loop: LoopFiles, kind: str) -> list[dict[str, Any]]:
    lines = Path(loop.path("journal.jsonl")).read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if entry["event"] == kind]


def test_how_it_ended_is_answered_and_nothing_starts(project: Project) -> None:
    loop = completed(project)
    before = project.digest()
    done = project.run("run", "shop")
    assert (done.code, done.err) == (0, "")
    assert "shop · complete" in done.out
    assert "add a task to .ralph/loops/shop/feature_list.json" in done.out
    found = project.run("run", "--json").data
    assert (found["exit_code"], found["outcome"], found["id"]) == (0, "complete", loop.record.id)
    assert project.digest() == before
    assert notices(project) == []


def test_a_list_that_was_done_before_any_loop_is_refused_as_ever(project: Project) -> None:
    close(project.new(tasks=1), 0)
    project.program("claude", "#!/bin/sh\n")
    assert "every task of shop is done; add one" in project.refused("run", "shop")


def test_after_a_cancel_too(project: Project) -> None:
    folder = project.begin(tasks=1)
    project.fine("cancel", "shop")
    close(folder, 0)
    project.program("claude", "#!/bin/sh\n")
    assert "every task of shop is done; add one" in project.refused("run", "shop")


def test_with_a_new_task_a_new_loop_is_wanted(project: Project) -> None:
    completed(project)
    add_task(project)
    assert "`claude` is not on PATH" in project.refused("run", "shop")


def test_what_a_killed_supervisor_did_not_tell_is_told_once(project: Project) -> None:
    loop = completed(project, owes=True)
    assert notices(project) == []
    for _ in range(2):
        assert project.run("run", "shop").code == 0
    assert [title for title, _ in notices(project)] == ["ralphloop: shop is complete"]
    assert not supervisor.last(loop).owes


def test_what_a_killed_supervisor_did_not_commit_is_committed(project: Project) -> None:
    lock = project.root / ".git/refs/heads" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    loop = completed(project, branch=BRANCH, owes=True)
    lock.unlink()
    assert project.run("run", "shop").code == 0
    assert git(project, "log", "--format=%s").endswith("F1: Task 1")
    assert Path(loop.kept, "left.json").exists()


def test_a_commit_that_failed_is_told_with_its_cure_by_everything(project: Project) -> None:
    lock = project.root / ".git/refs/heads" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    completed(project, branch=BRANCH, owes=True)
    done = project.run("run", "shop")
    assert done.code == 20
    report, status = project.run("report", "shop"), project.run("status", "shop")
    for told in (" ".join(said.out.split()) for said in (done, report, status)):
        assert "not committed: F1" in told
        assert ".git/refs/heads/work.lock is in the way: if no git is at work there, remove that file" in told
    assert "; then `ralphloop run shop` commits it." in done.out
    assert "work.lock" in project.run("status", "shop", "--json").data["loops"][0]["commit_fault"]
    facts = project.run("report", "shop", "--format", "json")
    assert (report.code, facts.code, facts.data["exit_code"]) == (20, 20, 20)
    assert (facts.data["outcome"], facts.data["uncommitted"]) == ("complete", ["F1"])
    ((title, body),) = notices(project)
    assert title == "ralphloop: shop is complete, but not committed"
    assert "work.lock" in body
    lock.unlink()
    caught_up = project.run("run", "shop", "--json")
    assert (caught_up.code, caught_up.data["uncommitted"]) == (0, [])
    assert git(project, "status", "--porcelain") == ""
    assert project.run("report", "shop").code == 0


def test_the_person_s_later_changes_are_not_taken_into_it(project: Project) -> None:
    lock = project.root / ".git/refs/heads" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    completed(project, branch=BRANCH, owes=True)
    assert project.run("run", "shop").code == 20
    lock.unlink()
    (project.root / "mine.txt").write_text("mine")
    done = project.run("run", "shop")
    assert done.code == 20
    assert "since the last run there are new changes: mine.txt" in done.out
    assert git(project, "log", "--format=%s") == ""
    (project.root / "mine.txt").unlink()
    assert project.run("run", "shop").code == 0
