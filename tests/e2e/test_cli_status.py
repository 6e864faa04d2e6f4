"""The command `status`: what people and scripts see, and that it never writes."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import OTHER, SESSION, WIDE, Project
from ralphloop.domain.model import Supervision
from ralphloop.store import arming, supervisor
from ralphloop.store.loop import LoopFiles, iso
from ralphloop.store.shelf import Shelf
from ralphloop.store.supervisor import Holder

LOOP = {
    "id": str,
    "layout": str,
    "state": str,
    "outcome": (str, type(None)),
    "iteration": int,
    "max_iterations": int,
    "done": int,
    "total": int,
    "next": (str, type(None)),
    "owner": (str, type(None)),
    "tasks": list,
}
TASK = {"id": str, "title": str, "state": str, "attempts": int}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_keys_that_scripts_rely_on_are_there(project: Project) -> None:
    project.begin("one")
    project.begin("two", session=OTHER)
    project.fine("cancel", "two")
    data = json.loads(project.fine("status", "--json"))
    assert [loop["name"] for loop in data["loops"]] == ["one", "two"]
    for loop in data["loops"]:
        assert {key for key, kind in LOOP.items() if not isinstance(loop[key], kind)} == set()
        for task in loop["tasks"]:
            assert set(task) == set(TASK)
            assert all(isinstance(task[key], kind) for key, kind in TASK.items())
    first = data["loops"][0]
    assert (first["state"], first["next"], first["done"], first["total"]) == ("running", "F1", 0, 3)
    assert (first["iteration"], first["max_iterations"], first["owner"]) == (1, 15, SESSION)


def test_without_loops_the_list_is_empty(project: Project) -> None:
    assert json.loads(project.fine("status", "--json")) == {"loops": [], "unowned": []}
    told = " ".join(project.fine("status").split())
    begin = "`ralphloop new NAME` makes a task list, and `ralphloop run` begins a loop over it"
    assert told == f"No loop and no task list here; {begin}."


def test_status_never_writes(project: Project) -> None:
    project.begin()
    project.spec()
    (project.root / ".ralph/loops/shop/feature_list.json").write_text('[{"id": "F1", "passes": true}]')
    before = project.digest()
    for words in (("status",), ("status", "shop"), ("status", "--json"), ("log",)):
        project.fine(*words)
    assert project.digest() == before


def test_one_loop_is_shown_with_its_tasks(project: Project) -> None:
    project.begin()
    project.stop()
    project.fine("done", "F1")
    told = project.fine("status", env=WIDE).splitlines()
    assert told[0] == "shop · running · iteration 2/15 · 1/3 done, 1 unverified · next F2"
    assert told[1] == f"  features · .ralph/loops/shop · session {SESSION} · last stop just now"
    assert [line.split() for line in told[2:]] == [
        ["✓", "F1", "unverified", "-", "Task", "1"],
        ["☐", "F2", "open", "-", "Task", "2"],
        ["☐", "F3", "open", "-", "Task", "3"],
    ]


def test_among_several_loops_a_named_one_has_its_tasks(project: Project) -> None:
    project.begin("one")
    project.begin("two", session=OTHER)
    assert "Task 1" not in project.fine("status")
    assert "Task 1" in project.fine("status", "two")


def test_a_long_list_is_cut_to_what_fits(project: Project) -> None:
    project.begin(tasks=200)
    told = project.fine("status", env={"LINES": "30", "COLUMNS": "80"}).splitlines()
    assert len(told) <= 30
    assert re.fullmatch(r"  … and \d+ more", told[-1])


def test_lists_that_nobody_owns_say_how_to_start(project: Project) -> None:
    project.new("shop")
    project.spec("login")
    told = project.fine("status")
    assert "unowned: shop (features) … `ralphloop start shop`" in told
    assert "unowned: login (specum) … `ralphloop start login`" in told
    found = json.loads(project.fine("status", "--json"))["unowned"]
    assert [(entry["name"], entry["layout"]) for entry in found] == [
        ("shop", "features"),
        ("login", "specum"),
    ]


def test_a_copied_project_has_no_owner(project: Project) -> None:
    project.begin()
    copy = project.folder / "copy"
    shutil.copytree(project.root, copy)
    assert project.fine("status", cwd=copy) == "unowned: shop (features) … `ralphloop start shop`\n"


def test_a_finished_or_disabled_list_is_not_offered(project: Project) -> None:
    project.fine("new", "shop", "--from", "-", stdin=b"- [x] a\n")
    project.spec("login")
    project.write(".claude/ralph-specum.local.md", "---\nenabled: false\n---\n")
    assert json.loads(project.fine("status", "--json"))["unowned"] == []


def test_a_loop_without_a_stop_for_a_day_is_orphaned(project: Project) -> None:
    project.begin()
    for file in [*project.root.rglob("loop.json"), *project.home.rglob("loop.json")]:
        state = json.loads(file.read_text(encoding="utf-8"))
        state["seen_at"] = time.time() - 26 * 3600 - 60
        file.write_text(json.dumps(state), encoding="utf-8")
    assert "no stop for 26 h; `ralphloop resume shop --adopt`" in project.fine("status")
    assert project.status()["orphaned"] is True


def test_nothing_in_a_task_reaches_the_terminal_as_a_command(project: Project) -> None:
    evil = "a\x1b]0;owned\x07\x1b[2Jb\x9b31mc\r\nfake · running\u202e\x00\x7f"
    listed = [{"id": "\x1b[31mX", "description": evil, "needs_human": evil}, {"id": "B", "passes": True}]
    project.write(".ralph/loops/shop/feature_list.json", json.dumps(listed))
    project.fine("start", "--session", "\x1b[1mS")
    project.stop("\x1b[1mS")
    for words in (("status",), ("status", "shop"), ("log",), ("pause",), ("resume",), ("cancel",)):
        told = project.fine(*words)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", told), words
        assert "\nfake" not in told


def test_a_list_with_bytes_that_are_not_utf8_is_shown(project: Project) -> None:
    file = project.write(".ralph/loops/shop/feature_list.json", "")
    file.write_bytes(b'[{"id": "A", "description": "caf\xe9"}]')
    project.fine("start")
    assert "caf?" in project.fine("status")
    assert json.loads(project.fine("status", "--json"))["loops"][0]["tasks"][0]["title"] == "caf?"


def test_a_damaged_state_is_read_from_its_copy(project: Project) -> None:
    project.begin()
    (file,) = project.root.rglob("loop.json")
    for text in ("", "{", "[]", '{"state": 1}', "\x00"):
        file.write_text(text, encoding="utf-8")
        assert project.status()["state"] == "running", text
        assert file.read_text(encoding="utf-8") == text


def test_of_what_has_ended_the_last_five_are_shown_and_the_others_on_demand(project: Project) -> None:
    project.new()
    for _ in range(7):
        project.fine("start")
        project.fine("cancel")
    told = project.fine("status")
    assert told.count("shop · cancelled") == 5
    assert "… and 2 more that ended: `ralphloop status --ended`\n" in told
    told = project.fine("status", "--ended")
    assert told.count("shop · cancelled") == 7
    assert "more that ended" not in told
    data: dict[str, Any] = json.loads(project.fine("status", "--json"))
    assert len(data["loops"]) == 7


def test_what_is_at_work_comes_first_then_what_waits_for_the_person_then_the_last_that_ended(
    project: Project,
) -> None:
    for number, name in enumerate(("ends-late", "ends-soon", "asks", "rests", "works")):
        project.begin(name, session=f"{number}{SESSION[1:]}", tasks=1)
    project.fine("cancel", "ends-soon")
    project.fine("pause", "rests")
    project.fine("ask", "F1", "Which?", "--loop", "asks")
    project.stop(f"2{SESSION[1:]}")
    time.sleep(0.01)  # the order is that of the ends
    project.fine("cancel", "ends-late")
    heads = [line for line in project.fine("status").splitlines() if " · iteration " in line]
    assert [head.partition(" · ")[0] for head in heads] == [
        "works",
        "asks",
        "rests",
        "ends-late",
        "ends-soon",
    ]
    assert heads[1].startswith("asks · paused (needs_input)")
    listed = json.loads(project.fine("status", "--json"))["loops"]
    assert [loop["name"] for loop in listed] == [head.partition(" · ")[0] for head in heads]


@pytest.mark.slow
def test_a_thousand_loops_that_ended_do_not_keep_status_waiting(project: Project) -> None:
    """What is not shown is not looked into: its tasks are not read."""
    project.begin("shop", tasks=100)
    project.fine("cancel", "shop")
    (record,) = project.home.rglob("ended/*.json")
    (kept,) = project.home.rglob("kept/*/")
    data = json.loads(record.read_text(encoding="utf-8"))
    for number in range(1000):
        name = f"{data['id']}-{number}"
        record.with_name(name + ".json").write_text(json.dumps({**data, "id": name}), encoding="utf-8")
        shutil.copytree(kept, kept.with_name(name))
        for file in kept.with_name(name).glob("*.json"):
            file.write_text(file.read_text(encoding="utf-8").replace(data["id"], name), encoding="utf-8")
    begun = time.monotonic()
    told = project.fine("status")
    few_s = time.monotonic() - begun
    assert "… and 996 more that ended" in told
    begun = time.monotonic()
    assert project.fine("status", "--ended").count("shop · cancelled") == 1001
    assert few_s < (time.monotonic() - begun) / 2


def test_one_task_is_no_tasks(project: Project) -> None:
    project.new("one", tasks=1)
    project.new("two", tasks=2)
    assert project.fine("plan", "--show", "one").startswith("one: 1 task in ")
    assert project.fine("plan", "--show", "two").startswith("two: 2 tasks in ")


def test_who_is_asked_is_told_which_task_of_which_loop(project: Project) -> None:
    project.begin("one", tasks=1)
    project.fine("ask", "F1", "Which?")
    answer = project.stop()
    assert answer is not None
    assert "ralphloop answer F1 TEXT`, then send any message." in answer["systemMessage"]
    told = "`ralphloop answer F1 TEXT --loop one`, then send the session any message."
    assert told in project.fine("status", env=WIDE)
    project.begin("two", session=OTHER)
    assert told in project.fine("status", env=WIDE)


def test_the_running_time_moves_within_a_turn_and_is_the_same_everywhere(project: Project) -> None:
    project.begin("shop", "--max-cost", "5")
    shift(project, seen_at=-600.0, started_at=-600.0)
    assert "  used: 10 min of 8 h 00 min, " in project.fine("status")
    assert "  running time        10 min of 8 h 00 min\n" in project.fine("limit")
    assert "| running time of the last window | 10 min | 8 h 00 min | 2 % |" in project.run("report").out
    assert " 10 min of 8 h 00 min, " in project.fine("watch", "--once", "--plain")
    assert project.status()["limits"]["time_s"]["used"] >= 600


def test_a_killed_supervisor_has_worked_until_its_last_sign_of_life(project: Project) -> None:
    """Everywhere the same, and everywhere nobody drives it."""
    project.begin("shop", "--max-cost", "5")
    kill_driver(project, ago_s=880.0)
    age_journal(project, seconds=1200.0)
    for words in (["status"], ["limit"], ["watch", "--once", "--plain"]):
        said = project.fine(*words)
        assert "5 min of 8 h" in said, said
        assert "shop · nobody drives it" in said, said
    assert ", 5 min of it under way" in project.run("report").out
    assert 310 < project.status()["limits"]["time_s"]["used"] < 330
    changed = project.fine("limit", "--max-cost", "9")
    assert "shop is driven by nobody; `ralphloop run shop` goes on.\n" in changed


def kill_driver(project: Project, *, ago_s: float) -> None:
    """As if a supervisor had driven the only loop, and been killed so long ago."""
    here = Shelf(str(project.root), project.env())
    record = here.owned_by(SESSION)
    assert record is not None
    loop = LoopFiles(record, here)
    arming.hand_on(loop, loop.state(), session=SESSION, terms=Supervision(), batch=[])
    supervisor.say(loop, Holder(pid=1, boot="this"))
    (file,) = project.home.rglob("supervisor.json")
    os.utime(file, (time.time() - ago_s,) * 2)


def test_after_a_go_on_the_time_in_all_is_told_beside_the_windows(project: Project) -> None:
    project.begin("shop", "--max-cost", "5")
    age_journal(project, seconds=1200)
    project.fine("pause")
    project.stop()
    project.fine("resume")
    told, limits, report = project.fine("status"), project.fine("limit"), project.run("report").out
    for said in (told, limits):
        assert re.search(r"(under 1|\d) s of 8 h 00 min \(20 min in all\)", said), said
    assert ", 20 min of it under way" in report
    assert round(project.status()["working_s"] / 60) == 20


def shift(project: Project, **seconds: float) -> None:
    """Move moments of the loop's state, in both places."""
    for file in [*project.root.rglob("loop.json"), *project.home.rglob("loop.json")]:
        state = json.loads(file.read_text(encoding="utf-8"))
        moved = {name: state[name] + by for name, by in seconds.items()}
        file.write_text(json.dumps({**state, **moved}), encoding="utf-8")


def age_journal(project: Project, *, seconds: float) -> None:
    """As if the loop had begun so much earlier."""
    shift(project, started_at=-seconds, seen_at=-seconds)
    (file,) = project.root.rglob("journal.jsonl")
    entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    begun = iso(time.time() - seconds)
    file.write_text("".join(json.dumps({**entry, "at": begun}) + "\n" for entry in entries), encoding="utf-8")
