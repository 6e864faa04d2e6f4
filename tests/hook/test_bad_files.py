"""Whatever stands where the loop's files should be: exit 0, one object at most, and no file lost."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import (
    LAYOUTS,
    POINTERS,
    SEQUENTIAL,
    SETTINGS,
    LoopProject,
    feature,
    feature_list,
    loop_files,
)
from ralphloop.store.loop import run_folder

pytestmark = pytest.mark.slow

Harm = Callable[[Path], object]


def replaced(path: Path) -> Path:
    path.unlink()
    return path


def make_pipe(path: Path) -> None:
    os.mkfifo(replaced(path))


def make_directory(path: Path) -> None:
    replaced(path).mkdir()
    (path / "x").write_text("x")


HARMS: dict[str, Harm] = {
    "empty": lambda path: path.write_text(""),
    "truncated": lambda path: path.write_text(path.read_text()[:30]),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "directory": lambda path: replaced(path).mkdir(),
    "full directory": make_directory,
    "dangling link": lambda path: replaced(path).symlink_to("nowhere"),
    "link to itself": lambda path: replaced(path).symlink_to(path.name),
    "pipe": make_pipe,
    "deep": lambda path: path.write_text('{"a":' * 50_000),
    "array": lambda path: path.write_text("[[]]"),
}


def run_all(projects: list[LoopProject]) -> None:
    """Two rounds of stops, all projects at once because a file that does not parse is waited for."""
    for _ in range(2):
        running = [(found, found.fork(json.dumps(found.payload()).encode())) for found in projects]
        for found, process in running:
            assert found.finish(process).stderr == ""


def test_a_damaged_file_of_an_owned_loop_is_harmless(project: ProjectFactory) -> None:
    harmed = []
    for layout, harm in itertools.product(LAYOUTS, HARMS.values()):
        found = project(layout)
        found.arm()
        found.turn()
        harm(found.own)
        harmed.append(found)
    run_all(harmed)
    for found in harmed:
        json.loads((found.run_folder / "loop.json").read_text())


def test_a_damaged_file_without_a_good_copy_is_harmless(project: ProjectFactory) -> None:
    harmed = []
    for layout, harm in itertools.product(LAYOUTS, HARMS.values()):
        found = project(layout)
        found.arm()
        harm(found.own)
        harmed.append(found)
    run_all(harmed)


def test_a_damaged_file_that_nobody_owns_is_harmless(project: ProjectFactory) -> None:
    harmed = []
    for layout, harm in itertools.product(LAYOUTS, HARMS.values()):
        found = project(layout)
        found.write_by_tool(text='{"passes": true}')
        harm(found.own)
        harmed.append(found)
    run_all(harmed)


@pytest.mark.slow
def test_a_damaged_tasks_file_is_harmless(project: ProjectFactory) -> None:
    harmed = []
    for layout, harm in itertools.product(SEQUENTIAL, HARMS.values()):
        found = project(layout)
        found.arm()
        found.turn()
        harm(found.folder / "tasks.md")
        harmed.append(found)
    run_all(harmed)


def test_damaged_pointers_and_settings_are_harmless(project: ProjectFactory) -> None:
    harmed = []
    for layout in SEQUENTIAL:
        for harm in HARMS.values():
            for place in (POINTERS[layout], SETTINGS[layout]):
                found = project(layout)
                found.write({SETTINGS[layout]: "---\nenabled: true\nspecs_dirs: [specs]\n---\n"})
                found.arm()
                harm(found.root / place)
                harmed.append(found)
    for start in range(0, len(harmed), 10):
        run_all(harmed[start : start + 10])


NOWHERE = ["../../outside", "/etc", "..", ".", "./", "a\nb", "\0", "x" * 5000, "$(touch ran)"]


@pytest.mark.usefixtures("as_registered")
@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_pointer_that_leads_nowhere_good_is_silent(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.write_by_tool()
    for text in NOWHERE:
        (found.root / POINTERS[layout]).write_text(text)
        before = found.digest()
        assert found.stop().silent, text
        assert found.digest() == before, text


@pytest.mark.parametrize("text", ['{"features": [{"id": "X", "passes": false}]}', "precious, not JSON"])
def test_a_link_out_of_the_project_is_never_followed_to_write(armed: LoopProject, text: str) -> None:
    armed.turn()
    outside = armed.base / "outside.json"
    outside.write_text(text)
    armed.own.unlink()
    armed.own.symlink_to(outside)
    answer = armed.stop()
    assert outside.read_text() == text
    assert "the last good copy is back" in answer.message
    assert "pointer" not in answer.message
    assert not armed.own.is_symlink()


def test_a_link_out_of_the_project_is_never_claimed(any_project: LoopProject) -> None:
    outside = any_project.base / "outside.json"
    any_project.own.rename(outside)
    any_project.own.symlink_to(outside)
    any_project.write_by_tool(text='{"passes": true}')
    before = any_project.digest()
    assert any_project.stop().silent
    assert any_project.digest() == before


def test_a_progress_file_that_leads_out_is_not_written(project: ProjectFactory) -> None:
    found = project("features")
    outside = found.base / "outside.txt"
    (found.folder / "progress.txt").rename(outside)
    (found.folder / "progress.txt").symlink_to(outside)
    found.arm()
    text = outside.read_text()
    assert found.turn().blocks
    assert outside.read_text() == text


def test_a_link_inside_the_project_is_written_through(project: ProjectFactory) -> None:
    found = project("specum")
    real = found.root / "real.json"
    found.own.rename(real)
    found.own.symlink_to(real)
    found.arm()
    assert found.turn().blocks
    assert found.own.is_symlink()
    assert json.loads(real.read_text())["globalIteration"] == 2


# Writes that fail


def test_a_run_folder_that_cannot_be_written_lets_the_stop_through(features: LoopProject) -> None:
    features.turn()
    folder = features.run_folder
    folder.rename(features.base / "moved")
    folder.write_text("in the way")
    answer = features.turn()
    assert not answer.blocks
    assert "cannot write" in answer.message
    assert folder.read_text() == "in the way"


def test_a_claim_that_cannot_be_written_lets_the_stop_through(project: ProjectFactory) -> None:
    for layout in SEQUENTIAL:
        found = project(layout)
        found.write_by_tool()
        Path(run_folder(str(found.root))).parent.write_text("in the way")
        answer = found.stop()
        assert not answer.blocks
        assert "cannot write" in answer.message


def test_a_state_directory_that_cannot_be_written_lets_the_stop_through(unarmed: LoopProject) -> None:
    unarmed.write_by_tool(text='{"passes": true}')
    unarmed.state_home.parent.mkdir(parents=True)
    unarmed.state_home.write_text("in the way")
    answer = unarmed.stop()
    assert not answer.blocks
    assert "cannot write" in answer.message


def test_a_lost_run_folder_is_made_again(features: LoopProject) -> None:
    features.turn()
    shutil.rmtree(features.root / ".ralph" / "run")
    assert features.turn().blocks
    assert features.loop()["iteration"] == 3


def test_a_damaged_arming_record_is_nobodys(features: LoopProject) -> None:
    features.turn()
    (record,) = features.state_home.rglob("owned/*.json")
    odd = record.read_text().replace('"paths": {', '"paths": 3, "x": {')
    for text in ("", "{", "[]", "{}", '{"id": 3}', odd):
        record.write_text(text)
        before = features.digest(features.root)
        assert features.stop().silent, text
        assert features.digest(features.root) == before, text


def test_damaged_machine_files_beside_the_loop_are_harmless(armed: LoopProject) -> None:
    armed.turn()
    for name in ("ledger.json", "cursor.json", "journal.jsonl", "hook.log"):
        (armed.run_folder / name).write_bytes(b"\xff{")
        assert armed.turn().blocks, name


ODD_FIELDS: list[dict[str, object]] = [
    {"taskIndex": "a[$(touch ran)]", "totalTasks": "$(touch ran)"},
    {"taskIndex": -5, "totalTasks": 10**12, "globalIteration": "9"},
    {"taskIndex": [], "totalTasks": {}, "taskIteration": None, "maxGlobalIterations": True},
    {"taskIndex": 1.5, "globalIteration": -3, "maxTaskIterations": "x", "phase": "execution"},
    {"epicName": "../../../outside", "quickMode": "yes", "awaitingApproval": "no"},
]


@pytest.mark.parametrize("with_boxes", [True, False])
def test_state_fields_of_the_wrong_kind_are_harmless(project: ProjectFactory, with_boxes: bool) -> None:
    for layout, fields in itertools.product(SEQUENTIAL, ODD_FIELDS):
        found = project(layout, loop_files(layout, **fields))
        if not with_boxes:
            (found.folder / "tasks.md").unlink()
        found.arm()
        found.turn()
        found.turn()
        assert not list(found.base.rglob("ran")), (layout, fields)


def test_a_list_of_the_wrong_shape_is_corrupt_not_fatal(project: ProjectFactory) -> None:
    texts = ['{"features": {}}', '{"features": [3]}', '{"features": null}', "{}",
             feature_list(feature("A"), feature("A"))]  # fmt: skip
    harmed = []
    for text in texts:
        found = project("features")
        found.own.write_text(text)
        found.arm()
        harmed.append(found)
    run_all(harmed)


def grow(path: Path) -> None:
    os.truncate(path, 300 * 1024 * 1024)


LOG_HARMS: dict[str, Harm] = {
    "folder": make_directory,
    "pipe": make_pipe,
    "dangling link": HARMS["dangling link"],
    "link to itself": HARMS["link to itself"],
    "300 MB": grow,
}


@pytest.mark.parametrize("name", ["journal.jsonl", "hook.log"])
def test_an_agent_that_spoils_a_log_does_not_get_out_of_its_loop(project: ProjectFactory, name: str) -> None:
    found = project("features")
    found.arm(max_iterations=99)
    assert found.turn().blocks
    for kind, harm in LOG_HARMS.items():
        harm(found.run_folder / name)
        assert found.turn().blocks, kind
        assert found.turn().blocks, kind
        assert (found.run_folder / name).is_file(), kind
