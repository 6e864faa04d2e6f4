"""The list is changed while it is being judged: what was read is what is approved, and what is run."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.effort import rounds
from hook import flipper
from hook.attack import (
    checked_files,
    checked_list,
    commands_run,
    leaving,
    mark,
    process,
    state_of,
)
from hook.conftest import ProjectFactory
from hook.harness import FOLDERS, LoopProject
from hook.lines import tool_line
from hook.proven import cli
from ralphloop.store import arming

STOPS = rounds(25, soak=200)
ENDLESS = {"attempts": 10**6, "no_progress": 10**6, "replies": 10**6}


def trace(found: LoopProject) -> Path:
    return found.base / "approved"


def good(found: LoopProject) -> str:
    """An approved check that shows that it ran and is never green: the task is claimed again and again."""
    return leaving(trace(found), "good") + "; exit 1"


def begun(found: LoopProject) -> None:
    found.arm(max_iterations=10**6, limits=ENDLESS)


def stop_often(found: LoopProject, *spares: Path, target: Path) -> None:
    """So many stops while another process puts one spare after the other into the target's place."""
    with flipping(target, *spares):
        for _ in range(STOPS):
            found.add_lines(tool_line("Bash", {"command": "true"}))
            data = json.dumps(found.payload()).encode()
            found.finish(found.fork(data), may_report=True)
            go_on(found)
            assert not mark(found).exists()


@contextlib.contextmanager
def flipping(target: Path, *spares: Path) -> Iterator[None]:
    with process(sys.executable, flipper.__file__, str(target), *map(str, spares)) as running:
        yield
        assert running.poll() is None


def go_on(found: LoopProject) -> None:
    """A loop that came to wait for an approval, or found its list gone, is taken up as it is."""
    if state_of(found)["state"] == "paused":
        loop = found.the_loop()
        with loop.lock():
            state = loop.load()
            assert state is not None
            arming.take_up(loop, state)


def spare(found: LoopProject, name: str, text: str) -> Path:
    path = found.base / name
    path.write_text(text)
    return path


def spare_link(found: LoopProject, target: Path) -> Path:
    path = found.base / "link"
    path.symlink_to(target)
    return path


@pytest.mark.slow
def test_a_list_flipped_to_a_hostile_command_never_runs_it(project: ProjectFactory) -> None:
    found = project("features")
    found.write(checked_files("features", good(found)))
    begun(found)
    spares = [
        spare(found, "good.json", checked_list(good(found), done=1)),
        spare(found, "hostile.json", checked_list(leaving(mark(found)), done=1)),
    ]
    stop_often(found, *spares, target=found.own)
    assert set(commands_run(found)) == {good(found)}
    assert trace(found).exists()
    assert found.rejected()  # and the hostile one was seen


@pytest.mark.slow
def test_a_list_flipped_to_one_with_an_added_hostile_task_never_runs_it(project: ProjectFactory) -> None:
    found = project("features")
    found.write(checked_files("features", good(found)))
    begun(found)
    more = json.loads(checked_list(good(found), done=1))
    more["features"].append({"id": "F9", "passes": True, "verify": leaving(mark(found))})
    spares = [
        spare(found, "good.json", checked_list(good(found), done=1)),
        spare(found, "hostile.json", json.dumps(more)),
    ]
    stop_often(found, *spares, target=found.own)
    assert set(commands_run(found)) == {good(found)}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_a_list_flipped_to_a_link_never_runs_what_it_leads_to(project: ProjectFactory, where: str) -> None:
    found = project("features")
    found.write(checked_files("features", good(found)))
    begun(found)
    hostile = (found.root if where == "inside" else found.base) / "feature_list.json"
    hostile.write_text(checked_list(leaving(mark(found)), done=1))
    spares = [
        spare(found, "good.json", checked_list(good(found), done=1)),
        spare_link(found, hostile),
    ]
    # What is put back into the list through the link must not end the attack.
    with flipping(hostile, spare(found, "hostile.json", hostile.read_text())):
        stop_often(found, *spares, target=found.own)
    assert set(commands_run(found)) <= {good(found)}


@pytest.mark.slow
def test_a_tasks_file_flipped_to_a_hostile_command_never_runs_it(project: ProjectFactory) -> None:
    found = project("specum")
    found.write(checked_files("specum", good(found)))
    found.edit_state(maxTaskIterations=10**6, maxGlobalIterations=10**6)
    begun(found)
    path = f"{FOLDERS['specum']}/tasks.md"
    texts = [checked_files("specum", command)[path] for command in (good(found), leaving(mark(found)))]
    spares = [
        spare(found, f"{place}.md", text.replace("[ ] 1.1 ", "[x] 1.1 ")) for place, text in enumerate(texts)
    ]
    stop_often(found, *spares, target=found.root / path)
    assert set(commands_run(found)) == {good(found)}
    assert found.the_loop().load_ledger().tasks["1.1"].get("state") not in ("proven", "unverified")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("done", "F1"), ("verify", "F1"), ("verify", "--all"), ("approve", "--show")]
)
def test_a_flipped_list_never_runs_a_hostile_command_by_hand(
    project: ProjectFactory, words: tuple[str, ...]
) -> None:
    found = project("features")
    found.write(checked_files("features", good(found)))
    begun(found)
    spares = [
        spare(found, "good.json", checked_list(good(found))),
        spare(found, "hostile.json", checked_list(leaving(mark(found)))),
    ]
    with flipping(found.own, *spares):
        for _ in range(rounds(8, soak=40)):
            cli(found, *words)
            assert not mark(found).exists()


def test_a_project_folder_flipped_for_a_hostile_one_runs_nothing_of_it(project: ProjectFactory) -> None:
    """Between one stop and the next, every time: same path, same commands, other scripts."""
    found = project("features")
    command = "sh check.sh; exit 1"
    script = leaving(trace(found), "good") + "\n"
    found.write({**checked_files("features", command), "check.sh": script})
    begun(found)
    hostile = found.base / "hostile"
    hostile.mkdir()
    away, real = found.base / "away", found.root
    found.root = hostile
    found.write({**checked_files("features", command), "check.sh": leaving(mark(found)) + "\n"})
    found.root = real
    for number in range(10):
        if number % 2:
            os.rename(real, away)
            os.rename(hostile, real)
        found.close(1)
        found.turn()
        go_on(found)
        if number % 2:
            os.rename(real, hostile)
            os.rename(away, real)
        assert not mark(found).exists()
    assert trace(found).read_text() == "good\n" * 5
