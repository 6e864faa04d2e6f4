"""One hopeless task does not end the night: it is set aside, and the others are worked on."""

from __future__ import annotations

import time

import pytest

from hook.conftest import ProjectFactory
from hook.harness import (
    FOLDERS,
    OWNER,
    SEQUENTIAL,
    LoopProject,
    feature,
    feature_list,
    loop_files,
    stop_here,
    task_id,
)
from hook.lines import text_line, tool_line
from hook.proven import boxed, checked, cli, events, is_closed, known, listed

SAME = "The task is finished, and its file is in place."


def claimed(found: LoopProject, number: int, said: str = SAME):
    """A turn with edits that claims a task in these words."""
    found.close(number)
    return found.turn(said)


def test_a_false_claim_for_ever_in_the_same_words_is_set_aside_and_the_others_are_proven(
    project: ProjectFactory,
) -> None:
    found = checked(project, "features", "true", "exit 1", "true")
    assert "next F2" in claimed(found, 1).message
    for attempt in range(1, 5):
        assert "next F2" in claimed(found, 2).message
        assert found.loop()["attempts"] == {"F2": attempt}
    answer = claimed(found, 2)
    assert "Task F2 is set aside: task F2 was tried 5 times." in answer.message
    assert "next F3" in answer.message
    assert "Task F2 is set aside" in answer.reason
    answer = claimed(found, 3)
    assert not answer.blocks
    assert (found.loop()["state"], found.loop()["outcome"]) == ("ended", "failed")
    assert found.loop()["detail"] == "set aside: F2 (task F2 was tried 5 times)"
    assert "F2 (task F2 was tried 5 times)" in answer.message
    assert [known(found, f"F{n}")["state"] for n in (1, 2, 3)] == ["proven", "set_aside", "proven"]
    (entry,) = events(found, "set_aside")
    assert (entry["task"], entry["why"]) == ("F2", "task F2 was tried 5 times")


def test_the_attempts_of_a_task_that_is_not_the_next_end_too(project: ProjectFactory) -> None:
    found = checked(project, "features", "", "exit 1", "")
    for attempt in range(1, 5):
        assert claimed(found, 2, f"This is try {attempt} at it.").blocks
    answer = claimed(found, 2, "And this is the last one.")
    assert "Task F2 is set aside: task F2 was tried 5 times." in answer.message
    assert "next F1" in answer.message


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_sequence_fails_at_a_later_task_too_and_names_what_is_left(
    project: ProjectFactory, layout: str
) -> None:
    found = checked(project, layout, "", "exit 1", "")
    for _ in range(4):
        assert claimed(found, 2).blocks
    answer = claimed(found, 2)
    assert not answer.blocks
    assert found.loop()["outcome"] == "failed"
    assert "task 1.2 was tried 5 times; open: 1.1, 1.2, 1.3." in answer.message


def test_a_claim_that_a_command_refused_counts_as_one_that_a_stop_refuses(project: ProjectFactory) -> None:
    found = checked(project, "features", "", "exit 1", "")
    assert found.turn("I begin.").blocks
    agent = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}
    for attempt in range(1, 5):
        assert cli(found, "done", "F2", env=agent).returncode == 1
        assert "next F1" in found.turn(SAME).message, attempt
        assert found.loop()["attempts"] == {"F2": attempt}
        assert found.loop()["same_replies"] == 1
    assert cli(found, "done", "F2", env=agent).returncode == 1
    answer = found.turn(SAME)
    assert "Task F2 is set aside: task F2 was tried 5 times." in answer.message
    assert "next F1" in answer.message
    assert found.loop()["refused"] == []


def test_a_claim_that_holds_after_refused_ones_in_the_same_turn_is_no_hopeless_task(
    project: ProjectFactory,
) -> None:
    found = checked(project, "features", "", "test -f made", "")
    agent = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}
    for _ in range(5):
        assert cli(found, "done", "F2", env=agent).returncode == 1
    found.write({"made": ""})
    assert cli(found, "done", "F2", env=agent).returncode == 0
    answer = found.turn("At last.")
    assert "next F1" in answer.message
    assert known(found, "F2")["state"] == "proven"
    assert events(found, "set_aside") == []


def test_a_refused_claim_neither_raises_nor_resets_the_counts_of_the_breakers(
    project: ProjectFactory,
) -> None:
    found = checked(project, "features", "", "exit 1", "")
    found.turn("I begin with the first of them.")
    found.mute_turn("Holding on for now.")
    before = {name: found.loop()[name] for name in ("no_progress", "same_replies", "empty_replies", "reply")}
    assert before["no_progress"] == 1
    claimed(found, 2, "Something else.")
    assert {name: found.loop()[name] for name in before} == before


def test_a_task_that_the_agent_only_talks_about_is_set_aside(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "true", "")
    found.turn("I begin.")
    assert [found.mute_turn().blocks for _ in range(2)] == [True, True]
    answer = found.mute_turn()
    assert "Task F1 is set aside: 3 continuations without a tool call or a changed task." in answer.message
    assert "next F2" in answer.message
    counts = [found.loop()[name] for name in ("no_progress", "same_replies", "empty_replies")]
    assert max(counts) <= 1
    assert found.loop()["attempts"] == {"F1": 3}
    assert claimed(found, 2).blocks
    found.close(3)
    answer = found.turn("All that could be done is done.")
    assert found.loop()["outcome"] == "failed"
    assert "set aside: F1 (3 continuations without" in found.loop()["detail"]


def test_no_task_is_set_aside_before_the_end_of_its_turn_is_written(
    project: ProjectFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client may write down what the agent did after it has called the hook."""
    found = checked(project, "features", "true", "true")
    found.turn("I begin.")
    assert [found.mute_turn().blocks for _ in range(2)] == [True, True]

    def late(seconds: float) -> None:
        found.add_lines(tool_line("Bash", {"command": "true"}), text_line("I did something."))

    monkeypatch.setattr(time, "sleep", late)
    answer = stop_here(found, last_assistant_message="I did something.")
    assert "go on with task F1" in answer
    assert events(found, "set_aside") == []
    assert found.loop()["no_progress"] == 0


def test_the_same_words_with_edits_set_one_task_aside_not_the_loop(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "true")
    assert [found.turn(SAME).blocks for _ in range(3)] == [True, True, True]
    assert known(found, "F1") == {"state": "set_aside", "why": "the same reply 3 times"}
    assert [found.turn(SAME).blocks for _ in range(3)] == [True, True, False]  # it has its own three
    assert found.loop()["outcome"] == "stalled"  # F2 is the last that can run


@pytest.mark.parametrize("skipped", [False, True])
def test_false_claims_of_what_is_left_out_anyway_keep_no_breaker_from_tripping(
    project: ProjectFactory, skipped: bool
) -> None:
    found = checked(project, "features", "exit 1", "exit 1", "exit 1")
    if skipped:
        assert cli(found, "skip", "F2").returncode == 0
    turns = 0
    while claimed(found, 2).blocks:
        turns += 1
        assert turns < 16, found.loop()
    assert found.loop()["outcome"] == "stalled"
    assert known(found, "F1")["state"] == "set_aside"
    assert known(found, "F2")["state"] == ("skipped" if skipped else "set_aside")


def test_a_task_that_is_set_aside_stays_so_however_it_is_claimed(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "exit 1", "true")
    for attempt in range(8):
        assert cli(found, "done", "F2").returncode == 1
        if attempt % 2:
            found.close(2)
        found.turn(f"Try {attempt} at it, with other words.")
    (entry,) = events(found, "set_aside")
    assert known(found, "F2") == {"state": "set_aside", "why": entry["why"]}
    assert "was tried" in entry["why"]


def test_an_agent_that_only_talks_is_stopped_before_the_clients_cap(project: ProjectFactory) -> None:
    """The client's count of plain replies does not begin anew with another task."""
    tasks = [feature(f"F{n}") for n in range(1, 10)]
    found = project("features", {".ralph/loops/demo/feature_list.json": feature_list(*tasks)})
    found.arm()
    found.turn("I begin.")
    said = [found.mute_turn().blocks for _ in range(6)]
    assert said == [True] * 5 + [False]
    assert found.loop()["outcome"] == "stalled"


def test_what_depends_on_a_task_set_aside_is_named_as_stuck(project: ProjectFactory) -> None:
    found = listed(
        project,
        feature("F1", verify="exit 1"),
        feature("F2", verify="true", depends_on=["F1"]),
        feature("F3", verify="true"),
    )
    for _ in range(5):
        claimed(found, 1)
    assert "F3" in found.loop()["current"]
    answer = claimed(found, 3)
    assert found.loop()["outcome"] == "failed"
    detail = "set aside: F1 (task F1 was tried 5 times); F2 depends on F1, which was set aside"
    assert found.loop()["detail"] == detail
    assert "F2 depends on F1" in answer.message


def test_a_false_claim_of_a_task_that_was_set_aside_sets_it_aside_again(project: ProjectFactory) -> None:
    found = checked(project, "features", "exit 1", "")
    for _ in range(5):
        claimed(found, 1)
    answer = claimed(found, 1, "Once more.")
    assert answer.blocks
    assert (known(found, "F1")["state"], is_closed(found, 1)) == ("set_aside", False)
    assert "next F2" in answer.message
    assert len(events(found, "set_aside")) == 1


def test_a_task_set_aside_is_tried_again_after_a_resume(project: ProjectFactory) -> None:
    found = checked(project, "features", "exit 1", "")
    for _ in range(5):
        claimed(found, 1)
    found.close(2)
    assert not found.turn("That was it.").blocks
    assert cli(found, "resume").returncode == 0
    assert "next F1" in found.turn("On I go.").message


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_question_names_only_its_own_task(project: ProjectFactory, layout: str) -> None:
    found = boxed(project, layout, "- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n")
    agent = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}
    assert cli(found, "ask", task_id(layout, 1), "Red or blue?", env=agent).returncode == 0
    answer = found.turn("I asked.")
    assert not answer.blocks
    assert "needs you: 1.1 (Red or blue?)." in answer.message
    assert found.loop()["detail"] == "1.1"


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_spec_without_boxes_is_claimed_by_its_index(project: ProjectFactory, layout: str) -> None:
    files = loop_files(layout)
    del files[f"{FOLDERS[layout]}/tasks.md"]
    found = project(layout, files)
    found.arm()
    reason = found.turn("I look around.").reason
    assert f"set taskIndex to 1 in {found.own.relative_to(found.root)}" in reason
    assert "box" not in reason
