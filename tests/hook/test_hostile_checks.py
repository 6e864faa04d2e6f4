"""Checks, lists and files that work against the loop, and that the hook survives."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from fakes import warm
from fakes.patience import eventually
from hook.conftest import ProjectFactory
from hook.harness import feature
from hook.proven import WAITS, Slow, boxed, checked, cli, cli_env, is_closed, known, lines_of, listed
from ralphloop.engine import checks


def pinned(project, *features, **shared):
    found = listed(project, *features, armed=False, **shared)
    (found.root / "tests").mkdir()
    (found.root / "tests" / "a").write_text("a")
    return found


def begin(found):
    found.arm()
    checks.pin_protected(found.the_loop())
    found.close(1)


def test_an_added_task_with_the_number_of_a_nameless_one_proves_nothing(project: ProjectFactory) -> None:
    found = listed(
        project,
        {"description": "A", "verify": "test -f never", "passes": False},
        {"description": "B", "verify": "sleep 0.2", "passes": False},
    )
    data = json.loads(found.own.read_text())
    data["features"].append({"id": "1", "description": "C", "verify": "sleep 0.2"})
    for one in data["features"]:
        one["passes"] = True
    found.own.write_text(json.dumps(data))
    found.turn()
    assert found.loop()["outcome"] != "complete"


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_an_added_box_with_the_number_of_a_nameless_one_proves_nothing(project, layout) -> None:
    text = (
        "# Tasks\n\n- [ ] First\n  - **Verify**: `test -f never`\n- [ ] Second\n  - **Verify**: `sleep 0.2`\n"
    )
    found = boxed(project, layout, text)
    place = found.folder / "tasks.md"
    place.write_text(text.replace("[ ]", "[x]") + "- [x] 1 One\n  - **Verify**: `sleep 0.2`\n")
    found.turn()
    assert found.loop()["outcome"] != "complete"


@pytest.mark.parametrize("word", ["accept", "skip"])
def test_the_persons_word_during_a_check_holds(project: ProjectFactory, word: str) -> None:
    found = checked(project, "features", f"{WAITS}; false", "test -f never")
    found.close(1)
    running = Slow(found)
    assert cli(found, word, "F1").returncode == 0
    running.let_go()
    assert known(found, "F1").get("state") == {"accept": "vouched", "skip": "skipped"}[word]


def test_a_check_is_not_the_person(project: ProjectFactory) -> None:
    found = checked(project, "features", "sh ./t.sh", "test -f never")
    (found.root / "t.sh").write_text(f"{sys.executable} -m ralphloop accept F2\n")
    cli(found, "verify", "F1")
    assert known(found, "F2").get("state") != "vouched"


@pytest.mark.parametrize("name", ["n" * 250, pytest.param("many", marks=pytest.mark.slow)])
def test_what_cannot_be_set_aside_does_not_end_the_loop(project: ProjectFactory, name: str) -> None:
    found = pinned(project, feature("F1", verify="true"), feature("F2", verify="false"), protect=["tests/**"])
    begin(found)
    if name == "many":
        (found.root / "tests" / name).mkdir()
        for number in range(20_001):
            (found.root / "tests" / name / str(number)).touch()
    else:
        (found.root / "tests" / name).touch()
    assert found.turn().blocks


@pytest.mark.slow
def test_many_files_that_no_pattern_names_do_no_harm(project: ProjectFactory) -> None:
    found = pinned(
        project, feature("F1", verify="true"), feature("F2", verify="false"), protect=["package*.json"]
    )
    begin(found)
    (found.root / "build").mkdir()
    for number in range(20_001):
        (found.root / "build" / str(number)).touch()
    assert found.turn().blocks


def test_a_pipe_that_was_there_at_the_start_is_not_added(project: ProjectFactory) -> None:
    found = pinned(project, feature("F1", verify="true"), feature("F2", verify="false"), protect=["tests/**"])
    os.mkfifo(found.root / "tests" / "pipe")
    begin(found)
    found.turn()
    assert (found.root / "tests" / "pipe").exists()
    assert is_closed(found, 1)


@pytest.mark.parametrize("glob", ["a\0b", "te\ud800st/**"])
def test_a_pattern_that_is_no_path_does_no_harm(project: ProjectFactory, glob: str) -> None:
    found = pinned(project, feature("F1", verify="true"), feature("F2", verify="false"), protect=[glob])
    found.arm()
    found.close(1)
    assert found.turn().blocks


def test_a_worktree_that_names_no_path_does_no_harm(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "false")
    found.close(1)
    gitdir = found.root / ".git" / "worktrees" / "w"
    gitdir.mkdir(parents=True)
    (gitdir / "gitdir").write_text("a\0b")
    folder = found.base / "wt"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {gitdir}\n")
    assert found.run(json.dumps(found.payload("Stop", cwd=str(folder))).encode()).blocks


def a_line(**fields: object) -> str:
    """One line of the evidence's index, with these values in it."""
    line = {"id": "1", "sha256": "", "at": "", "tasks": [], "command": "true", "green": True,
            "duration_s": 1, "kind": "claim", "round": 0}  # fmt: skip
    return json.dumps({**line, **fields}) + "\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pinned", "{"),
        ("protected.json", "{}"),
        ("protected.json", '{"patterns": ["tests/**"], "files": {"tests/a": 1}}'),
        ("evidence.jsonl", a_line(duration_s="x")),
        ("evidence.jsonl", a_line(command=[])),
    ],
)
def test_damaged_files_of_the_state_directory_do_no_harm(project, name, text) -> None:
    found = pinned(
        project,
        feature("F1", verify="true"),
        feature("F2", verify="true"),
        feature("F3", verify="false"),
        protect=["tests/**"],
    )
    begin(found)
    found.turn()
    found.kept(name).write_text(text)
    found.close(2)
    assert found.turn().blocks


def test_evidence_after_a_torn_line_is_listed(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "test -f never")
    found.close(1)
    found.turn()
    with found.kept("evidence.jsonl").open("a") as file:
        file.write('{"id": "0002-')
    found.close(2)
    found.turn()
    assert cli(found, "evidence", "F2").returncode == 0


def test_done_that_loses_the_race_with_a_stop_still_fails(project: ProjectFactory) -> None:
    """Both run the check; the stop is the first to come to its end."""
    waits = "echo >> begun; turn=$(($(wc -l < begun))); while [ ! -f go$turn ]; do sleep 0.1; done; false"
    found = checked(project, "features", waits, "test -f never")
    found.close(1)
    stop = found.fork(json.dumps(found.payload()).encode())
    eventually(lambda: len(lines_of(found.root / "begun")) == 1)
    done = warm.start(["done", "F1"], env=cli_env(found), cwd=found.root, stdin=subprocess.DEVNULL)
    eventually(lambda: len(lines_of(found.root / "begun")) == 2)
    found.write({"go1": ""})
    found.finish(stop)
    found.write({"go2": ""})
    done.communicate(timeout=60)
    assert done.returncode == 1


@pytest.mark.parametrize("text", ["garbage", "5"])
def test_a_check_that_speaks_for_its_keeper_does_no_harm(project: ProjectFactory, text: str) -> None:
    found = checked(project, "features", f"echo {text} > /proc/$PPID/fd/1; exit 1", "false")
    found.close(1)
    assert found.turn().blocks
