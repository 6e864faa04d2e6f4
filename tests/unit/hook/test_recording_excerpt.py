"""The part of a transcript that a record keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphloop.engine import claude
from ralphloop.hook import recording
from ralphloop.tasklists.source import Source


def line(kind: str, content: Any, at: str = "2026-01-01T00:00:00.000Z") -> str:
    return json.dumps({"type": kind, "timestamp": at, "message": {"content": content}}) + "\n"


def call(**given: Any) -> str:
    return line("assistant", [{"type": "tool_use", "name": "T", "input": given}], "2026-01-02T00:00:00.000Z")


@pytest.fixture
def listed(tmp_path: Path) -> Source:
    (tmp_path / "RALPH_PROMPT.md").write_text("Work  through\nit.")
    names = {"list": "feature_list.json", "prompt": "RALPH_PROMPT.md"}
    paths = {role: str(tmp_path / name) for role, name in names.items()}
    return Source("features", "x", root=str(tmp_path), paths=paths)


def kept(tmp_path: Path, listed: Source, *lines: str) -> list[dict[str, Any]]:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(lines))
    return [json.loads(each) for each in recording.ownership(str(path), [listed], client=claude).splitlines()]


@pytest.mark.parametrize(
    ("seen", "before", "new"), [(0, "", "a\nb\n"), (2, "a\n", "b\n"), (4, "a\nb\n", ""), (99, "", "a\nb\n")]
)
def test_the_tail_is_cut_where_the_loop_had_read_to(tmp_path: Path, seen: int, before: str, new: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("a\nb\n")
    found = recording.tail(str(path), seen=seen)
    assert (found.before, found.new, found.skipped) == (before, new, 0)


def test_a_long_transcript_is_kept_from_the_start_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST", 10)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"first line\nsecond\n\xff\n")
    found = recording.tail(str(path), seen=18)
    assert (found.before, found.new, found.skipped) == ("second\n", "\udcff\n", 11)


@pytest.mark.parametrize("name", ["nowhere.jsonl", ".", "nul\0"])
def test_what_cannot_be_read_is_empty(tmp_path: Path, name: str) -> None:
    found = recording.tail(str(tmp_path / name), seen=3)
    assert (found.before, found.new, found.skipped) == ("", "", 0)
    assert recording.ownership(str(tmp_path / name), [], client=claude) == ""


def test_a_question_is_left_out_and_the_loops_own_prompt_kept(tmp_path: Path, listed: Source) -> None:
    (asked,) = kept(tmp_path, listed, line("user", "a private question"))
    assert asked["message"]["content"] == recording.LEFT_OUT
    assert asked["timestamp"] == "2026-01-01T00:00:00.000Z"
    (asked,) = kept(tmp_path, listed, line("user", "Work through it."))
    assert asked["message"]["content"] == "Work through it."


@pytest.mark.parametrize(
    ("given", "reduced"),
    [
        (
            {"file_path": "/p/feature_list.json", "content": "private"},
            {"file_path": "/p/feature_list.json", "content": recording.LEFT_OUT},
        ),
        (
            {"file_path": "feature_list.json", "new_string": 'x "passes": true'},
            {"file_path": "feature_list.json", "new_string": '"passes":true'},
        ),
        ({"command": "jq . feature_list.json"}, {"command": "jq . feature_list.json"}),
        ({"command": "feature_list.json " + "x" * 20_000}, {"command": recording.LEFT_OUT}),
        ({"prompt": "look at feature_list.json"}, {}),
    ],
)
def test_a_call_that_names_the_list_is_kept_without_what_it_wrote(
    tmp_path: Path, listed: Source, given: dict[str, str], reduced: dict[str, str]
) -> None:
    _, found = kept(tmp_path, listed, line("user", "hello"), call(**given), call(command="ls private"))
    (block,) = found["message"]["content"]
    assert block["input"] == reduced
    assert found["timestamp"] == "2026-01-02T00:00:00.000Z"
