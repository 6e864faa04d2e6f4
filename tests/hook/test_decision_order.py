"""Section 4, rules 1 to 9: what lets a stop through before tasks count, and what brings files back."""

from __future__ import annotations

import itertools
import json

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, SEQUENTIAL, LoopProject, loop_files, task_id
from hook.lines import cap_line, error_line, interrupt_line, now_iso


def in_phase(project: ProjectFactory, **state: object) -> LoopProject:
    found = project("specum", loop_files("specum", phase="design", quickMode=True, **state))
    found.arm()
    return found


# 5. Phases before execution


def test_quick_mode_says_the_same_three_times_and_is_then_stalled(project: ProjectFactory) -> None:
    found = in_phase(project)
    for _ in range(3):
        answer = found.turn()
        assert answer.blocks
        assert "design phase" in answer.reason
        assert "specs/demo/design.md" in answer.reason
        assert "ralphloop specum tasks` (`/ralph-specum:tasks`)" in answer.reason
    last = found.turn()
    assert not last.blocks
    assert "stalled" in last.message
    assert "said the same 3 times in the design phase" in last.message
    assert (found.loop()["state"], found.loop()["outcome"]) == ("ended", "stalled")
    assert found.turn().silent


def test_quick_mode_notices_that_the_phases_document_exists(project: ProjectFactory) -> None:
    found = in_phase(project)
    assert "is not written" in found.turn().reason
    (found.folder / "design.md").write_text("# Design\n")
    said = found.turn()
    assert "specs/demo/design.md exists" in said.reason
    assert "ralphloop specum tasks` (`/ralph-specum:tasks`) now" in said.reason
    found.edit_state(phase="tasks")
    assert "ralphloop specum implement` (`/ralph-specum:implement`) now" in found.turn().reason


def test_quick_mode_in_a_phase_that_nobody_knows_says_which_there_are(project: ProjectFactory) -> None:
    found = in_phase(project)
    found.edit_state(phase="dreaming")
    said = found.turn()
    assert "dreaming" in said.reason
    assert "research, requirements, design, tasks, execution" in said.reason


def test_quick_mode_stays_below_a_lower_cap_of_the_client(project: ProjectFactory) -> None:
    found = in_phase(project)
    found.extra_env["CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"] = "2"
    assert found.turn().blocks
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "stalled"


def test_quick_mode_ignores_awaiting_approval_before_execution(project: ProjectFactory) -> None:
    assert in_phase(project, awaitingApproval=True).turn().blocks


def test_quick_mode_counts_no_iteration_and_leaves_the_state_alone(project: ProjectFactory) -> None:
    found = in_phase(project)
    before = found.own.read_bytes()
    found.turn()
    assert found.loop()["iteration"] == 1
    assert found.own.read_bytes() == before


def test_quick_mode_does_not_go_on_after_an_interrupt(project: ProjectFactory) -> None:
    found = in_phase(project)
    found.turn()
    found.add_lines(interrupt_line())
    found.new_prompt()
    assert not found.turn().blocks


def test_quick_mode_waits_for_the_subagents_of_its_phase(project: ProjectFactory) -> None:
    found = in_phase(project)
    task = {"id": "b1", "type": "subagent", "status": "running", "description": "research"}
    assert not found.turn(background_tasks=[task]).blocks


def test_quick_mode_goes_on_by_itself_after_a_rate_limit(project: ProjectFactory) -> None:
    found = in_phase(project)
    found.turn()
    found.send("StopFailure", error="rate_limit", error_details="429")
    found.new_prompt()
    assert found.turn().blocks


def test_speckit_knows_no_quick_mode(project: ProjectFactory) -> None:
    found = project("speckit", loop_files("speckit", phase="plan", quickMode=True))
    found.arm()
    assert found.turn().silent


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_phase_before_execution_writes_nothing(project: ProjectFactory, layout: str) -> None:
    found = project(layout, loop_files(layout, phase="tasks"))
    found.arm()
    before = found.digest(found.root)
    assert found.stop().silent
    assert found.digest(found.root) == before


# 6. The state is gone


def test_a_lost_file_is_restored_once_with_a_message_then_cancelled(armed: LoopProject) -> None:
    armed.turn()
    text = armed.own.read_bytes()
    armed.own.unlink()
    answer = armed.turn()
    assert answer.blocks
    assert "last good copy is back" in answer.message
    assert "ralphloop cancel` ends the loop, and so does removing the file again" in answer.message
    assert json.loads(armed.own.read_bytes())
    if armed.layout == "features":
        assert armed.own.read_bytes() == text
    armed.own.unlink()
    assert armed.turn().silent
    assert (armed.loop()["state"], armed.loop()["outcome"]) == ("ended", "cancelled")
    assert not armed.own.exists()


def test_a_lost_folder_comes_back_with_the_file(armed: LoopProject) -> None:
    armed.turn()
    armed.folder.rename(armed.base / "moved")
    answer = armed.turn()
    assert armed.own.exists()
    assert "last good copy" in answer.message


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_removed_state_with_every_box_checked_is_complete(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.arm()
    found.turn()
    for number in (1, 2, 3):
        found.close(number)
    found.own.unlink()
    assert found.turn().silent
    assert found.loop()["outcome"] == "complete"
    assert not found.own.exists()


def test_a_file_that_is_gone_before_the_first_stop_cancels_in_silence(armed: LoopProject) -> None:
    armed.own.unlink()
    assert armed.turn().silent
    assert armed.loop()["outcome"] == "cancelled"


def test_a_restore_after_damage_does_not_use_up_the_one_after_a_loss(project: ProjectFactory) -> None:
    armed = project("specum")
    armed.arm()
    armed.turn()
    armed.own.write_text("{")
    assert armed.turn().blocks
    armed.own.unlink()
    assert armed.turn().blocks


# 7. Paused, awaiting approval, broken off


@pytest.mark.parametrize("state", ["paused", "ended"])
def test_a_paused_or_ended_loop_lets_every_stop_through_untouched(features: LoopProject, state: str) -> None:
    features.turn()
    features.edit_loop(state=state, outcome="interrupted")
    before = features.digest(features.root)
    assert features.stop().silent
    if state == "paused":
        assert features.digest(features.root) == before


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_awaiting_approval_lets_the_stop_through_and_goes_on_by_itself(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout, loop_files(layout, awaitingApproval=True))
    found.arm()
    assert found.turn().silent
    assert (found.loop()["state"], found.loop()["outcome"]) == ("paused", "awaiting_approval")
    found.edit_state(awaitingApproval=False)
    found.new_prompt()
    assert found.turn().blocks
    assert found.loop()["outcome"] is None


def test_an_interrupt_in_the_transcript_pauses_with_one_message(armed: LoopProject) -> None:
    armed.turn()
    armed.add_lines(interrupt_line())
    armed.new_prompt()
    answer = armed.turn()
    assert not answer.blocks
    assert ("resume" if armed.layout == "features" else ":implement") in answer.message
    assert (armed.loop()["state"], armed.loop()["outcome"]) == ("paused", "interrupted")
    assert armed.turn().silent


def test_an_interrupt_that_left_no_trace_shows_by_the_next_prompt(features: LoopProject) -> None:
    features.turn()
    features.new_prompt()
    answer = features.turn()
    assert not answer.blocks
    assert "interrupted" in answer.message
    assert features.loop()["outcome"] == "interrupted"


def test_the_clients_cap_is_told_as_a_forced_end(armed: LoopProject) -> None:
    armed.turn()
    armed.add_lines(cap_line())
    armed.new_prompt()
    answer = armed.turn()
    assert not answer.blocks
    assert "force-ended" in answer.message
    assert "not complete" in answer.message
    assert (armed.loop()["state"], armed.loop()["outcome"]) == ("ended", "capped")


@pytest.mark.parametrize(
    ("layout", "text", "outcome"),
    [
        ("features", "API Error: 429 rate_limit_error", "rate_limited"),
        ("specum", "API Error: Repeated 529 Overloaded errors", "rate_limited"),
        ("speckit", "You've hit your usage limit · resets 7pm (Asia/Tokyo)", "rate_limited"),
        ("features", "API Error: 400 invalid_request_error", "failed"),
    ],
)
def test_an_api_error_in_the_transcript_never_blocks(
    project: ProjectFactory, layout: str, text: str, outcome: str
) -> None:
    found = project(layout)
    found.arm()
    found.turn()
    found.add_lines(error_line(text))
    found.new_prompt()
    answer = found.stop()
    assert not answer.blocks
    assert answer.message
    assert found.loop()["outcome"] == outcome


def test_after_a_rate_limit_the_next_stop_goes_on(features: LoopProject) -> None:
    features.turn()
    features.add_lines(error_line("API Error: 429 rate_limit_error"))
    features.new_prompt()
    assert not features.stop().blocks
    features.new_prompt()
    assert features.turn().blocks
    assert features.loop()["iteration"] == 3


def test_an_interrupt_from_before_the_start_does_not_count(unarmed: LoopProject) -> None:
    unarmed.add_lines({**interrupt_line(), "timestamp": now_iso(-60)})
    unarmed.arm()
    assert unarmed.turn().blocks


def test_an_interrupt_that_a_stop_has_seen_does_not_count_again(features: LoopProject) -> None:
    features.turn()
    features.add_lines(interrupt_line())
    features.new_prompt()
    features.turn()
    features.edit_loop(state="running", outcome=None)
    assert features.turn().blocks


# 8. The session still works


@pytest.mark.parametrize("kind", ["subagent", "workflow"])
def test_a_running_subagent_or_workflow_means_waiting(features: LoopProject, kind: str) -> None:
    features.turn()
    task = {"id": "b1", "type": kind, "status": "running", "description": "search"}
    for _ in range(5):
        assert features.mute_turn("Waiting.", background_tasks=[task]).silent
    assert (features.loop()["state"], features.loop()["iteration"]) == ("waiting", 2)
    features.new_prompt()
    assert features.turn().blocks
    assert features.loop()["state"] == "running"


def test_a_finished_subagent_does_not_hold_the_loop(features: LoopProject) -> None:
    task = {"id": "b1", "type": "subagent", "status": "completed", "description": "search"}
    assert features.turn(background_tasks=[task]).blocks


@pytest.mark.parametrize("kind", ["shell", "monitor"])
def test_a_running_shell_is_named_and_two_quiet_replies_then_wait(features: LoopProject, kind: str) -> None:
    task = {"id": "b1", "type": kind, "status": "running", "description": "npm run dev", "command": "npm"}
    assert "npm run dev" in features.turn(background_tasks=[task]).reason
    first = features.mute_turn(background_tasks=[task])
    assert first.blocks
    assert kind in first.reason
    assert features.mute_turn(background_tasks=[task]).silent
    assert features.loop()["state"] == "waiting"
    assert features.turn(background_tasks=[task], prompt_id="woken").blocks


def test_a_scheduled_prompt_is_named(features: LoopProject) -> None:
    cron = {"id": "030f55e9", "schedule": "37 19 * * *", "recurring": False, "prompt": "WAKE"}
    assert "1 scheduled" in features.turn(session_crons=[cron]).reason
    features.mute_turn(session_crons=[cron])
    assert features.mute_turn(session_crons=[cron]).silent


def test_quiet_replies_without_background_work_do_not_wait(features: LoopProject) -> None:
    features.turn()
    assert features.mute_turn().blocks
    assert features.mute_turn().blocks


# 9. Corrupt state


CORRUPT = ["", "{", "null", "[1, 2]", '"x"', "{}{}", '{"a": NaN}', "\x00\x01"]


def test_a_corrupt_file_is_restored_and_kept(project: ProjectFactory) -> None:
    stops = []
    for layout, text in itertools.product(LAYOUTS, CORRUPT):
        found = project(layout, loop_files(layout, done=1))
        found.arm()
        _keep_copy(found)
        found.own.write_text(text)
        stops.append((found, text, found.fork(json.dumps(found.payload()).encode())))
    for found, text, process in stops:
        answer = found.finish(process)
        assert answer.blocks, text
        assert "last good copy is back" in answer.message
        assert task_id(found.layout, 2) in answer.reason
        (kept,) = found.rejected()
        assert kept.read_text() == text


def _keep_copy(project: LoopProject) -> None:
    """As the first stop over a readable file does it."""
    role = "list" if project.layout == "features" else "state"
    project.kept(role).write_bytes(project.own.read_bytes())


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_the_index_of_a_restored_state_is_reconciled_with_the_boxes(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    found.arm()
    found.turn()
    found.close(1)
    found.close(2)
    found.own.write_text('{"phase": "exec')
    assert "Task 3/3" in found.turn().message
    assert found.state()["taskIndex"] == 2


def test_without_a_good_copy_it_blocks_once_per_content(project: ProjectFactory) -> None:
    any_project = project("speckit")
    any_project.own.write_text("{one")
    any_project.arm()
    first = any_project.turn()
    assert first.blocks
    assert "Recovery options" in first.reason
    assert first.message
    any_project.own.write_text("{two, other")
    assert any_project.turn().blocks
    any_project.own.write_text("{one")
    last = any_project.turn()
    assert not last.blocks
    assert last.message
    assert any_project.loop()["outcome"] == "corrupt"
    assert any_project.own.read_text() == "{one"
    assert any_project.turn().silent


def test_a_repaired_file_goes_on(project: ProjectFactory) -> None:
    any_project = project("features")
    text = any_project.own.read_text()
    any_project.own.write_text("{one")
    any_project.arm()
    assert any_project.turn().blocks
    any_project.own.write_text(text)
    answer = any_project.turn()
    assert answer.blocks
    assert task_id(any_project.layout, 1) in answer.reason


def test_a_corrupt_loop_json_is_restored_from_the_good_copy(features: LoopProject) -> None:
    place = features.run_folder / "loop.json"
    for count, text in enumerate(["", "{", "[]", '{"id": 3}', '{"state": "flying", "id": "x"}'], 2):
        place.write_text(text)
        assert features.turn().blocks, text
        assert features.loop()["iteration"] == count


def test_a_loop_json_without_any_good_copy_never_blocks(features: LoopProject) -> None:
    features.turn()
    kept = features.kept("loop.json")
    (features.run_folder / "loop.json").write_text("{")
    kept.write_text("{")
    assert features.stop().silent
