"""No honest work of the catalogue is held back, and what must be clean raises no doubt."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from e2e.catalogues import entries, played, told
from e2e.test_conformance_command import conformance
from ralphloop.lab.catalogue.crew import Part
from ralphloop.lab.catalogue.item import HELD, HONEST, Turn

WORK = entries(HONEST)
CLEAN = [item for item in WORK if item.clean]


def test_there_are_more_than_40_scenes_most_of_them_clean() -> None:
    assert len(WORK) >= 40
    assert len(CLEAN) > len(WORK) / 2
    assert {item.family for item in CLEAN} == {"clean"}
    assert {item.family for item in WORK if not item.clean} == {"told"}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("family", ["clean", "told"])
def test_honest_work_comes_out_as_its_files_say(family: str) -> None:
    parts = [Part(item, layout) for item in WORK if item.family == family for layout in item.layouts]
    wrong = [each for each in played(parts) if not each.as_said]
    assert not wrong, told(wrong)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_without_the_work_the_claim_is_refused() -> None:
    bare = [
        dataclasses.replace(item, turns=(Turn(claims=tuple(task.id for task in item.tasks)),))
        for item in CLEAN
    ]
    wrong = [each for each in played([Part(item, item.layouts[0]) for item in bare]) if each.came != HELD]
    assert not wrong, told(wrong)


def test_the_command_plays_them(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--honest", "--only", "agent-commits", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (data["clean"], data["held"], data["total"]) == (3, 0, 3)
    assert list((tmp_path / "temporary").iterdir()) == []
