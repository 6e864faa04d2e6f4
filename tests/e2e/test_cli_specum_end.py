"""`ralphloop specum` around the work: status, switch, cancel, and the epics that specs belong to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import SESSION
from e2e.spec_project import INSIDE, SpecProject

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
    assert "There is no spec here yet" in project.say("status")
    assert json.loads(project.say("status", "--json")) == {"specs": [], "epic": None}


def test_status_shows_every_spec(project: SpecProject) -> None:
    project.running("login")
    project.say("new", "cart", "x")
    project.doc("cart", "research.md")
    project.write("specs/notes/readme.txt", "no spec")
    before = project.digest()
    lines = project.say("status").splitlines()
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
    project.say("switch", "./specs/login")
    assert project.pointer == "login\n"
    project.say("switch", "./packages/api/specs/login")
    assert project.pointer == "./packages/api/specs/login\n"


def test_switch_leaves_a_running_loop_alone_and_says_so(project: SpecProject) -> None:
    project.running("login")
    assert "The loop over login is left alone" in project.say("new", "cart", "x")
    project.say("switch", "login")
    told = project.say("switch", "cart")
    assert "it rests until `/ralph-specum:switch login`; `/ralph-specum:cancel login` ends it." in told
    assert project.stop() is None
    assert project.status()["state"] == "running"
    project.say("switch", "login")
    assert "Continue spec: login" in project.stop_of_plugin()


# cancel


def test_cancel_ends_the_loop_and_keeps_what_was_written(project: SpecProject) -> None:
    folder = project.running()
    state = project.state_file("login").read_bytes()
    told = project.say("cancel")
    assert sorted(path.name for path in folder.iterdir()) == [
        ".progress.md", "design.md", "requirements.md", "research.md", "tasks.md",
    ]  # fmt: skip
    assert project.pointer == "login\n"
    assert "`/ralph-specum:implement` begins again" in told
    (kept,) = (project.root / ".ralph/run").glob("*/cancelled/.ralph-state.json")
    assert str(kept.relative_to(project.root)) in told
    assert kept.read_bytes() == state
    loop = project.status()
    assert (loop["state"], loop["outcome"]) == ("ended", "cancelled")
    assert project.stop() is None
    assert not project.state_file("login").exists()


def test_cancel_without_a_loop_keeps_a_copy_of_the_state(project: SpecProject) -> None:
    project.say("new", "login", "x")
    state = project.state_file("login").read_bytes()
    told = project.say("cancel")
    kept = Path(told.partition("a copy is kept: ")[2].split("\n")[0])
    assert kept.is_relative_to(project.home)
    assert kept.read_bytes() == state
    assert "`/ralph-specum:research` begins again" in told
    project.say("research")
    again = project.say("cancel")
    assert Path(again.partition("a copy is kept: ")[2].split("\n")[0]) != kept
    assert kept.read_bytes() == state


def test_cancel_takes_a_name(project: SpecProject) -> None:
    project.running("login")
    project.say("new", "cart", "x")
    project.say("cancel", "login")
    assert not project.state_file("login").exists()
    assert project.state_file("cart").exists()
    assert "there is no spec shop here" in project.refuse("cancel", "shop")


def test_cancel_of_a_paused_loop_is_final(project: SpecProject) -> None:
    project.running()
    project.fine("pause")
    project.say("cancel")
    assert project.status()["outcome"] == "cancelled"


def test_cancel_twice_says_that_there_is_nothing(project: SpecProject) -> None:
    project.running()
    project.say("cancel")
    before = project.digest()
    assert "nothing to cancel" in project.say("cancel")
    assert project.digest() == before


def test_cancel_during_a_stop_holds_and_keeps_the_state_until_then(project: SpecProject) -> None:
    project.running()
    with project.the_loop().lock():
        told = project.say("cancel")
    assert "holds when it is answered" in told
    assert "`/ralph-specum:cancel` again" in told
    assert project.state_file("login").exists()
    assert project.stop() is None
    assert project.status()["outcome"] == "cancelled"
    assert "The state of login is removed" in project.say("cancel")


@pytest.mark.parametrize(
    ("documents", "following"),
    [
        ((), "research"),
        (("research.md",), "requirements"),
        (("requirements.md",), "design"),
        (("requirements.md", "design.md"), "tasks"),
    ],
)
def test_after_a_cancel_the_spec_goes_on_behind_its_last_document(
    project: SpecProject, documents: tuple[str, ...], following: str
) -> None:
    project.say("new", "login", "x")
    project.doc("login", *documents)
    assert f"`/ralph-specum:{following}` begins again" in project.say("cancel")


def test_a_running_spec_that_lost_its_tasks_is_sent_to_write_them(project: SpecProject) -> None:
    project.running()
    project.path("login", "tasks.md").unlink()
    assert "Next: `/ralph-specum:tasks`" in project.say("status")


# epics


def epic(project: SpecProject, name: str = "shop") -> dict[str, Any]:
    value = json.loads((project.root / f"specs/_epics/{name}/.epic-state.json").read_text())
    assert isinstance(value, dict)
    return value


def with_epic(project: SpecProject) -> None:
    project.say("triage", "shop")
    project.say("triage", "--spec", "catalogue")
    project.say("triage", "--spec", "cart", "--after", "catalogue")


def test_triage_makes_an_epic(project: SpecProject) -> None:
    told = project.type("triage", "A web shop, with $(carts)")
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


@pytest.mark.parametrize(
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
def test_what_an_epic_cannot_take_is_refused(project: SpecProject, words: list[str], told: str) -> None:
    with_epic(project)
    assert told in project.refuse("triage", *words)


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
