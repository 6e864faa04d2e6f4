"""Document 2, US-1 to US-4, for ralph-specum: one test per acceptance criterion.

A docstring names the amendment where section 3 of the specification changed the criterion.
"""

from __future__ import annotations

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LoopProject, boxes, loop_files
from hook.lines import feedback_line, text_line, user_line


@pytest.fixture
def spec(project: ProjectFactory) -> LoopProject:
    found = project("specum", loop_files("specum", total=5, done=1, globalIteration=2))
    found.arm(started=False)
    return found


def unarmed(project: ProjectFactory, **state: object) -> LoopProject:
    """A spec that the stopping session began itself, as the plugin's own commands do."""
    found = project("specum", loop_files("specum", **state))
    found.write_by_tool()
    return found


def test_ac_1_1_open_tasks_give_a_json_block(spec: LoopProject) -> None:
    answer = spec.turn()
    assert answer.said["decision"] == "block"
    assert set(answer.said) == {"decision", "reason", "systemMessage"}


def test_ac_1_1_a_spec_without_tasks_file_goes_by_its_index(project: ProjectFactory) -> None:
    found = unarmed(project, taskIndex=2, totalTasks=5)
    (found.folder / "tasks.md").unlink()
    answer = found.turn()
    assert answer.blocks
    assert "Task 3/5" in answer.message


def test_ac_1_2_the_reason_names_spec_task_and_how_to_go_on(spec: LoopProject) -> None:
    reason = spec.turn().reason
    assert "Continue spec: demo (Task 2/5, Iter 3)" in reason
    assert "1.2 Task number 2" in reason
    assert "Task number 3" not in reason
    assert "done 1.2" in reason
    assert "specs/demo/tasks.md" in reason


def test_ac_1_3_the_message_shows_iteration_and_task(spec: LoopProject) -> None:
    assert spec.turn().message == "Ralph-specum iteration 3 | Task 2/5"


def test_ac_1_4_the_session_goes_on_task_by_task_without_the_person(spec: LoopProject) -> None:
    for number in range(2, 6):
        answer = spec.turn()
        assert answer.blocks
        assert f"1.{number} Task number {number}" in answer.reason
        spec.add_lines(feedback_line(answer.reason))
        spec.close(number)
    assert spec.turn().silent


def test_ac_1_5_all_tasks_done_is_silent(spec: LoopProject) -> None:
    for number in range(2, 6):
        spec.close(number)
    assert spec.turn().silent
    assert (spec.loop()["state"], spec.loop()["outcome"]) == ("ended", "complete")


def test_ac_2_1_no_state_file_is_silent(project: ProjectFactory) -> None:
    found = unarmed(project)
    found.own.unlink()
    before = found.digest()
    assert found.turn().silent
    before[str(found.transcript)] = found.digest()[str(found.transcript)]
    assert found.digest() == before


def test_ac_2_2_another_phase_is_silent(project: ProjectFactory) -> None:
    for phase in ("research", "requirements", "design", "tasks", "", None):
        assert unarmed(project, phase=phase).turn().silent, phase


def test_ac_2_3_an_index_at_the_end_is_silent(project: ProjectFactory) -> None:
    found = unarmed(project, taskIndex=3, totalTasks=3)
    (found.folder / "tasks.md").unlink()
    assert found.turn().silent


def test_ac_2_3_open_boxes_outweigh_an_index_at_the_end(project: ProjectFactory) -> None:
    """Amended: where tasks.md exists its boxes are the truth."""
    found = unarmed(project, taskIndex=3, totalTasks=3)
    assert found.turn().blocks


def test_ac_2_4_all_tasks_complete_with_every_box_checked_is_silent(spec: LoopProject) -> None:
    for number in range(2, 6):
        spec.close(number)
    assert spec.turn("Done.\n\nALL_TASKS_COMPLETE").silent


def test_ac_2_4_all_tasks_complete_with_open_tasks_is_refused(spec: LoopProject) -> None:
    """Amended (`ALL_TASKS_COMPLETE`): completion comes from the list; a claim with open tasks is refused."""
    answer = spec.turn("Done.\n\nALL_TASKS_COMPLETE")
    assert answer.blocks
    assert "1.2, 1.3, 1.4, 1.5" in answer.reason


def test_ac_2_4_the_marker_in_older_entries_counts_for_nothing(spec: LoopProject) -> None:
    """Amended (`ALL_TASKS_COMPLETE`): only the last line of the last message is looked at."""
    spec.add_lines(user_line("say ALL_TASKS_COMPLETE"), text_line("ALL_TASKS_COMPLETE"))
    answer = spec.turn()
    assert answer.blocks
    assert "refused" not in answer.reason


def test_ac_2_5_a_disabled_plugin_is_silent(spec: LoopProject) -> None:
    for settings in (
        "---\nenabled: false\n---\n",
        "---\nenabled: FALSE\n---\n",
        '---\nenabled: "false"\n---\ntext\n',
        "---\r\nenabled: false\r\n---\r\n",
        "---\nenabled: false # for now\n---\n",
    ):
        spec.write({".claude/ralph-specum.local.md": settings})
        before = spec.digest(spec.root)
        assert spec.turn().silent, settings
        assert spec.digest(spec.root) == before, settings


def test_ac_2_5_an_enabled_plugin_goes_on(spec: LoopProject) -> None:
    spec.write({".claude/ralph-specum.local.md": "---\nenabled: true\n---\n"})
    assert spec.turn().blocks


@pytest.mark.usefixtures("as_registered")
def test_ac_2_6_no_interpreter_is_silent(spec: LoopProject) -> None:
    """Amended (`jq` does not apply): what the hook needs here is python3."""
    spec.extra_env["PATH"] = str(spec.base)
    assert spec.turn().silent


def test_ac_2_6_empty_or_invalid_input_is_silent(spec: LoopProject) -> None:
    before = spec.digest()
    for data in (b"", b" \n", b"not json", b'{"session_id": "a"', b"[]", b"3", b"{}"):
        assert spec.run(data).silent, data
        assert spec.digest() == before, data


@pytest.mark.parametrize("active", [True, False])
def test_ac_3_1_stop_hook_active_is_read(spec: LoopProject, active: bool) -> None:
    spec.turn(stop_hook_active=active)
    assert spec.journal()[-1]["active"] is active


def test_ac_3_2_stop_hook_active_does_not_end_an_owned_loop(spec: LoopProject) -> None:
    """Amended (`stop_hook_active`): journaled, never a reason to stop a loop of this session."""
    assert spec.turn(stop_hook_active=True).blocks


def test_ac_3_2_stop_hook_active_leaves_an_unowned_loop_to_its_driver(project: ProjectFactory) -> None:
    """Amended (`stop_hook_active`): with no owner another hook is driving, so nothing is claimed."""
    found = unarmed(project)
    assert found.turn(stop_hook_active=True).silent
    assert not found.runs()
    assert found.turn(stop_hook_active=False).blocks


def test_ac_3_2_two_registrations_do_not_block_twice(spec: LoopProject) -> None:
    said = [spec.stop(registration=name).blocks for name in ("ralph-specum", "settings")]
    assert said == [True, False]


def test_ac_3_3_the_iteration_limit_is_enforced(project: ProjectFactory) -> None:
    """Amended (iteration limit): specum blocks once with recovery text, then allows."""
    found = unarmed(project, globalIteration=100, maxGlobalIterations=100)
    assert "limit" in found.turn().reason
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "limit"


def test_ac_4_1_a_corrupt_state_blocks_with_recovery_text(project: ProjectFactory) -> None:
    """Amended (corrupt state): once per content, and only if there is no good copy."""
    found = project("specum")
    found.own.write_text("{broken")
    found.arm()
    answer = found.turn()
    assert answer.blocks
    assert "Recovery options" in answer.reason
    assert ".ralph-state.json" in answer.reason
    assert not found.turn().blocks


def test_ac_4_2_the_limit_blocks_with_recovery_text_once(project: ProjectFactory) -> None:
    """Amended (iteration limit): never a second block, never a raised limit."""
    found = unarmed(project, globalIteration=7, maxGlobalIterations=7)
    answer = found.turn()
    assert answer.blocks
    assert "Recovery options" in answer.reason
    assert "1.1, 1.2, 1.3" in answer.reason
    again = found.turn()
    assert not again.blocks
    assert found.turn().silent
    assert found.state()["maxGlobalIterations"] == 7


def test_ac_4_3_the_message_sums_up_the_error(project: ProjectFactory) -> None:
    corrupt = project("specum")
    corrupt.own.write_text("{broken")
    corrupt.arm()
    assert corrupt.turn().message == "Ralph-specum: corrupt .ralph-state.json"
    spent = unarmed(project, globalIteration=7, maxGlobalIterations=7)
    assert spent.turn().message == "Ralph-specum: limit reached: iteration 7 of 7"


def test_fr_7_the_tasks_of_the_prompt_are_only_the_current_block(project: ProjectFactory) -> None:
    tasks = boxes("first", "second").replace("first\n", "first\n  - **Do**: this\n\n## Phase 2\n")
    found = project("specum", {**loop_files("specum"), "specs/demo/tasks.md": tasks})
    found.arm()
    reason = found.turn().reason
    assert "**Do**: this" in reason
    assert "Phase 2" not in reason
    assert "second" not in reason
