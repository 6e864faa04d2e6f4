"""The transcript: what is new since the last stop, and what only looks like it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralphloop.domain.model import CAPPED, FAILED, INTERRUPTED, RATE_LIMITED
from ralphloop.engine import claude
from unit.domain.cases import each
from unit.engine.transcripts import (
    CAP,
    INTERRUPT,
    INTERRUPT_IN_TOOL,
    NOW,
    THEN,
    api_error,
    asked,
    blob,
    line,
    result,
    said,
    tool,
)


@pytest.fixture
def written(tmp_path):
    """Writes lines to the transcript and gives its path."""

    def write(*lines: str, mode: str = "w") -> str:
        path = tmp_path / "session.jsonl"
        with open(path, mode, encoding="utf-8") as file:
            file.write("".join(lines))
        return str(path)

    return write


def turn(path, *, start=0, since="", **more):
    return claude.read_turn(path, start=start, since=since, **more)


@pytest.mark.parametrize("path", ["", "/nowhere/t.jsonl", "\0"])
def test_a_transcript_that_cannot_be_read_moves_nothing(path):
    read = turn(path, start=77)
    assert (read.readable, read.end, read.tools, read.reply, read.broken_off) == (False, 77, 0, None, "")


@pytest.mark.timeout(20)
def test_a_folder_or_a_pipe_in_its_place_does_not_hold_up_the_stop(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        assert turn(str(path)).tools == 0
        assert claude.opening(str(path)) == ("", "")


def test_only_what_came_since_the_last_stop_is_read(written):
    path = written(asked("go"), tool(command="ls"), result("x"), said("one"))
    first = turn(path)
    assert (first.tools, first.reply, first.end) == (1, "one", os.path.getsize(path))
    written(said("two"), mode="a")
    second = turn(path, start=first.end)
    assert (second.tools, second.reply, second.end) == (0, "two", os.path.getsize(path))
    assert turn(path, start=second.end).reply is None


def test_a_line_that_is_still_being_written_is_left_for_the_next_stop(written):
    path = written(said("one"))
    whole = os.path.getsize(path)
    late = tool(command="ls")
    written(late[:40], mode="a")
    first = turn(path)
    assert (first.end, first.tools) == (whole, 0)
    written(late[40:], mode="a")
    assert turn(path, start=first.end).tools == 1


def test_a_file_that_became_shorter_is_read_from_its_beginning(written):
    path = written(*[said("x" * 100)] * 20)
    end = turn(path).end
    path = written(tool(command="ls"))
    read = turn(path, start=end)
    assert (read.tools, read.end) == (1, os.path.getsize(path))


def test_an_offset_in_the_middle_of_another_files_line_costs_that_line_only(written):
    path = written(said("a" * 500), tool(command="ls"), said("b"))
    read = turn(path, start=100)
    assert (read.tools, read.reply) == (1, "b")


def test_broken_lines_are_passed_over(written):
    path = written(
        "not json tool_use\n", '{"type": "assistant", "tool_use"\n', "\n", '["tool_use"]\n', "\x00\ud7ff\n",
        tool(command="ls"), '{"half": "tool_use', "\n",
    )  # fmt: skip
    assert turn(path).tools == 1


def test_bytes_that_are_no_text_are_passed_over(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xff\xfe\x00\n" + tool(command="ls").encode() + b"\x80\n")
    assert turn(str(path)).tools == 1


QUOTED = '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash"}]}}'


@each(
    "lines",
    [
        [blob(QUOTED)],
        [blob('"tool_use"')],
        [said('I would use a "tool_use" block: ' + QUOTED)],
        [asked(QUOTED)],
        [result(QUOTED)],
        [line("attachment", content=QUOTED)],
        [line("assistant", message={"content": [{"type": "text", "text": '"tool_use"'}]})],
        [line("assistant", message="tool_use"), line("assistant", message={"content": ["tool_use"]})],
        [line("user", message={"content": [{"type": "tool_use"}]})],
    ],
)
def test_a_tool_call_that_is_only_quoted_is_none(written, lines):
    assert turn(written(*lines)).tools == 0


def test_a_tool_call_before_the_loop_began_does_not_count(written):
    path = written(tool(command="ls", at=THEN), said("x"))
    assert turn(path, since=NOW).tools == 0
    assert turn(path, since=THEN).tools == 1
    assert turn(path).tools == 1


def test_a_reply_is_the_last_text_block_of_the_last_message(written):
    path = written(said("a", "b"), blob("c"), said("side", isSidechain=True), asked('the "assistant" said'))
    assert turn(path).reply == "b"
    assert turn(path, want_reply=False).reply is None


def test_the_first_look_at_a_huge_transcript_is_bounded(written):
    path = written(tool(command="ls"), *[said("x" * 100_000)] * 12)
    read = turn(path)
    assert (read.tools, read.end) == (0, os.path.getsize(path))
    assert turn(path, start=1).tools == 0  # cut in the middle of the first line


@each(
    ("text", "outcome"),
    [
        (INTERRUPT, INTERRUPTED),
        (INTERRUPT_IN_TOOL, INTERRUPTED),
        (asked("[Request interrupted by user]"), INTERRUPTED),
        (CAP, CAPPED),
        (api_error('API Error: 429 {"error":{"type":"rate_limit_error"}}'), RATE_LIMITED),
        (api_error("API Error: 529 overloaded_error"), RATE_LIMITED),
        (api_error("Repeated 529 Overloaded errors"), RATE_LIMITED),
        (api_error("You've hit your limit · resets 7pm (Asia/Tokyo)"), RATE_LIMITED),
        (api_error("Claude AI usage limit reached|1794800000"), RATE_LIMITED),
        (said("API Error: 500 Internal", model="<synthetic>"), FAILED),
        (api_error('API Error: 500 {"request_id":"req_0114299"}'), FAILED),
        (
            api_error("API Error: 400 input length and max_tokens exceed context limit: 190000 + 21333"),
            FAILED,
        ),
        (api_error("Prompt is too long"), FAILED),
    ],
)
def test_an_end_that_no_hook_saw_is_found_in_its_real_shape(written, text, outcome):
    assert turn(written(said("working"), text, asked("go on"), said("sure"))).broken_off == outcome


@each(
    "text",
    [
        said("[Request interrupted by user]"),
        asked("what does [Request interrupted by user] mean?"),
        result("[Request interrupted by user]"),
        blob("[Request interrupted by user] <synthetic> blocked the turn from ending"),
        said("A hook blocked the turn from ending 9 consecutive times"),
        asked("A hook blocked the turn from ending"),
        said("API Error: 429"),
        said("No response requested.", model="<synthetic>"),
        said("about <synthetic> models"),
        "[Request interrupted by user\n",
    ],
)
def test_an_end_that_is_only_talked_about_is_none(written, text):
    assert turn(written(text, said("x"))).broken_off == ""


def test_of_several_ends_the_last_one_counts_and_old_ones_do_not(written):
    path = written(CAP, api_error("API Error: 429", at=NOW), INTERRUPT)
    assert turn(path).broken_off == INTERRUPTED
    assert turn(written(INTERRUPT, CAP)).broken_off == CAPPED
    old = asked([{"type": "text", "text": "[Request interrupted by user]"}], at=THEN)
    assert turn(written(old, said("x")), since=NOW).broken_off == ""
    path = written(INTERRUPT)
    assert turn(path, start=turn(path).end).broken_off == ""


@each(
    ("lines", "begun", "prompt"),
    [
        ([asked("do it")], NOW, "do it"),
        ([asked([{"type": "text", "text": "do"}, {"type": "text", "text": "it"}])], NOW, "do\nit"),
        ([line("mode", at=THEN), asked("do it")], THEN, "do it"),
        (
            [asked("note", isMeta=True), asked("side", isSidechain=True), result("r"), asked("do it")],
            NOW,
            "do it",
        ),
        ([asked("first"), asked("second")], NOW, "first"),
        (["broken\n", asked("do it")], NOW, "do it"),
        ([said("hello")], NOW, ""),
        ([line("summary", at=5), asked("do it", at=None)], "", "do it"),
        ([], "", ""),
    ],
)
def test_the_first_prompt_is_the_first_thing_the_person_said(written, lines, begun, prompt):
    assert claude.opening(written(*lines)) == (begun, prompt)


def test_tool_calls_are_found_in_the_transcript_and_in_its_subagents(written, tmp_path):
    path = written(tool("Write", file_path="/p/s.json", content="1"), tool(command="ls"), blob("s.json"))
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-1.jsonl").write_text(tool("Bash", at=THEN, command="cat > s.json"))
    (folder / "notes.txt").write_text(tool("Bash", command="echo > s.json"))
    found = list(claude.tool_calls(path, "s.json"))
    assert found == [(NOW, {"file_path": "/p/s.json", "content": "1"}), (THEN, {"command": "cat > s.json"})]


def queue(operation: str, content: str | None = None) -> dict[str, Any]:
    entry = {"type": "queue-operation", "operation": operation, "timestamp": "2026-11-16T04:35:00.544Z"}
    return entry if content is None else {**entry, "content": content}


@each(
    ("operations", "waits"),
    [
        ([queue("enqueue", "/ralphloop:pause")], True),
        ([queue("enqueue", "please stop")], True),
        ([queue("enqueue", "/a"), queue("dequeue")], False),
        ([queue("enqueue", "/a"), queue("enqueue", "b"), queue("remove", "b")], True),
        ([queue("enqueue", "/a"), queue("enqueue", "b"), queue("remove", "b"), queue("dequeue")], False),
        ([queue("enqueue", "b"), queue("remove", "b")], False),
        ([queue("enqueue", "/a"), queue("enqueue", "/b"), queue("popAll")], False),
        ([queue("enqueue", "<task-notification>done</task-notification>")], False),
        ([queue("enqueue", "")], False),
        ([queue("dequeue")], False),
        ([], False),
        ([{"type": "user", "message": {"content": 'a "queue-operation" "enqueue" in prose'}}], False),
    ],
)
def test_what_the_person_typed_waits_until_it_is_taken_out_of_the_queue(
    tmp_path: Path, operations: list[dict[str, Any]], waits: bool
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in operations))
    assert claude.read_turn(str(path), start=0, since="").queued is waits


def test_what_was_in_the_queue_before_the_last_stop_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(queue("enqueue", "/a")) + "\n")
    assert not claude.read_turn(str(path), start=path.stat().st_size, since="").queued


@each(
    ("stamp", "since", "is_fresh"),
    [
        ("2026-11-15T12:00:07.000Z", "2026-11-15T12:00:07.400Z", True),
        ("2026-11-15T12:00:07Z", "2026-11-15T12:00:07.400Z", True),
        ("2026-11-15T12:00:06.000Z", "2026-11-15T12:00:07.400Z", False),
        ("2026-11-15T12:00:06Z", "2026-11-15T12:00:07.000Z", False),
        ("2026-11-15T12:00:07.399Z", "2026-11-15T12:00:07.400Z", False),
        ("2026-11-15T12:00:07.400Z", "2026-11-15T12:00:07.400Z", True),
        ("2026-11-15T12:00:07.000Z", "", True),
    ],
)
def test_a_stamp_of_whole_seconds_is_fresh_in_the_second_of_the_start(stamp, since, is_fresh, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(tool(at=stamp) + INTERRUPT.replace(NOW, stamp))
    read = turn(str(path), since=since)
    assert (read.tools, read.broken_off) == ((1, INTERRUPTED) if is_fresh else (0, ""))
