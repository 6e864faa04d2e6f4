"""Several `ralphloop specum` at the same moment: there is never a loop without its state, nor half of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.spec_project import SpecProject

ROUNDS = 4


@pytest.fixture
def project(tmp_path: Path) -> SpecProject:
    return SpecProject(tmp_path)


def live(project: SpecProject) -> list[str]:
    loops = json.loads(project.fine("status", "--json"))["loops"]
    return [loop["id"] for loop in loops if loop["state"] != "ended"]


def test_of_several_implements_one_begins_and_the_others_go_on_with_it(project: SpecProject) -> None:
    project.planned()
    for _ in range(ROUNDS):
        done = project.at_once(*["implement"] * 4)
        assert [(one.code, one.err) for one in done] == [(0, "")] * 4
        assert sum("is under way already" in one.out for one in done) == 3
        assert project.state("login")["phase"] == "execution"
        assert len(live(project)) == 1
        assert "Continue spec: login (Task 2/3" in project.stop_of_plugin()
        project.say("cancel")


def test_cancel_beside_implement_leaves_a_loop_with_its_state_or_neither(project: SpecProject) -> None:
    project.planned()
    for _ in range(ROUNDS):
        project.say("tasks")
        done = project.at_once("implement", "cancel", "implement", "cancel")
        assert [(one.code, one.err) for one in done] == [(0, "")] * 4
        assert len(live(project)) == int(project.state_file("login").exists())
        project.say("cancel")
        assert (live(project), project.state_file("login").exists()) == ([], False)


def test_a_phase_beside_implement_is_refused_or_comes_first(project: SpecProject) -> None:
    project.planned()
    for _ in range(ROUNDS):
        phase, _ = project.at_once("design", "implement")
        assert phase.code == 0 or "is running its tasks" in phase.err
        assert project.state("login")["phase"] == "execution"
        assert len(live(project)) == 1
        project.say("cancel")
