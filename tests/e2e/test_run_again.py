"""`run` over a loop that it has driven before: what goes on, and what begins anew."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.cli_project import Project
from security.life import CLIENT


def test_sessions_are_numbered_through_all_runs_of_a_loop(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.program("claude", CLIENT)
    project.new()
    for _ in range(2):
        project.run("run", "shop", "--plain")
    entries = [json.loads(line) for line in project.fine("log", "shop", "--json").splitlines()]
    for event in ("session", "session_end"):
        assert [entry["number"] for entry in entries if entry["event"] == event] == [1, 2]
