"""Reports from the field, groups D to F: limits of the service, state on disk, platforms. Numbers as there.

Left out, because a hook cannot show them in this issue: 41, 43, 44 (waiting for a reset, exit codes: the
supervisor's; the parsed instant is in test_session_events), 54 and 69 (arming from a command line; the texts
themselves are in test_bad_texts), 56 (a run after a run: test_claims), 60 to 62 (merges, branches, roll-back:
no such feature), 64 (Windows is not tested), 65, 66 (`doctor`), 70, 71 (command line), 75, 76 (tool policy).
"""

from __future__ import annotations

import time

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LoopProject, feature, feature_list, task_id
from hook.lines import compact_line, error_line, interrupt_line, tool_line, user_line
from ralphloop.store import arming
from ralphloop.store.loop import CANCEL, PAUSE

# D. Limits of the service, compaction, background work


def test_f40_a_rate_limit_is_never_blocked(features: LoopProject) -> None:
    features.turn()
    features.send("StopFailure", error="rate_limit", error_details="429")
    assert features.loop()["outcome"] == "rate_limited"
    features.add_lines(error_line("API Error: 429 rate_limit_error"))
    features.edit_loop(state="running", outcome=None)
    assert not features.stop().blocks


@pytest.mark.parametrize(
    "text", ["You have reached your individual spend limit.", "API Error: 529 overloaded_error"]
)
def test_f42_other_words_for_a_limit_are_understood(project: ProjectFactory, text: str) -> None:
    found = project("features")
    found.arm()
    found.turn()
    found.add_lines(error_line(text))
    assert not found.stop().blocks
    assert found.loop()["outcome"] == "rate_limited"


def test_f42_an_unknown_error_is_not_success(features: LoopProject) -> None:
    features.turn()
    features.send("StopFailure", error="unknown", error_details="something odd")
    assert features.loop()["outcome"] == "failed"


def test_f46_after_a_compaction_the_task_is_back_and_cancel_still_works(features: LoopProject) -> None:
    features.turn()
    features.add_lines(compact_line(), user_line("summary", isCompactSummary=True))
    assert task_id(features.layout, 1) in features.send("SessionStart", source="compact").context
    features.the_loop().ask_for(CANCEL)
    assert not features.turn().blocks
    assert features.loop()["outcome"] == "cancelled"


def test_f47_a_background_subagent_is_waited_for_and_an_empty_list_is_not(features: LoopProject) -> None:
    """Amended (rule 8): a shell or cron does not stop the loop; a subagent or workflow does."""
    task = {"id": "1", "type": "subagent", "status": "pending"}
    assert features.turn(background_tasks=[task]).silent
    assert features.loop()["iteration"] == 1
    assert features.turn(background_tasks=[]).blocks


def test_f48_the_task_comes_from_the_file_not_from_the_conversation(armed: LoopProject) -> None:
    armed.transcript.parent.mkdir(parents=True, exist_ok=True)
    armed.transcript.write_bytes(b"")
    answer = armed.stop(last_assistant_message=...)
    assert task_id(armed.layout, 1) in answer.reason


@pytest.mark.usefixtures("as_registered")
def test_f49_the_hook_is_quick(features: LoopProject) -> None:
    """One of twelve stops, however busy the machine is."""

    def is_quick() -> bool:
        begun = time.monotonic()
        assert features.turn().blocks
        return time.monotonic() - begun < 1.0

    assert any(is_quick() for _ in range(12))


# E. State on disk


@pytest.mark.usefixtures("as_registered")
def test_f51_the_loop_is_found_from_a_subdirectory(features: LoopProject) -> None:
    deep = features.root / "a" / "b"
    deep.mkdir(parents=True)
    assert features.turn(cwd=deep).blocks


def test_f52_a_vanished_file_comes_back_with_a_message(armed: LoopProject) -> None:
    """Amended (rule 6): restored, told, and the loop goes on; nothing is ever removed."""
    armed.turn()
    armed.own.unlink()
    assert "last good copy" in armed.turn().message
    assert armed.own.exists()


def test_f53_a_pause_by_hand_holds_at_the_next_stop(features: LoopProject) -> None:
    features.turn()
    features.the_loop().ask_for(PAUSE)
    assert not features.turn().blocks
    assert (features.loop()["state"], features.loop()["outcome"]) == ("paused", "interrupted")
    assert features.turn().silent


def test_f55_a_cancel_holds_and_brings_no_file_back(armed: LoopProject) -> None:
    armed.turn()
    armed.the_loop().ask_for(CANCEL)
    armed.own.unlink()
    assert not armed.turn().blocks
    assert armed.loop()["outcome"] == "cancelled"
    for _ in range(2):
        assert armed.turn().silent
        assert not armed.own.exists()


def test_f55_a_cancel_between_two_stops_leaves_the_files_as_they_are(armed: LoopProject) -> None:
    armed.turn()
    before = armed.own.read_bytes()
    armed.the_loop().ask_for(CANCEL)
    assert not armed.turn().blocks
    if armed.layout == "features":
        assert armed.own.read_bytes() == before
    assert armed.turn().silent


def test_f56_what_is_left_of_one_run_does_not_end_the_next(features: LoopProject) -> None:
    for number in (1, 2, 3):
        features.close(number)
    features.turn("ALL_TASKS_COMPLETE")
    features.close(1, done=False)
    features.arm()
    features.new_prompt()
    assert features.turn().blocks


def test_f59_an_open_task_of_a_dead_session_can_be_taken_up(features: LoopProject) -> None:
    features.turn()
    features.send("SessionEnd", reason="other")
    loop = features.the_loop()
    state = loop.load()
    assert state is not None
    loop.record.session = state.owner = "another-session"
    arming.take_up(loop, state)
    features.session = "another-session"
    features.new_prompt()
    answer = features.turn()
    assert answer.blocks
    assert task_id(features.layout, 1) in answer.reason


# F. Platforms and manners


def test_f67_an_allowed_stop_makes_no_noise(features: LoopProject) -> None:
    assert features.stop(session_id="somebody").silent


def test_f69_task_texts_are_never_run(project: ProjectFactory) -> None:
    found = project("features")
    mark = found.base / "ran"
    nasty = f"`touch '{mark}'` $(touch '{mark}') ; touch '{mark}' \" ' \\ \n --flag *"
    found.own.write_text(feature_list(feature(nasty, description=nasty, steps=[nasty])))
    found.arm()
    assert found.turn(nasty).blocks
    assert not mark.exists()


def test_f72_after_an_interrupt_the_loop_stays_paused(features: LoopProject) -> None:
    features.turn()
    features.add_lines(interrupt_line())
    for _ in range(3):
        features.new_prompt()
        assert not features.turn().blocks
    assert features.loop()["outcome"] == "interrupted"


def test_f73_an_asked_question_lets_the_session_stop(project: ProjectFactory) -> None:
    found = project("features")
    found.arm()
    loop = found.the_loop()
    ledger = loop.load_ledger()
    for name in ("F1", "F2", "F3"):
        ledger.note(name, question="Which one?")
    loop.save_ledger(ledger)
    found.edit_loop(ledger=1)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "needs_input"


def test_f74_a_block_never_says_continue_false(features: LoopProject) -> None:
    answer = features.turn()
    assert answer.blocks
    assert "continue" not in answer.said


def test_f57_a_stop_seen_again_is_counted_because_no_clock_tells_twins_apart(features: LoopProject) -> None:
    """Amended (section 4, registered twice): within one registration every answer counts."""
    features.add_lines(tool_line("Bash", {}))
    fields = {"last_assistant_message": "The same words."}
    assert features.stop(**fields).blocks
    assert features.stop(**fields).blocks
    assert features.loop()["iteration"] == 3
