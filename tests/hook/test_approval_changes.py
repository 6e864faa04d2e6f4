"""A command that is not, to the byte, the one that was approved; and one that was added to a running loop."""

from __future__ import annotations

import json

import pytest

from hook.attack import (
    checked_files,
    checked_list,
    commands_run,
    leaving,
    mark,
    needs_approval,
    outcome,
    started_without_approval,
)
from hook.conftest import ProjectFactory
from hook.harness import FOLDERS, OWN_FILES, SEQUENTIAL, LoopProject, feature

CHANGES = {
    "one byte": ("echo run", "echo ruN"),
    "a second space": ("echo run", "echo  run"),
    "a tab": ("echo run", "echo\trun"),
    "a space before": ("echo run", " echo run"),
    "a Cyrillic letter": ("echo run", "echo run\u0430"),
    "a look-alike": ("echo run", "echo rυn"),
    "a space of no width": ("echo run", "echo ru\u200bn"),
    "a hard space": ("echo run", "echo run\u00a0x"),
    "an accent taken apart": ("echo run", "echo ru\u0301n"),
    "a second command": ("echo run", "true; echo run"),
}
LINE_CHANGES = {
    "a space at the end": ("echo run", "echo run", " "),
    "a line end": ("echo run", "echo run", "\n"),
    "a comment": ("echo run", "echo run", " #"),
}


CASES = [("task", change) for change in CHANGES | LINE_CHANGES]
CASES += [("list", change) for change in ("one byte", "a look-alike", "a space at the end")]


def approved_and_changed(found: LoopProject, change: str) -> tuple[str, str]:
    old, new, *end = (CHANGES | LINE_CHANGES)[change]
    approved = leaving(mark(found))
    return approved, approved.replace(old, new) + "".join(end)


def listed(level: str, command: str) -> dict[str, str]:
    text = checked_list(command) if level == "task" else checked_list(verify=command)
    return {**checked_files("features"), OWN_FILES["features"]: text}


def test_a_command_changed_since_its_approval_does_not_run(project: ProjectFactory) -> None:
    for level, change in CASES:
        found = project("features")
        approved, changed = approved_and_changed(found, change)
        found.write(listed(level, approved))
        found.approve()
        found.write(listed(level, changed))
        started_without_approval(found)
        needs_approval(found)
        assert not mark(found).exists(), (level, change)


def test_a_command_changed_in_a_running_loop_is_put_back(project: ProjectFactory) -> None:
    for level, change in CASES:
        found = project("features")
        approved, changed = approved_and_changed(found, change)
        found.write(listed(level, approved))
        found.arm()
        found.own.write_text(listed(level, changed)[OWN_FILES["features"]])
        found.close(1)
        answer = found.turn()
        assert "The criteria were pinned at the start and are back" in answer.message, (level, change)
        assert commands_run(found) == [approved], (level, change)
        assert changed not in json.dumps(json.loads(found.own.read_text())), (level, change)
        assert [path.name for path in found.rejected()], (level, change)


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_command_changed_in_tasks_md_does_not_run(project: ProjectFactory, layout: str) -> None:
    for change in [change for change in CHANGES if change != "a space before"]:
        found = project(layout)
        approved, changed = approved_and_changed(found, change)
        found.write(checked_files(layout, approved))
        found.approve()
        found.write(checked_files(layout, changed))
        started_without_approval(found)
        assert found.turn().blocks, change
        assert not mark(found).exists(), change
        assert found.the_loop().load_ledger().tasks["1.1"]["state"] == "unverified", change


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_command_changed_in_the_tasks_md_of_a_running_loop_is_put_back(
    project: ProjectFactory, layout: str
) -> None:
    for change in ("one byte", "a second space", "a Cyrillic letter", "a second command"):
        found = project(layout)
        approved, changed = approved_and_changed(found, change)
        found.write(checked_files(layout, approved))
        found.arm()
        path = f"{FOLDERS[layout]}/tasks.md"
        found.write({path: checked_files(layout, changed)[path]})
        found.close(1)
        assert "are back" in found.turn().message
        assert commands_run(found) == [approved]


# A task that was added to a running loop


def add(found: LoopProject, *features: dict[str, object]) -> None:
    data = json.loads(found.own.read_text())
    data["features"] += features
    found.own.write_text(json.dumps(data, indent=2) + "\n")


def test_an_added_check_waits_and_the_loop_goes_on_with_the_rest(project: ProjectFactory) -> None:
    found = project("features", checked_files("features", "true", "true"))
    command = leaving(mark(found))
    found.arm()
    add(found, feature("F4", passes=True, verify=command))
    answer = found.turn()
    assert answer.blocks
    assert "The checks of F4 wait for the person's approval; go on with the rest." in answer.reason
    for number in (1, 2, 3):
        found.close(number)
    needs_approval(found, command)
    assert set(commands_run(found)) == {"true"}
    assert not mark(found).exists()


def test_an_added_task_may_use_a_check_that_was_approved(project: ProjectFactory) -> None:
    found = project("features")
    command = leaving(mark(found))
    found.write(checked_files("features", command))
    found.arm()
    add(found, feature("F4", passes=True, verify=command))
    assert found.turn().blocks
    assert found.the_loop().load_ledger().tasks["F4"]["state"] == "proven"


def test_an_added_task_under_a_pinned_ones_name_does_not_bring_its_check(project: ProjectFactory) -> None:
    found = project("features", checked_files("features", "true"))
    found.arm()
    data = json.loads(found.own.read_text())
    data["features"][0] = feature("F1", passes=True, verify=leaving(mark(found)))
    data["features"].append(feature("F1b", description="Do F1", passes=True, verify="true"))
    found.own.write_text(json.dumps(data))
    found.turn()
    assert set(commands_run(found)) == {"true"}
    assert not mark(found).exists()


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_an_added_box_does_not_bring_its_check(project: ProjectFactory, layout: str) -> None:
    found = project(layout, checked_files(layout, "true"))
    found.arm()
    tasks = found.folder / "tasks.md"
    added = f"- [x] 1.4 One more\n  - **Verify**: `{leaving(mark(found))}`\n"
    tasks.write_text(tasks.read_text() + added)
    found.close(1)
    found.turn()
    assert commands_run(found) == ["true"]
    assert not mark(found).exists()


def test_a_check_added_for_the_whole_list_is_taken_out(project: ProjectFactory) -> None:
    found = project("features", checked_files("features", "true"))
    found.arm()
    data = json.loads(found.own.read_text())
    found.own.write_text(json.dumps({"verify": leaving(mark(found)), **data}))
    found.close(2)
    assert found.turn().blocks
    assert "verify" not in json.loads(found.own.read_text())
    assert not mark(found).exists()
    assert outcome(found) is None
