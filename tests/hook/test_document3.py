"""Document 3 for ralph-speckit: one test per row of its error table, then its logic flow.

A docstring names the amendment where section 3 of the specification changed the row.
"""

from __future__ import annotations

import json
import os
import time

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LoopProject, loop_files, spec_state
from ralphloop.engine import find
from ralphloop.hook.main import stop
from ralphloop.store import tasks

POINTER = ".specify/.current-feature"


@pytest.fixture
def kit(project: ProjectFactory) -> LoopProject:
    found = project("speckit", loop_files("speckit", total=4, done=1, globalIteration=2))
    found.arm(started=False)
    return found


@pytest.mark.usefixtures("as_registered")
def test_row_missing_jq_is_silent(kit: LoopProject) -> None:
    """Amended (`jq` does not apply): what the hook needs here is python3."""
    kit.extra_env["PATH"] = str(kit.base)
    assert kit.turn().silent


def test_row_missing_current_feature_is_silent_in_an_unowned_project(project: ProjectFactory) -> None:
    found = project("speckit")
    found.write_by_tool()
    (found.root / POINTER).unlink()
    assert found.stop().silent
    assert not found.runs()


def test_row_missing_current_feature_does_not_end_a_loop_in_execution(kit: LoopProject) -> None:
    """Amended by the specification (section 4, rule 6): the loop never rests silently as running."""
    (kit.root / POINTER).unlink()
    answer = kit.turn()
    assert answer.blocks
    assert "pointer" in answer.message


def test_row_missing_state_file_is_silent(project: ProjectFactory) -> None:
    found = project("speckit")
    found.write_by_tool()
    found.own.unlink()
    assert found.stop().silent
    assert not found.runs()


def test_row_missing_state_file_of_an_owned_loop_comes_back_once(kit: LoopProject) -> None:
    """Amended (rule 6): for a loop that is known, restored once with a message, then cancelled in silence."""
    kit.turn()
    kit.own.unlink()
    answer = kit.turn()
    assert answer.blocks
    assert "last good copy" in answer.message
    kit.own.unlink()
    assert kit.turn().silent
    assert kit.loop()["outcome"] == "cancelled"
    assert not kit.own.exists()


def test_row_corrupt_state_blocks_with_recovery_options(project: ProjectFactory) -> None:
    """Amended (corrupt state): once per content, only where there is no good copy, and the file is kept."""
    found = project("speckit")
    found.own.write_text('{"phase": "execution", ')
    found.arm()
    answer = found.turn()
    assert answer.blocks
    assert "Recovery options" in answer.reason
    assert answer.message == "Ralph-speckit: corrupt .speckit-state.json"
    assert found.own.read_text() == '{"phase": "execution", '
    assert not found.turn().blocks
    assert found.turn().silent


def test_row_max_global_iterations_gives_one_stderr_line(project: ProjectFactory) -> None:
    found = project("speckit", loop_files("speckit", globalIteration=9, maxGlobalIterations=9))
    found.arm(started=False)
    answer = found.turn()
    assert answer.stdout == b""
    (row,) = answer.stderr.splitlines()
    assert row.startswith("[ralph-speckit] ")
    assert "iteration 9 of 9" in row
    assert found.loop()["outcome"] == "limit"
    assert found.turn().silent


def test_row_stop_hook_active_does_not_end_an_owned_loop(kit: LoopProject) -> None:
    """Amended (`stop_hook_active`): journaled, never a reason to stop a loop of this session."""
    assert kit.turn(stop_hook_active=True).blocks
    assert kit.journal()[-1]["active"] is True


def test_row_stop_hook_active_is_silent_where_no_session_owns_the_loop(project: ProjectFactory) -> None:
    found = project("speckit")
    found.write_by_tool()
    before = found.digest()
    assert found.stop(stop_hook_active=True).silent
    assert found.digest() == before


def test_row_race_a_state_in_the_middle_of_a_write_is_waited_for(
    kit: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Amended (race with a state write): no blind sleep, a retry while the file does not parse."""
    text = kit.own.read_text()
    kit.own.write_text(text[:40])
    monkeypatch.setattr(tasks.time, "sleep", lambda _: kit.own.write_text(text))
    call = find.Call(registration="test", layouts=("speckit",), env=kit.env(), cwd=str(kit.root))
    answer = json.loads(stop(kit.payload(), call))
    assert answer["decision"] == "block"
    assert "Task 2/4" in answer["systemMessage"]
    assert "copy" not in answer["systemMessage"]


def test_row_race_a_machine_that_stalls_in_a_read_takes_no_try_away(
    kit: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = kit.own.read_text()
    kit.own.write_text(text[:40])
    read_texts, reads = tasks.read_texts, []

    def stalls(*args):
        reads.append(args)
        return read_texts(*args)

    monkeypatch.setattr(tasks, "read_texts", stalls)
    monkeypatch.setattr(tasks.time, "monotonic", lambda: 5.0 * len(reads))
    monkeypatch.setattr(tasks.time, "sleep", lambda _: kit.own.write_text(text))
    call = find.Call(registration="test", layouts=("speckit",), env=kit.env(), cwd=str(kit.root))
    assert "Task 2/4" in json.loads(stop(kit.payload(), call))["systemMessage"]


@pytest.mark.usefixtures("as_registered")
def test_row_race_a_fresh_state_costs_no_sleep(kit: LoopProject) -> None:
    """Amended (race with a state write): of twelve stops right after a write one takes no second."""

    def is_quick() -> bool:
        kit.edit_state(taskIteration=1)
        begun = time.monotonic()
        assert kit.turn().blocks
        return time.monotonic() - begun < 1.0

    assert any(is_quick() for _ in range(12))


@pytest.mark.usefixtures("as_registered")
def test_flow_reads_the_project_from_stdin(kit: LoopProject) -> None:
    kit.extra_env["CLAUDE_PROJECT_DIR"] = ""
    assert kit.turn(cwd=kit.folder).blocks


def test_flow_a_disabled_plugin_is_silent(kit: LoopProject) -> None:
    kit.write({".claude/ralph-speckit.local.md": "---\nenabled: false\n---\n"})
    assert kit.turn().silent


def test_flow_the_settings_of_the_other_plugin_do_not_count(kit: LoopProject) -> None:
    kit.write({".claude/ralph-specum.local.md": "---\nenabled: false\n---\n"})
    assert kit.turn().blocks


def test_flow_all_tasks_complete_ends_with_every_box_checked(kit: LoopProject) -> None:
    for number in (2, 3, 4):
        kit.close(number)
    assert kit.turn("ALL_TASKS_COMPLETE").silent
    assert kit.loop()["outcome"] == "complete"


def test_flow_all_tasks_complete_with_open_boxes_is_refused(kit: LoopProject) -> None:
    """Amended (`ALL_TASKS_COMPLETE`): refused, and the open ids are named."""
    answer = kit.turn("ALL_TASKS_COMPLETE")
    assert answer.blocks
    assert "ALL_TASKS_COMPLETE is refused: 3 tasks are open: 1.2, 1.3, 1.4." in answer.reason


@pytest.mark.parametrize("phase", ["specify", "plan", "tasks"])
def test_flow_another_phase_is_silent(project: ProjectFactory, phase: str) -> None:
    found = project("speckit", loop_files("speckit", phase=phase))
    found.arm()
    assert found.turn().silent


def test_flow_open_tasks_block_with_a_resume_prompt_and_status(kit: LoopProject) -> None:
    answer = kit.turn()
    assert set(answer.said) == {"decision", "reason", "systemMessage"}
    assert "Continue feature: 001-demo (Task 2/4, Iter 3)" in answer.reason
    assert answer.message == "Ralph-speckit iteration 3 | Task 2/4"


def test_flow_a_feature_without_tasks_file_goes_by_its_index(project: ProjectFactory) -> None:
    found = project("speckit")
    (found.folder / "tasks.md").unlink()
    found.own.write_text(spec_state(taskIndex=2, totalTasks=3))
    found.arm()
    assert "Task 3/3" in found.turn().message
    found.edit_state(taskIndex=3)
    assert found.turn().silent


def test_flow_orphaned_temporary_files_are_cleaned_up(kit: LoopProject) -> None:
    old, young = kit.folder / ".progress-task-1.md", kit.folder / ".progress-task-2.md"
    for path, age_s in ((old, 3700), (young, 3500)):
        path.write_text("notes")
        os.utime(path, (time.time() - age_s,) * 2)
    assert kit.turn().blocks
    assert not old.exists()
    assert young.exists()
