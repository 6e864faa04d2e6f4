"""Reports from the field, group C without 35, and 50: runaways and stalls. Numbers as in the facts."""

from __future__ import annotations

import time

import pytest

from hook.conftest import ProjectFactory
from hook.harness import (
    LAYOUTS,
    OWNER,
    SEQUENTIAL,
    LoopProject,
    feature,
    feature_list,
    loop_files,
    task_id,
)
from hook.lines import cap_line
from hook.proven import boxed, checked, cli, evidence, is_closed, known, list_file, listed
from ralphloop.domain.model import UNLIMITED
from unit.proof.processes import gone, wait_until


@pytest.fixture
def alone(project: ProjectFactory) -> LoopProject:
    """A list whose loop the session owns, with a single task left: nothing else can run instead of it."""
    found = project("features", loop_files("features", total=3, done=2))
    found.arm()
    return found


def test_f25_limits_are_finite_without_any_flag(features: LoopProject) -> None:
    limits = features.the_loop().record.limits
    assert limits.iterations == 15
    assert limits.time_s == 8 * 3600
    for _ in range(14):
        assert features.turn().blocks
    assert not features.turn().blocks


def test_f25_every_limit_is_finite_when_started_without_any_flag(project: ProjectFactory) -> None:
    found = project("features")
    assert cli(found, "start", "demo", "--session", OWNER).returncode == 0
    limits = found.the_loop().record.limits
    finite = (limits.iterations, limits.time_s, limits.attempts, limits.no_progress, limits.replies)
    assert finite == (15, 8 * 3600, 5, 3, 3)
    assert not limits.budgeted


def test_f25_no_limit_of_turns_must_be_meant(project: ProjectFactory) -> None:
    found = project("features", loop_files("features", total=1))
    before = found.digest()
    refused = cli(found, "start", "demo", "--session", OWNER, "--max-iterations", "0")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--i-know" in refused.stderr
    assert found.digest() == before
    meant = cli(found, "start", "demo", "--session", OWNER, "--max-iterations", "0", "--i-know")
    assert meant.returncode == 0
    assert found.the_loop().record.limits.iterations == UNLIMITED
    found.edit_loop(iteration=6239)
    assert "iteration 6240 " in found.turn().message
    assert [found.mute_turn().blocks for _ in range(3)] == [True, True, False]
    assert found.loop()["outcome"] == "stalled"


def test_f26_three_idle_turns_stall_before_the_clients_cap(alone: LoopProject) -> None:
    alone.turn()
    said = [alone.mute_turn().blocks for _ in range(3)]
    assert said == [True, True, False]
    assert alone.loop()["outcome"] == "stalled"


def test_f26_the_stall_stays_below_a_cap_that_was_lowered(project: ProjectFactory) -> None:
    for cap, blocks in {"2": 0, "3": 1, "0": 2, "x": 2, "100": 2}.items():
        found = project("features", loop_files("features", total=1))
        found.arm()
        found.extra_env["CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"] = cap
        found.turn()
        said = [found.mute_turn().blocks for _ in range(blocks + 1)]
        assert said == [True] * blocks + [False], cap


def test_f27_a_turn_that_the_cap_ended_is_not_success(features: LoopProject) -> None:
    features.turn()
    features.add_lines(cap_line())
    features.new_prompt()
    assert "force-ended" in features.turn().message
    assert features.loop()["outcome"] == "capped"


def test_f28_a_check_that_stays_red_sets_its_task_aside(project: ProjectFactory) -> None:
    found = checked(project, "features", "echo still broken; exit 1", "")
    for attempt in range(1, 5):
        found.close(1)
        assert "next F1" in found.turn().message
        assert found.loop()["attempts"] == {"F1": attempt}
    found.close(1)
    answer = found.turn()
    assert answer.blocks
    assert "Task F1 is set aside: task F1 was tried 5 times." in answer.message
    assert "next F2" in answer.message
    assert (known(found, "F1")["state"], is_closed(found, 1)) == ("set_aside", False)
    found.close(2)
    answer = found.turn()
    assert not answer.blocks
    assert (found.loop()["outcome"], "F1" in answer.message) == ("failed", True)
    assert [record["green"] for record in evidence(found)] == [False] * 5


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_f28_a_check_that_stays_red_ends_a_sequence_as_failed(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, "exit 1", "")
    for _ in range(4):
        found.close(1)
        assert found.turn().blocks
    found.close(1)
    answer = found.turn()
    assert not answer.blocks
    assert "task 1.1 was tried 5 times" in answer.message
    assert (found.loop()["state"], found.loop()["outcome"]) == ("ended", "failed")
    assert not is_closed(found, 1)


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_f28_the_attempts_that_a_state_allows_hold_if_they_are_fewer(
    project: ProjectFactory, layout: str
) -> None:
    found = boxed(project, layout, "- [ ] 1.1 a\n  **Verify**: `exit 1`\n", maxTaskIterations=2)
    found.close(1)
    assert found.turn().blocks
    found.close(1)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "failed"


def test_f29_the_same_reply_three_times_trips(alone: LoopProject) -> None:
    said = [alone.turn("The work is merged and nothing is left.").blocks for _ in range(3)]
    assert said == [True, True, False]
    assert (alone.loop()["outcome"], alone.loop()["detail"]) == ("stalled", "the same reply 3 times")


def test_f30_three_near_empty_replies_trip(alone: LoopProject) -> None:
    alone.turn()
    for text in ("Holding.", "Still holding."):
        alone.mute_turn(text)
        alone.edit_loop(no_progress=0)
    alone.mute_turn("Hm.")
    assert alone.loop()["outcome"] == "stalled"
    assert "near-empty" in alone.loop()["detail"]


def test_f30_a_near_empty_reply_after_a_tool_call_is_work(features: LoopProject) -> None:
    for text in ("a.", "b.", "c.", "d."):
        assert features.turn(text).blocks


def test_f31_progress_gates_before_the_count_does(alone: LoopProject) -> None:
    alone.turn()
    while alone.mute_turn().blocks:
        pass
    assert alone.loop()["iteration"] < 6


def test_f32_closing_another_task_each_time_is_no_stall(project: ProjectFactory) -> None:
    found = project("features", loop_files("features", total=8))
    found.arm()
    for number in range(1, 8):
        found.close(number)
        assert found.mute_turn("Task complete.").blocks


def test_f33_a_limit_never_grows(features: LoopProject) -> None:
    features.edit_loop(iteration=15)
    assert not features.turn().blocks
    assert features.the_loop().record.limits.iterations == 15
    assert features.turn().silent


def test_f34_a_hand_edited_count_goes_on_from_there(spec: LoopProject) -> None:
    text = spec.own.read_text().replace('"globalIteration": 1', '"globalIteration"   :\n\t 7')
    spec.own.write_text(text)
    spec.turn()
    assert spec.state()["globalIteration"] == 8


def test_f36_a_check_that_hangs_is_ended_with_all_that_it_started(project: ProjectFactory) -> None:
    """The agent's own idleness is the supervisor's; what a hook starts is ours."""
    hangs = "echo $$ >> pids; for i in 1 2; do sleep 600 & echo $! >> pids; done; echo waiting; wait"
    found = listed(project, feature("F1", verify=hangs, timeout_s=3), feature("F2"))
    found.close(1)
    answer = found.turn()
    assert answer.blocks
    assert "ran into its time limit of 3 s" in answer.reason
    assert "waiting" in answer.reason
    pids = [int(pid) for pid in (found.root / "pids").read_text().split()]
    assert len(pids) == 3
    wait_until(lambda: all(gone(pid) for pid in pids))
    assert found.loop()["attempts"] == {"F1": 1}
    (record,) = evidence(found)
    assert (record["timed_out"], record["exit_code"], record["signal"]) == (True, None, None)
    assert not is_closed(found, 1)


def test_f37_time_spent_asleep_counts(features: LoopProject) -> None:
    features.turn()
    features.edit_loop(seen_at=features.loop()["seen_at"] - 9 * 3600)
    assert not features.turn().blocks
    assert "running time" in features.loop()["detail"]


def test_f37_a_clock_that_runs_backwards_gives_no_time_back(features: LoopProject) -> None:
    features.turn()
    features.edit_loop(elapsed_s=8 * 3600.0, seen_at=time.time() + 9 * 3600)
    assert not features.turn().blocks
    assert "running time" in features.loop()["detail"]


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_f38_small_tasks_that_may_run_together_are_handed_out_together(
    project: ProjectFactory, layout: str
) -> None:
    rows = "".join(f"- [ ] 1.{n} [P] Small {n}\n  - **Verify**: `true`\n" for n in range(1, 8))
    found = boxed(project, layout, rows + "- [ ] 1.8 Alone\n")
    answer = found.turn()
    assert "(PARALLEL GROUP)" in answer.message
    assert [f"1.{n} [P] Small {n}" in answer.reason for n in range(1, 9)] == [True] * 5 + [False] * 3
    for number in range(1, 6):
        assert f" done 1.{number}`" in answer.reason
        found.close(number)
    assert "1.6 [P] Small 6" in found.turn().reason
    assert [known(found, f"1.{n}")["state"] for n in range(1, 6)] == ["proven"] * 5


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f38_the_reason_stays_short_whatever_the_texts_and_outputs(
    project: ProjectFactory, layout: str
) -> None:
    prints = "head -c 200000 /dev/zero | tr '\\0' 'x'; exit 1"
    total, long = 50, "a long story " * 2000
    if layout == "features":
        checks = [prints + " " * (n % 3) + "#" * 2000 for n in range(total)]
        tasks = [feature(f"F{n}", verify=text, steps=[long] * 9) for n, text in enumerate(checks, 1)]
        found = listed(project, *({**task, "description": long + task["id"]} for task in tasks))
    else:
        rows = [f"- [ ] 1.{n} [P] {long}\n  - **Verify**: `{prints} #{n % 3}`" for n in range(1, total + 1)]
        found = boxed(project, layout, "\n".join(rows) + "\n")
    path = list_file(found)
    path.write_text(path.read_text().replace('"passes": false', '"passes": true').replace("- [ ]", "- [x]"))
    answer = found.turn("ALL_TASKS_COMPLETE")
    assert answer.blocks
    assert len(answer.reason) < 10_000
    assert f"The claim of task {task_id(layout, 1)} is refused" in answer.reason
    assert "claim it: `" in answer.reason
    assert answer.reason.endswith("A question in your reply does not stop the loop.")
    assert len(answer.message) < 2000


def test_f39_a_task_for_the_person_is_passed_over(project: ProjectFactory) -> None:
    text = feature_list(feature("A", needs_human=True), feature("B"))
    found = project("features", {".ralph/loops/demo/feature_list.json": text})
    found.arm()
    assert "next B" in found.turn().message
    found.own.write_text(feature_list(feature("A", needs_human=True), feature("B", passes=True)))
    answer = found.turn()
    assert not answer.blocks
    assert found.loop()["outcome"] == "needs_input"


def test_f39_a_task_that_waits_for_one_of_the_persons_is_passed_over_too(project: ProjectFactory) -> None:
    found = listed(
        project,
        feature("A", needs_human="after Monday", verify="true"),
        feature("B", depends_on=["A"]),
        feature("C", verify="true"),
    )
    found.close(3)
    answer = found.turn()
    assert not answer.blocks
    assert "needs you: A, B (after Monday)" in answer.message
    assert found.loop()["outcome"] == "needs_input"
    assert [record["tasks"] for record in evidence(found)] == [["C"]]


def test_f50_the_breakers_trip_whatever_stop_hook_active_says(project: ProjectFactory) -> None:
    for active in (False, ..., "yes"):
        found = project("features", loop_files("features", total=1))
        found.arm()
        found.turn(stop_hook_active=active)
        said = [found.mute_turn(stop_hook_active=active).blocks for _ in range(3)]
        assert said == [True, True, False]
