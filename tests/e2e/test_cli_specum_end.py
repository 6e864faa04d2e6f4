"""`ralphloop specum` around the work: status, switch, and the epics that specs belong to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import SESSION
from e2e.spec_project import BOXES, INSIDE, SpecProject
from unit.domain.cases import each

TWO_ROOTS = "---\nspecs_dirs: [specs, packages/api/specs]\n---\n"


@pytest.fixture
def project(tmp_path: Path) -> SpecProject:
    return SpecProject(tmp_path)


def in_two_roots(project: SpecProject) -> None:
    """A spec of the same name in each of two folders of specs; the second is the current one."""
    project.write(".claude/ralph-specum.local.md", TWO_ROOTS)
    project.say("new", "login", "one")
    project.say("new", "login", "two", "--specs-dir", "packages/api/specs")


def specs(project: SpecProject) -> dict[str, dict[str, Any]]:
    rows = json.loads(project.say("status", "--json"))["specs"]
    return {row["path"]: row for row in rows}


# status


def test_status_of_nothing_says_how_to_begin(project: SpecProject) -> None:
    assert "There is no spec here yet" in project.fine("specum", "status")
    assert json.loads(project.say("status", "--json")) == {"specs": [], "epic": None}


def test_status_shows_every_spec(project: SpecProject) -> None:
    project.running("login")
    project.say("new", "cart", "x")
    project.doc("cart", "research.md")
    project.write("specs/notes/readme.txt", "no spec")
    before = project.digest()
    lines = project.fine("specum", "status").splitlines()
    assert lines == [
        "* cart  research  waits for you  specs",
        "  login  execution  1/3 tasks  loop running  specs",
        "Next: `/ralph-specum:requirements`",
    ]
    assert project.digest() == before


def test_status_for_scripts(project: SpecProject) -> None:
    project.running("login")
    project.say("new", "cart", "x")
    found = specs(project)
    loop = found["specs/login"].pop("loop")
    assert found["specs/login"] == {
        "name": "login", "path": "specs/login", "current": False, "phase": "execution", "done": 1, "total": 3,
        "awaiting_approval": False, "quick": False, "fault": "", "next": "/ralph-specum:implement",
    }  # fmt: skip
    assert (loop["state"], loop["outcome"], loop["owner"]) == ("running", None, SESSION)
    cart = found["specs/cart"]
    assert (cart["current"], cart["phase"], cart["loop"], cart["awaiting_approval"]) == (
        True,
        "research",
        None,
        True,
    )


def test_status_shows_a_state_that_it_cannot_read(project: SpecProject) -> None:
    project.say("new", "login", "x")
    project.state_file("login").write_text("{")
    assert "is corrupt" in project.say("status")
    assert "is corrupt" in specs(project)["specs/login"]["fault"]


def test_status_looks_into_every_specs_dir(project: SpecProject) -> None:
    in_two_roots(project)
    found = specs(project)
    assert {path: row["current"] for path, row in found.items()} == {
        "specs/login": False,
        "packages/api/specs/login": True,
    }


def test_a_running_spec_that_lost_its_tasks_is_sent_to_write_them(project: SpecProject) -> None:
    project.running()
    project.path("login", "tasks.md").unlink()
    assert "Next: `/ralph-specum:tasks`" in project.say("status")


@pytest.mark.parametrize("boxes", ["", "# Tasks\n\nnothing yet\n"])
def test_a_list_without_tasks_is_to_be_written(project: SpecProject, boxes: str) -> None:
    project.planned(boxes=boxes)
    project.say("tasks")
    assert "Next: `/ralph-specum:tasks`" in project.say("status")
    assert "`/ralph-specum:tasks` begins again" in project.say("cancel")


def test_status_of_a_newer_state_is_not_that_there_is_none(project: SpecProject) -> None:
    project.say("new", "login", "x")
    project.state_file("login").write_text('{"phase": "research", "schemaVersion": 2}')
    told = " ".join(project.say("status").split())
    assert "from a newer version (schemaVersion 2)" in told
    assert "no state" not in told


# switch


def test_switch_moves_the_pointer(project: SpecProject) -> None:
    project.say("new", "login", "one")
    project.say("new", "cart", "two")
    told = project.say("switch", "login")
    assert project.pointer == "login\n"
    assert "Spec login in specs/login: phase research." in told
    assert "is the current spec already" in project.say("switch", "login")


def test_switch_to_an_unknown_spec_names_the_known_ones(project: SpecProject) -> None:
    assert "`/ralph-specum:new` makes one" in project.refuse("switch", "login")
    project.say("new", "login", "one")
    assert "there is no spec cart here; known here: login." in project.refuse("switch", "cart")
    assert "there is no spec ../login here" in project.refuse("switch", "../login")
    assert "there is no spec ./specs here" in project.refuse("switch", "./specs")


def test_a_name_in_two_roots_needs_a_path(project: SpecProject) -> None:
    in_two_roots(project)
    told = project.refuse("switch", "login")
    assert "./specs/login or ./packages/api/specs/login" in told
    assert "known here: ./specs/login, ./packages/api/specs/login." in project.refuse("switch", "cart")
    told = project.refuse("new", "login", "three")
    assert "`/ralph-specum:switch ./specs/login` goes on with it" in told
    project.say("switch", "./specs/login")
    assert project.pointer == "login\n"
    project.say("switch", "./packages/api/specs/login")
    assert project.pointer == "./packages/api/specs/login\n"


def test_switch_by_an_agent_does_not_end_the_work_on_a_running_loop(project: SpecProject) -> None:
    project.running("login")
    told = project.say("new", "cart", "x")
    assert "The loop over login goes on: only the person leaves it, by typing" in told
    project.say("switch", "login")
    assert "`/ralph-specum:switch cart`" in project.say("switch", "cart")
    said = project.stop_of_plugin()
    assert "The pointer does not name login any more" in said
    assert "Continue spec: login" in said
    assert project.status()["state"] == "running"


def planned_beside(project: SpecProject, name: str) -> None:
    project.doc(name, "research.md", "requirements.md", "design.md")
    project.doc(name, "tasks.md", text=BOXES)


@pytest.mark.parametrize("way", ["typed", "terminal"])
def test_switch_by_the_person_pauses_the_running_loop_by_name(project: SpecProject, way: str) -> None:
    project.running("login")
    planned_beside(project, "cart")
    told = project.prompt("switch", "cart") if way == "typed" else project.say("switch", "cart", env={})
    assert "The loop over login is paused." in told
    assert "`/ralph-specum:switch login`, then `/ralph-specum:implement`, goes on" in told
    status = project.status()
    assert (status["state"], status["outcome"]) == ("paused", "interrupted")
    assert status["detail"] == "the person switched to cart"
    assert project.stop() is None


def test_session_has_another_loop_after_a_typed_switch_and_comes_back_to_the_first(
    project: SpecProject,
) -> None:
    project.running("login")
    planned_beside(project, "cart")
    project.prompt("switch", "cart")
    project.say("implement")
    assert "Continue spec: cart" in project.stop_of_plugin()
    project.prompt("switch", "login")
    project.say("implement")
    assert "Continue spec: login" in project.stop_of_plugin()


def test_a_loop_that_rests_already_frees_its_session_at_a_switch_too(project: SpecProject) -> None:
    project.running("login")
    planned_beside(project, "cart")
    project.fine("pause")
    project.prompt("switch", "cart")
    project.say("implement")
    assert "Continue spec: cart" in project.stop_of_plugin()


def test_typed_start_of_a_new_spec_pauses_the_running_loop_too(project: SpecProject) -> None:
    project.running("login")
    assert "The loop over login is paused." in project.prompt("new", "cart A cart")
    assert project.status()["state"] == "paused"


def test_a_loop_that_is_left_is_named_by_its_path_where_its_name_is_not_enough(project: SpecProject) -> None:
    in_two_roots(project)
    project.write("packages/api/specs/login/tasks.md", "- [ ] 1.1 One\n")
    project.say("implement")
    told = project.prompt("switch", "./specs/login")
    assert "`/ralph-specum:cancel ./packages/api/specs/login` ends it" in told
    assert "is cancelled" in project.say("cancel", "./packages/api/specs/login")


# epics


def epic(project: SpecProject, name: str = "shop") -> dict[str, Any]:
    value = json.loads((project.root / f"specs/_epics/{name}/.epic-state.json").read_text())
    assert isinstance(value, dict)
    return value


def with_epic(project: SpecProject) -> None:
    project.say("triage", "shop")
    project.say("triage", "--spec", "catalogue")
    project.say("triage", "--spec", "cart", "--after", "catalogue")


@pytest.fixture
def epic_of(project: SpecProject) -> SpecProject:
    with_epic(project)
    return project


def test_triage_makes_an_epic(project: SpecProject) -> None:
    told = project.prompt("triage", "A web shop, with $(carts)")
    assert epic(project, "a-web-shop-with-carts") == {
        "name": "a-web-shop-with-carts",
        "goal": "A web shop, with $(carts)",
        "specs": [],
        "output": "spec-files",
    }
    assert (project.root / "specs/.current-epic").read_text() == "a-web-shop-with-carts\n"
    notes = project.root / "specs/_epics/a-web-shop-with-carts/.progress.md"
    assert "A web shop, with $(carts)" in notes.read_text()
    assert "Write: specs/_epics/a-web-shop-with-carts/epic.md" in told
    assert "There is no spec" not in project.say("status")


def test_an_epic_that_exists_is_left_alone(project: SpecProject) -> None:
    project.say("triage", "web-shop", "one")
    assert "specs/_epics/web-shop exists already" in project.refuse("triage", "web-shop", "two")


def test_specs_of_an_epic_wait_for_each_other(project: SpecProject) -> None:
    with_epic(project)
    assert epic(project)["specs"] == [
        {"name": "catalogue", "status": "pending", "dependencies": []},
        {"name": "cart", "status": "pending", "dependencies": ["catalogue"]},
    ]
    assert "Next: `/ralph-specum:start catalogue`" in project.say("triage")
    told = project.say("status")
    assert "cart: pending, after catalogue" in told
    found = json.loads(project.say("status", "--json"))["epic"]
    assert (found["name"], found["next"]) == ("shop", "catalogue")


@each(
    ("words", "told"),
    [
        (["--spec", "pay", "--after", "nothing"], "the epic shop has no spec nothing"),
        (["--spec", "pay", "--after", "pay"], "pay after pay"),
        (["--spec", "catalogue", "--after", "cart"], "catalogue after cart after catalogue"),
        (["--spec", "Pay"], "how about pay?"),
        (["--after", "cart"], "name that spec with --spec"),
        (["--spec", "pay", "a text"], "not both at once"),
    ],
)
def test_what_an_epic_cannot_take_is_refused(epic_of: SpecProject, words: list[str], told: str) -> None:
    assert told in epic_of.refuse("triage", *words)


def test_a_spec_of_an_epic_may_wait_for_more(project: SpecProject) -> None:
    with_epic(project)
    project.say("triage", "--spec", "pay", "--after", "cart", "--after", "catalogue")
    project.say("triage", "--spec", "ship")
    project.say("triage", "--spec", "ship", "--after", "pay", "--after", "cart")
    assert [spec["dependencies"] for spec in epic(project)["specs"]] == [
        [],
        ["catalogue"],
        ["cart", "catalogue"],
        ["pay", "cart"],
    ]


def test_specs_added_at_once_are_all_kept(project: SpecProject) -> None:
    project.say("triage", "shop")
    running = [
        subprocess.Popen(
            project.argv("specum", "triage", "--spec", name), env=project.env(INSIDE), cwd=project.root,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for name in ("one", "two", "three", "four")
    ]  # fmt: skip
    for process in running:
        process.communicate(timeout=60)
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    assert {spec["name"] for spec in epic(project)["specs"]} == {"one", "two", "three", "four"}


def test_without_an_epic_triage_says_how_to_begin(project: SpecProject) -> None:
    assert "`/ralph-specum:triage WHAT IT SHALL DO` begins one" in project.refuse("triage")
    assert "there is no current epic" in project.refuse("triage", "--spec", "cart")


@pytest.mark.parametrize("text", ["{", "[]", '{"specs": {}}'])
def test_a_corrupt_epic_is_left_alone(project: SpecProject, text: str) -> None:
    with_epic(project)
    (project.root / "specs/_epics/shop/.epic-state.json").write_text(text)
    assert "is corrupt" in project.refuse("triage", "--spec", "pay")
    assert "is corrupt" in project.refuse("triage")
    assert "is corrupt" in project.say("status")


def test_an_epic_of_a_newer_version_is_left_alone(project: SpecProject) -> None:
    with_epic(project)
    file = project.root / "specs/_epics/shop/.epic-state.json"
    file.write_text('{"schemaVersion": 2, "specs": [{"name": "cart", "status": "pending"}]}')
    assert "is from a newer version (schemaVersion 2)" in project.refuse("triage", "--spec", "pay")
    before = file.read_bytes()
    project.say("start", "cart")
    assert file.read_bytes() == before
    assert "is from a newer version" in project.say("status")


def test_an_epic_whose_pointer_links_out_of_the_project_is_not_begun(project: SpecProject) -> None:
    outside = project.folder / "pointer"
    outside.write_text("")
    (project.root / "specs").mkdir()
    (project.root / "specs/.current-epic").symlink_to(outside)
    assert "leads out of the project" in project.refuse("triage", "shop")
    assert outside.read_text() == ""


def test_a_long_row_of_specs_may_wait_for_each_other(project: SpecProject) -> None:
    project.say("triage", "shop")
    row = [{"name": f"s{at}", "dependencies": [f"s{at + 1}"]} for at in range(5000)]
    last = {"name": "s5000", "dependencies": []}
    file = project.root / "specs/_epics/shop/.epic-state.json"
    file.write_text(json.dumps({"name": "shop", "specs": [*row, last]}))
    project.say("triage", "--spec", "pay", "--after", "s0")
    assert epic(project)["specs"][-1] == {"name": "pay", "status": "pending", "dependencies": ["s0"]}
    assert "would wait for each other" in project.refuse("triage", "--spec", "s5000", "--after", "s0")


def test_a_spec_of_the_epic_belongs_to_it_until_it_is_complete(project: SpecProject) -> None:
    with_epic(project)
    assert "specs/_epics/shop/epic.md" in project.say("start", "catalogue")
    assert project.state("catalogue")["epicName"] == "shop"
    assert epic(project)["specs"][0]["status"] == "in_progress"
    project.say("new", "other", "x")
    assert "epicName" not in project.state("other")
    project.say("switch", "catalogue")
    project.doc("catalogue", "tasks.md", text="- [ ] 1.1 One\n")
    project.say("implement")
    project.fine("done", "1.1", env=INSIDE)
    assert project.stop() is None
    assert epic(project)["specs"][0]["status"] == "completed"
    assert "Next: `/ralph-specum:start cart`" in project.say("start")
