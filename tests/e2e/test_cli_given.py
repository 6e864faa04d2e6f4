"""A task that was done before the loop began is checked at its end, and not asked whose green it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.checking import task, write_list
from e2e.cli_project import SESSION, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_given_task_is_checked_and_not_doubted(project: Project) -> None:
    given = {**task("F1", "test -d .git"), "passes": True}
    write_list(project, given, task("F2", "test -f made"))
    project.fine("start", "shop", "--session", SESSION, "--yes")
    (project.root / "made").write_text("x")
    listed = project.root / ".ralph/loops/shop/feature_list.json"
    features = json.loads(listed.read_text())
    features["features"][1]["passes"] = True
    listed.write_text(json.dumps(features))
    answer = project.stop()
    assert answer is not None
    assert "complete: 1/2 proven (+ 1 given)" in answer["systemMessage"]
    assert "doubt" not in answer["systemMessage"]
    tried = json.loads(project.fine("status", "shop", "--json"))["loops"][0]["tried"]
    assert tried.keys() == {"test -f made"}
