"""Section 4, rules 10 to 14: claims, completion, dead ends, limits, and what the next reason says."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, LoopProject, boxes, feature, feature_list, loop_files, task_id

LIST = ".ralph/loops/demo/feature_list.json"


def listed(project: ProjectFactory, *features: dict[str, Any]) -> LoopProject:
    found = project("features", {LIST: feature_list(*features)})
    found.arm()
    return found


def with_tasks(project: ProjectFactory, tasks: str, **state: Any) -> LoopProject:
    found = project("specum", {**loop_files("specum", **state), "specs/demo/tasks.md": tasks})
    found.arm()
    return found


# 10. Completion


def test_every_task_done_is_complete(armed: LoopProject) -> None:
    for number in (1, 2, 3):
        assert armed.turn().blocks
        armed.close(number)
    answer = armed.turn()
    assert not answer.blocks
    assert (armed.loop()["state"], armed.loop()["outcome"]) == ("ended", "complete")
    assert bool(answer.message) is (armed.layout == "features")
    assert armed.turn().silent


def test_all_tasks_complete_is_refused_with_the_open_ids(armed: LoopProject) -> None:
    armed.close(1)
    answer = armed.turn("All done.\n\nALL_TASKS_COMPLETE\n\n")
    ids = ", ".join(task_id(armed.layout, number) for number in (2, 3))
    assert f"ALL_TASKS_COMPLETE is refused: 2 tasks are open: {ids}." in answer.reason


PROSE = [
    "```\nALL_TASKS_COMPLETE\n```",
    "```\nALL_TASKS_COMPLETE",
    "~~~\nALL_TASKS_COMPLETE\n~~~",
    "> ALL_TASKS_COMPLETE",
    "`ALL_TASKS_COMPLETE`",
    '"ALL_TASKS_COMPLETE"',
    "I will say ALL_TASKS_COMPLETE",
    "ALL_TASKS_COMPLETE\nbut not yet",
    "    ALL_TASKS_COMPLETE",
    "NOT_ALL_TASKS_COMPLETE",
]


def test_all_tasks_complete_in_fence_quote_or_prose_is_ignored(spec: LoopProject) -> None:
    for said in PROSE:
        answer = spec.turn(said)
        assert answer.blocks, said
        assert "refused" not in answer.reason, said


@pytest.mark.parametrize("text", ['{"features": []}', "[]"])
def test_a_list_without_tasks_is_never_complete(project: ProjectFactory, text: str) -> None:
    found = project("features", {LIST: text})
    found.arm()
    answer = found.turn("ALL_TASKS_COMPLETE")
    assert not answer.blocks
    assert "no tasks" in answer.message
    assert found.loop()["outcome"] == "failed"


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_a_spec_without_tasks_is_left_alone(project: ProjectFactory, layout: str) -> None:
    found = project(layout, loop_files(layout, total=0))
    found.arm()
    assert found.turn().silent
    assert found.loop()["outcome"] is None


def test_a_bare_array_is_a_list_too(project: ProjectFactory) -> None:
    found = project("features", {LIST: json.dumps([feature("A"), feature("B")])})
    found.arm()
    assert "next A" in found.turn().message
    found.own.write_text(json.dumps([feature("A", passes=True), feature("B", passes=True)]))
    assert "complete" in found.turn().message


def test_a_reopened_task_is_worked_on_again(armed: LoopProject) -> None:
    armed.close(1)
    armed.turn()
    armed.close(1, done=False)
    armed.turn()
    assert armed.loop()["current"] == task_id(armed.layout, 1)


def test_the_epic_of_a_completed_spec_is_marked(project: ProjectFactory) -> None:
    epic = '{"name": "big", "specs": [\n {"name": "demo", "status": "in_progress"}, {"name": "next"}]}\n'
    found = project("specum", loop_files("specum", done=2, epicName="big"))
    found.write({"specs/.current-epic": "big\n", "specs/_epics/big/.epic-state.json": epic})
    found.arm()
    place = found.root / "specs/_epics/big/.epic-state.json"
    found.turn()
    assert place.read_text() == epic
    found.close(3)
    assert found.turn().silent
    assert place.read_text() == epic.replace("in_progress", "completed")


# 11. Nothing can run


def test_only_tasks_for_the_person_need_input(project: ProjectFactory) -> None:
    found = listed(project, feature("A", needs_human="the key"), feature("B", depends_on=["A"]))
    answer = found.turn()
    assert not answer.blocks
    assert "needs you: A, B" in answer.message
    assert (found.loop()["state"], found.loop()["outcome"]) == ("paused", "needs_input")
    ledger = found.the_loop().load_ledger()
    ledger.note("A", answer="it is under the mat")
    found.the_loop().save_ledger(ledger)
    found.edit_loop(ledger=found.loop()["ledger"] + 1)
    found.new_prompt()
    assert "under the mat" in found.turn().reason


def test_other_tasks_go_first_when_one_needs_the_person(project: ProjectFactory) -> None:
    found = listed(project, feature("A", needs_human="the key"), feature("B"))
    assert "next B" in found.turn().message


@pytest.mark.parametrize(
    ("features", "why"),
    [
        ([feature("A", depends_on=["B"]), feature("B", depends_on=["A"])], "circle"),
        ([feature("A", depends_on=["A"])], "circle"),
        ([feature("A", depends_on=["Z"])], "Z, which is not in the list"),
    ],
)
def test_tasks_that_can_never_run_fail_by_name(
    project: ProjectFactory, features: list[dict[str, Any]], why: str
) -> None:
    found = listed(project, *features)
    answer = found.turn()
    assert not answer.blocks
    assert why in answer.message
    assert "A" in found.loop()["detail"]
    assert found.loop()["outcome"] == "failed"


def test_dependencies_come_first(project: ProjectFactory) -> None:
    found = listed(project, feature("A", depends_on=["B"]), feature("B"))
    assert "next B" in found.turn().message
    found.own.write_text(feature_list(feature("A", depends_on=["B"]), feature("B", passes=True)))
    assert "next A" in found.turn().message


# 12. Limits


def test_features_end_at_the_limit_with_a_message(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(max_iterations=3)
    assert found.turn().blocks
    assert found.turn().blocks
    answer = found.turn()
    assert not answer.blocks
    assert "limit: iteration 3 of 3; open: F1, F2, F3" in answer.message
    assert "Status: REACHED_LIMIT" in (found.folder / "progress.txt").read_text()
    assert found.turn().silent


def test_specum_blocks_once_at_the_limit_and_then_lets_go(project: ProjectFactory) -> None:
    found = project("specum")
    found.arm(max_iterations=2)
    assert "Task 1/3" in found.turn().message
    answer = found.turn()
    assert answer.blocks
    assert "Recovery options" in answer.reason
    last = found.turn()
    assert not last.blocks
    assert found.loop()["outcome"] == "limit"
    assert found.loop()["iteration"] == 2


def test_speckit_says_one_line_on_stderr_at_the_limit(project: ProjectFactory) -> None:
    found = project("speckit")
    found.arm(max_iterations=2)
    found.turn()
    answer = found.turn()
    assert answer.stdout == b""
    told = "Maximum global iterations reached (iteration 2 of 2)"
    assert answer.stderr == f"[ralph-speckit] {told}; open: 1.1, 1.2, 1.3\n"


def test_the_lowest_explicit_limit_holds(project: ProjectFactory) -> None:
    found = project("specum", loop_files("specum", maxGlobalIterations=40))
    found.write({".claude/ralph-specum.local.md": "---\ndefault_max_iterations: 20\n---\n"})
    assert found.arm(max_iterations=30).record.limits.iterations == 20


def test_a_limit_that_the_agent_raises_does_not_count(project: ProjectFactory) -> None:
    found = project("speckit", loop_files("speckit", maxGlobalIterations=2))
    found.arm()
    found.turn()
    found.edit_state(maxGlobalIterations=900)
    assert "[ralph-speckit]" in found.turn().stderr


def test_a_higher_count_of_the_coordinator_is_honoured(project: ProjectFactory) -> None:
    found = project("specum")
    found.arm()
    found.turn()
    found.edit_state(globalIteration=41)
    assert "iteration 42" in found.turn().message
    assert found.state()["globalIteration"] == 42


def test_a_lowered_count_is_not_believed(project: ProjectFactory) -> None:
    found = project("specum")
    found.arm()
    for _ in range(3):
        found.turn()
    found.edit_state(globalIteration=1)
    assert "iteration 5" in found.turn().message
    assert found.state()["globalIteration"] == 5


@pytest.mark.parametrize("layout", LAYOUTS)
def test_three_turns_without_progress_stall_below_the_clients_cap(
    project: ProjectFactory, layout: str
) -> None:
    """Where no other task can run: features have one left, a sequence never has another."""
    found = project(layout, loop_files(layout, done=2 if layout == "features" else 0))
    found.arm()
    found.turn()
    answers = [found.mute_turn() for _ in range(3)]
    assert [answer.blocks for answer in answers] == [True, True, False]
    assert "stalled" in answers[-1].message
    assert found.loop()["outcome"] == "stalled"


def spend_attempts(project: LoopProject) -> list[bool]:
    """Alternate idle turns with turns of tool calls, so that only the attempts run out."""
    said = []
    for _ in range(5):
        said.append(project.mute_turn().blocks)
        if said[-1]:
            said.append(project.turn().blocks)
    return said


def test_a_feature_past_its_attempts_is_set_aside_and_the_rest_goes_on(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(max_iterations=99)
    found.turn()
    assert all(spend_attempts(found))
    assert found.loop()["current"] == "F2"
    ledger = json.loads((found.run_folder / "ledger.json").read_text())
    assert ledger["tasks"]["F1"]["state"] == "set_aside"
    found.close(2)
    found.close(3)
    answer = found.turn()
    assert "set aside" in answer.message
    assert found.loop()["outcome"] == "failed"


def test_a_sequential_task_past_its_attempts_fails_the_loop(project: ProjectFactory) -> None:
    found = project("specum")
    found.arm(max_iterations=99)
    found.turn()
    said = spend_attempts(found)
    assert said[-1] is False
    assert found.loop()["outcome"] == "failed"
    assert "1.1" in found.loop()["detail"]


def test_eight_hours_of_running_end_the_loop(armed: LoopProject) -> None:
    armed.turn()
    armed.edit_loop(seen_at=time.time() - 8 * 3600 - 5)
    answer = armed.turn()
    assert "8 h 00 min of running time" in answer.message + answer.stderr
    armed.turn()
    assert armed.loop()["outcome"] == "limit"


def test_a_clock_that_runs_backwards_takes_no_time_back(features: LoopProject) -> None:
    features.turn()
    features.edit_loop(seen_at=time.time() + 5 * 3600, elapsed_s=7 * 3600.0)
    assert features.turn().blocks
    assert features.loop()["elapsed_s"] == 7 * 3600.0
    features.edit_loop(seen_at=time.time() - 3601)
    features.turn()
    features.turn()
    assert features.loop()["outcome"] == "limit"


# 14. The next task


def test_a_group_of_parallel_tasks_has_five_at_most(project: ProjectFactory) -> None:
    found = with_tasks(project, boxes(*[f"[P] part {n}" for n in range(1, 8)], "after"))
    answer = found.turn()
    assert "These 5 tasks are marked [P]" in answer.reason
    assert "part 5" in answer.reason
    assert "part 6" not in answer.reason
    assert answer.message.endswith("(PARALLEL GROUP)")


def test_a_group_ends_at_a_task_without_the_mark(project: ProjectFactory) -> None:
    found = with_tasks(project, boxes("[P] one", "[P] two", "three", "[P] four"))
    assert "These 2 tasks" in found.turn().reason


def test_a_verify_task_says_what_it_is(project: ProjectFactory) -> None:
    found = with_tasks(project, boxes("[VERIFY] the tests pass"))
    assert "[VERIFY]: check the work" in found.turn().reason


def test_progress_lines_are_kept_current_and_free_text_is_not_touched(project: ProjectFactory) -> None:
    text = "# Log\r\nStatus: IN_PROGRESS\r\nIteration: 1\r\nMax Iterations: 5\r\n\r\nStatus: my note"
    found = project("features", {LIST: feature_list(feature("A")), ".ralph/loops/demo/progress.txt": text})
    found.arm()
    place = found.folder / "progress.txt"
    found.turn()
    assert place.read_bytes().decode() == text.replace("Iteration: 1\r", "Iteration: 2\r")
    found.own.write_text(feature_list(feature("A", passes=True)))
    found.turn()
    done = text.replace("Iteration: 1\r", "Iteration: 2\r").replace("IN_PROGRESS", "COMPLETE")
    assert place.read_bytes().decode() == done


def test_only_fields_that_exist_are_written(project: ProjectFactory) -> None:
    state = '{"phase":"execution",\r\n\t"taskIndex":0, "extra": {"a": [1, 2]}, "totalTasks": 9}'
    found = project("specum", {**loop_files("specum", done=1), "specs/demo/.ralph-state.json": state})
    found.arm()
    assert found.turn().blocks
    written = found.own.read_bytes().decode()
    assert written == state.replace('"taskIndex":0', '"taskIndex":1').replace("9}", "3}")


def test_orphaned_notes_of_parallel_tasks_go_after_an_hour(project: ProjectFactory) -> None:
    found = with_tasks(project, boxes("one"))
    ages = {".progress-task-1.md": 3700, ".progress-task-2.md": 3500, "notes.md": 9999, ".progress.md": 9999}
    for name, age_s in ages.items():
        (found.folder / name).write_text("x")
        os.utime(found.folder / name, (time.time() - age_s,) * 2)
    found.turn()
    left = {name for name in ages if (found.folder / name).exists()}
    assert left == {".progress-task-2.md", "notes.md", ".progress.md"}


def test_continue_with_context_sends_the_reason_once_as_context(unarmed: LoopProject) -> None:
    unarmed.arm(continue_with="context")
    answer = unarmed.turn()
    assert "decision" not in answer.said
    assert answer.said["hookSpecificOutput"]["hookEventName"] == "Stop"
    assert task_id(unarmed.layout, 1) in answer.context
    assert answer.message


def test_the_reason_says_how_to_claim_ask_and_commit(armed: LoopProject) -> None:
    reason = armed.turn().reason
    name = task_id(armed.layout, 1)
    for part in (f"done {name}`", f"ask {name} 'TEXT'`", "Commit", "decide, note the assumption"):
        assert part in reason


def test_the_status_line_of_features(project: ProjectFactory) -> None:
    found = project("features", loop_files("features", total=12, done=4))
    found.arm(max_iterations=30)
    assert found.turn().message == "ralphloop · iteration 2/30 · 4/12 done · next F5"
