"""What `record show` and `record case` tell of a stop at which checks ran, and where a case can be played."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.cli_project import SESSION
from e2e.recorded import RecordedProject

CHECKED = '[{"id": "F1", "description": "a", "passes": false, "verify": "test -f a"}]'


@pytest.fixture
def refused(tmp_path: Path) -> RecordedProject:
    """With the record of a stop whose claim the check turned back."""
    project = RecordedProject(tmp_path)
    file = project.new("shop") / "feature_list.json"
    file.write_text(CHECKED, encoding="utf-8")
    project.fine("start", "shop", "--session", SESSION, "--yes")
    project.fine("record", "on")
    file.write_text(CHECKED.replace("false", "true"), encoding="utf-8")
    project.turn()
    return project


def test_show_tells_what_the_checks_came_to(refused: RecordedProject) -> None:
    told = refused.fine("record", "show", "1")
    assert "approved:\n  $ test -f a\n" in told
    assert "checks:\n  F1: red, test -f a, exited with 1\n" in told


def test_a_case_of_a_stop_with_checks_says_that_none_is_approved_there(refused: RecordedProject) -> None:
    told = refused.fine("record", "case", "1", "--out", "suite/cases/a.toml")
    assert "Checks ran at this stop; a case approves none" in told
    assert "  ralphloop conformance --cases suite --only '*a.toml'\n" in told


def test_a_case_outside_of_a_suite_names_no_command_that_would_not_find_it(refused: RecordedProject) -> None:
    told = refused.fine("record", "case", "1", "--out", "a.toml")
    assert "move it into the folder `cases` of a suite" in told
    assert "ralphloop conformance" not in told


def test_a_step_that_approves_lets_the_checks_of_a_case_run(refused: RecordedProject) -> None:
    file = refused.make_case(1)
    assert refused.play("stop-1.toml").data["failed"] == 1
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("[[step]]", '[[step]]\nrun = ["approve", "--yes"]\n\n[[step]]', 1), encoding="utf-8"
    )
    done = refused.play("stop-1.toml")
    assert done.data["passed"] == 1, done.data
