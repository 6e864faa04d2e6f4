"""`explain` names the checks that a stop would run, and not those of tasks that are proven."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.cli_project import SESSION, Project


def test_only_what_is_due_is_named(tmp_path: Path) -> None:
    project = Project(tmp_path)
    tasks = [
        {"id": f"F{number}", "description": "a", "passes": False, "verify": f"test -f {number}"}
        for number in (1, 2, 3)
    ]
    file = project.new("shop") / "feature_list.json"
    file.write_text(json.dumps(tasks), encoding="utf-8")
    project.fine("start", "shop", "--session", SESSION, "--yes")
    for number in (1, 2):
        project.write(str(number), "")
    tasks[0]["passes"] = True
    file.write_text(json.dumps(tasks), encoding="utf-8")
    project.stop()
    tasks[1]["passes"] = True
    file.write_text(json.dumps(tasks), encoding="utf-8")
    event = {"hook_event_name": "Stop", "session_id": SESSION, "cwd": str(project.root)}
    told = json.loads(project.fine("explain", "--json", stdin=json.dumps(event).encode()))
    assert told["checks"] == "test -f 2"
