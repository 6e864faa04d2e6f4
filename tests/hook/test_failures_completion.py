"""Reports from the field, group B: when a loop is complete, and when not. Numbers as in the facts."""

from __future__ import annotations

import json

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OWNER, LoopProject, feature, task_id
from hook.lines import assistant_line, feedback_line, text_line, tool_line, user_line
from hook.proven import LIST, adding_to, checked, cli, commands_run, events, known, lines_of, listed

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}


def test_f10_an_odd_transcript_deletes_nothing(features: LoopProject) -> None:
    features.add_lines(user_line("go"))
    assert features.stop(last_assistant_message="Working on it.").blocks
    assert features.own.exists()


def test_f11_a_claim_that_only_the_payload_has_is_seen(features: LoopProject) -> None:
    answer = features.stop(last_assistant_message="ALL_TASKS_COMPLETE")
    assert "refused" in answer.reason


def test_f12_a_bare_word_completes_nothing(features: LoopProject) -> None:
    assert features.turn("DONE").blocks


def test_f13_the_marker_in_a_sentence_fence_or_quote_is_prose(features: LoopProject) -> None:
    for said in ("I'll print ALL_TASKS_COMPLETE.", "```\nALL_TASKS_COMPLETE\n```", "> ALL_TASKS_COMPLETE"):
        answer = features.turn(said)
        assert answer.blocks
        assert "refused" not in answer.reason


def test_f14_the_marker_in_the_hooks_own_text_does_not_count(spec: LoopProject) -> None:
    answer = spec.turn("ALL_TASKS_COMPLETE")
    spec.add_lines(feedback_line(answer.reason), user_line("ALL_TASKS_COMPLETE"))
    assert "refused" not in spec.turn().reason


def test_f15_a_broken_line_is_passed_over(features: LoopProject) -> None:
    features.turn()
    features.add_lines(b'{"type": "assistant", "message": {\n', b"\xff\xfe\n", tool_line("Bash", {}), b"[]\n")
    features.add_lines(b'{"type":"user","text":"literal\nnewline"}\n')
    assert features.stop().blocks
    assert features.loop()["no_progress"] == 0


def test_f16_a_message_of_tool_calls_only_is_not_complete(features: LoopProject) -> None:
    features.add_lines(tool_line("Bash", {"command": "true"}))
    assert features.stop(last_assistant_message=...).blocks


def test_f17_a_claim_of_an_earlier_turn_is_stale(spec: LoopProject) -> None:
    assert "refused" in spec.turn("ALL_TASKS_COMPLETE").reason
    answer = spec.turn("Going on.")
    assert answer.blocks
    assert "refused" not in answer.reason


def test_f17_the_last_text_of_the_transcript_stands_in_for_a_missing_message(spec: LoopProject) -> None:
    spec.add_lines(text_line("ALL_TASKS_COMPLETE"), assistant_line({"type": "text", "text": "Not yet."}))
    assert "refused" not in spec.stop(last_assistant_message=...).reason
    spec.add_lines(text_line("ALL_TASKS_COMPLETE"))
    assert "refused" in spec.stop(last_assistant_message=...).reason
    assert json.loads(spec.own.read_text())["globalIteration"] == 3


def test_f18_a_claim_with_open_tasks_names_them(features: LoopProject) -> None:
    features.close(2)
    assert "2 tasks are open: F1, F3" in features.turn("ALL_TASKS_COMPLETE").reason


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f18_a_claim_whose_check_is_red_stays_among_the_open_ones(
    project: ProjectFactory, layout: str
) -> None:
    found = checked(project, layout, "exit 3", "", "")
    found.close(1)
    found.close(2)
    answer = found.turn("ALL_TASKS_COMPLETE")
    first, third = task_id(layout, 1), task_id(layout, 3)
    assert answer.blocks
    assert f"ALL_TASKS_COMPLETE is refused: 2 tasks are open: {first}, {third}." in answer.reason
    assert f"The claim of task {first} is refused: `exit 3` exited with 3." in answer.reason
    assert found.loop()["outcome"] is None


def test_f19_a_claim_without_any_work_is_refused(features: LoopProject) -> None:
    features.turn()
    assert "refused" in features.mute_turn("ALL_TASKS_COMPLETE").reason


def test_f19_completion_without_a_single_tool_call_is_questioned_once(armed: LoopProject) -> None:
    for number in (1, 2, 3):
        armed.close(number)
    answer = armed.mute_turn("ALL_TASKS_COMPLETE")
    assert answer.blocks
    assert "no tool was used since the loop began" in answer.reason
    assert armed.loop()["outcome"] is None
    assert not armed.mute_turn("All of it is really done.").blocks
    assert armed.loop()["outcome"] == "complete"


def test_f19_a_tool_call_at_any_time_since_the_start_is_work(features: LoopProject) -> None:
    assert features.turn().blocks
    for number in (1, 2, 3):
        features.close(number)
    assert not features.mute_turn().blocks
    assert features.loop()["outcome"] == "complete"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f19_a_proven_task_is_work_whatever_the_transcript_shows(
    project: ProjectFactory, layout: str
) -> None:
    found = checked(project, layout, "true", "", "")
    for number in (1, 2, 3):
        found.close(number)
    assert not found.mute_turn().blocks
    assert found.loop()["outcome"] == "complete"


def test_f20_a_question_in_prose_is_not_done(features: LoopProject) -> None:
    """Amended (section 4): a question in prose never stops the loop; `ralphloop ask` does."""
    answer = features.turn("Which colour do you want?")
    assert answer.blocks
    assert " ask F1 " in answer.reason


def test_f20_a_question_for_the_person_is_input_that_is_needed(project: ProjectFactory) -> None:
    found = listed(project, feature("F1", verify="true"))
    assert cli(found, "ask", "F1", "Which colour?", env=AGENT).returncode == 0
    answer = found.turn("Which colour do you want?")
    assert not answer.blocks
    assert "Which colour?" in answer.message
    assert found.loop()["outcome"] == "needs_input"
    assert commands_run(found) == []


def test_f21_the_loop_ends_exactly_once(features: LoopProject) -> None:
    for number in (1, 2, 3):
        features.close(number)
    assert "complete" in features.turn("ALL_TASKS_COMPLETE").message
    assert features.turn("ALL_TASKS_COMPLETE").silent
    ends = [row for row in features.journal() if row.get("outcome") == "complete"]
    assert len(ends) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f21_either_way_to_claim_ends_the_loop_once(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, "true", "true")
    said = cli(found, "done", task_id(layout, 1), env=AGENT)
    assert (said.returncode, said.stderr) == (0, "")
    found.close(2)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"
    assert found.turn("ALL_TASKS_COMPLETE").silent
    assert len([row for row in found.journal() if row.get("outcome") == "complete"]) == 1


def test_f21_nothing_but_true_closes_a_task(project: ProjectFactory) -> None:
    for passes in (..., None, "true", 1, "done", []):
        fields = {} if passes is ... else {"passes": passes}
        found = listed(project, {"id": "F1", "description": "Do it", **fields})
        assert found.turn("ALL_TASKS_COMPLETE").blocks, passes
        assert found.loop()["current"] == "F1", passes


SEVERAL_WORDS = ["ALL TESTS GREEN", "  two  spaces  ", 'it\'s "quoted"', "$(echo no) `no`", "Ünï ✓ 🙂"]


@pytest.mark.parametrize("text", SEVERAL_WORDS)
def test_f22_a_text_of_several_words_stays_as_it_is(project: ProjectFactory, text: str) -> None:
    """There is no promise to set; ids, descriptions and checks are the texts that a person writes."""
    quoted = "'" + text.replace("'", "'\\''") + "'"
    wanted = f"printf %s {quoted} > told"
    item = {"id": text, "description": f"Say {text}", "passes": False, "verify": wanted}
    found = listed(project, item, armed=False)
    before = found.own.read_bytes()
    assert cli(found, "start", "demo", "--yes", "--session", OWNER).returncode == 0
    answer = found.turn()
    assert f" done {quoted}`" in answer.reason
    assert f"Say {text}" in answer.reason
    assert found.own.read_bytes() == before
    assert found.kept("pinned").read_bytes() == before
    assert cli(found, "done", text, env=AGENT).returncode == 0
    assert (found.root / "told").read_text() == text
    assert known(found, text)["state"] == "proven"
    assert json.loads(found.own.read_text())["features"] == [{**item, "passes": True}]


def test_f22_a_prompt_of_several_lines_stays_as_it_is(project: ProjectFactory) -> None:
    prompt = "ALL TESTS GREEN\r\n---\n  'quotes' \"and\" $(more)\n\n\ttabs ✓"
    found = project("features", {LIST: json.dumps([feature("F1")])})
    found.write({".ralph/loops/demo/RALPH_PROMPT.md": prompt})
    assert cli(found, "start", "demo").returncode == 0
    assert (found.folder / "RALPH_PROMPT.md").read_bytes() == prompt.encode()
    found.send("UserPromptSubmit", prompt=prompt)
    found.add_lines(user_line(prompt))
    assert found.turn().blocks


@pytest.mark.parametrize("words", [("--max-iterations=3",), ("--max-iterations", "3")])
def test_f23_a_limit_is_read_however_it_is_written(project: ProjectFactory, words: tuple[str, ...]) -> None:
    found = project("features")
    assert cli(found, "start", "demo", "--session", OWNER, *words).returncode == 0
    assert found.the_loop().record.limits.iterations == 3
    assert [found.turn().blocks for _ in range(3)] == [True, True, False]


def test_f23_a_flag_that_is_not_known_fails_and_starts_nothing(project: ProjectFactory) -> None:
    found = project("features")
    before = found.digest()
    for words in (
        ("--x",), ("--max-iteration", "3"), ("--max-iterations=three",), ("--max-iterations",), ("a", "b"),
        ("--completion-promise", "DONE"), ("--max-time=soon",), ("--max-cost=-1",),
    ):  # fmt: skip
        done = cli(found, "start", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("ralphloop: "), words
        assert "--" in done.stderr, words
        assert found.digest() == before, words


def test_f24_only_a_tasks_own_record_moves_the_loop(features: LoopProject) -> None:
    features.turn("F1 is finished, F2 is finished, F3 is finished.")
    assert features.loop()["current"] == "F1"
    features.close(1)
    features.turn()
    assert features.loop()["current"] == "F2"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f24_a_refused_claim_moves_nothing_on(project: ProjectFactory, layout: str) -> None:
    ran = project("features").base / "ran"
    found = checked(project, layout, "false", adding_to(ran))
    found.close(1)
    found.turn()
    assert found.loop()["current"] == task_id(layout, 1)
    found.close(2)
    found.turn()
    assert found.loop()["current"] == task_id(layout, 1)
    assert lines_of(ran) == ["ran"]
    assert found.loop()["outcome"] is None
    assert [row["task"] for row in events(found, "proven")] == [task_id(layout, 2)]
