"""Whatever comes on stdin or stands in the transcript: exit 0, silence or one object, nothing lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import PLUGINS, LoopProject
from hook.lines import text_line, tool_line, user_line
from ralphloop.hook import main

FIELDS = (
    "session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "effort", "hook_event_name",
    "stop_hook_active", "last_assistant_message", "background_tasks", "session_crons", "agent_id", "source",
    "prompt", "reason", "error", "error_details", "turn_id",
)  # fmt: skip
MB = 1 << 20
VALUES: dict[str, Any] = {
    "null": None,
    "number": 7,
    "huge number": 10**300,
    "fraction": -0.5,
    "true": True,
    "empty list": [],
    "list": [None, 1, "x", [], {"type": [], "status": {}, "description": 3}, {"type": "subagent"}],
    "empty object": {},
    "object": {"a": {"b": [1]}},
    "empty text": "",
    "nul": "a\0b",
    "half a character": "x\ud800y",
    "home of nobody": "~\ud800/x",
    "1 MB": "x" * MB,
    "1 MB of folders": "/x" * (MB // 2),
    "path": "../../../etc/passwd",
    "absolute path": "/etc/passwd",
    "device": "/dev/zero",
    "300 characters": "y" * 300,
    "shell": "$(touch ran) `touch ran` ; touch ran",
    "emoji": "🦊\u202e\n\r\t\"'\\",
}


@pytest.fixture
def respond(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The hook's entry in this process: whatever it raises fails the test."""
    before = dict(os.environ)

    def run(project: LoopProject, data: bytes) -> str:
        for name in list(os.environ):
            monkeypatch.delenv(name)
        for name, value in project.env().items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(project.root)
        said = main.respond(data, [PLUGINS[project.layout], project.layout])
        if said:
            assert isinstance(json.loads(said), dict)
            assert len(json.loads(said).get("reason", "")) < 10_000
        return said

    yield run
    for name, value in before.items():
        monkeypatch.setenv(name, value)


def outside(project: LoopProject) -> Path:
    place = project.base / "outside.txt"
    if not place.exists():
        place.write_text("precious")
    return place


OTHER_EVENTS = ("SessionStart", "SessionEnd", "UserPromptSubmit", "StopFailure")


@pytest.mark.slow
@pytest.mark.parametrize("event", ["Stop", *OTHER_EVENTS])
def test_any_value_in_any_field_is_harmless(project: ProjectFactory, respond: Any, event: str) -> None:
    found = project("features")
    found.arm(max_iterations=10**6)
    before = outside(found).read_bytes()
    for key in FIELDS:
        for name, value in VALUES.items():
            payload = found.payload(event, **{key: value})
            try:
                respond(found, json.dumps(payload).encode())
            except Exception as error:
                raise AssertionError(f"{key} = {name}") from error
            if found.loop()["state"] != "running" or key == "prompt_id":
                found.edit_loop(state="running", outcome=None, pending="", no_progress=0, attempts={})
    assert found.own.exists()
    assert outside(found).read_bytes() == before
    assert not list(found.base.rglob("ran"))
    left = sorted(path.name for path in found.base.iterdir())
    assert left == ["home of me", "my project (1)", "outside.txt"]


def test_a_session_id_that_is_none_is_not_taken_for_the_owners(features: LoopProject) -> None:
    before = features.digest()
    for name in ("number", "list", "object", "nul", "half a character", "1 MB", "true"):
        assert features.stop(session_id=VALUES[name], transcript_path="/none").silent, name
        assert features.digest() == before, name


def test_an_odd_session_id_owns_its_loop_like_any_other(project: ProjectFactory) -> None:
    for session in ("../../x", "/etc/passwd", "a/b\\c", ".", "..", "%2e", "é🦊", "a b", "-"):
        found = project("features")
        found.session = session
        found.arm(session=session)
        transcript = str(found.base / "t.jsonl")
        assert found.stop(transcript_path=transcript).blocks, session
        assert found.stop(session_id=session + "x", transcript_path=transcript).silent, session
        owned = list(found.state_home.rglob("owned/*"))
        assert len(owned) == 1, session
        assert owned[0].is_file(), session


def test_truncated_payloads_are_silent(features: LoopProject, respond: Any) -> None:
    data = json.dumps(features.payload()).encode()
    before = features.digest()
    for end in range(0, len(data), 7):
        assert respond(features, data[:end]) == "", end
    assert features.digest() == before


STDIN = {
    "empty": b"",
    "binary": bytes(range(256)) * 40,
    "array": b'[{"session_id": "x"}]',
    "number": b"3",
    "text": b'"Stop"',
    "empty object": b"{}",
    "two objects": b'{"a": 1}{"b": 2}',
    "not utf-8": b'{"session_id": "\xff"}',
    "utf-16": '{"session_id": "x"}'.encode("utf-16"),
    "nested": b'{"a":' * 100_000,
    "nested array": b"[" * 200_000,
    "NaN": b'{"stop_hook_active": NaN}',
    "long number": b'{"cwd": ' + b"9" * 6000 + b"}",
    "50 MB that is no JSON": b"x" * (50 * MB),
}


@pytest.mark.usefixtures("as_registered")
def test_odd_stdin_is_silent(features: LoopProject) -> None:
    before = features.digest()
    for name, data in STDIN.items():
        assert features.run(data).silent, name
        assert features.digest() == before, name


@pytest.mark.usefixtures("as_registered")
def test_a_payload_of_50_mb_is_answered(features: LoopProject) -> None:
    assert features.stop(last_assistant_message="x" * (50 * MB)).blocks
    assert (features.run_folder / "loop.json").stat().st_size < 10_000


@pytest.mark.usefixtures("as_registered")
def test_a_payload_over_the_limit_is_silent(features: LoopProject) -> None:
    assert features.stop(last_assistant_message="x" * (65 * MB)).silent


def test_a_byte_order_mark_is_no_harm(features: LoopProject) -> None:
    assert features.run(b"\xef\xbb\xbf" + json.dumps(features.payload()).encode()).blocks


def test_nobody_reading_the_answer_is_no_harm(features: LoopProject) -> None:
    process = features.start(json.dumps(features.payload()).encode())
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    features.finish_quietly(process)
    assert features.loop()["iteration"] == 2


# Transcripts


def bad_transcripts(project: LoopProject) -> dict[str, Path]:
    folder = project.base / "transcripts"
    (folder / "directory.jsonl").mkdir(parents=True)
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "binary.jsonl").write_bytes(os.urandom(5000) + b"\n" + os.urandom(100))
    (folder / "one line.jsonl").write_bytes(b"x" * (9 * MB))
    (folder / "dangling.jsonl").symlink_to(folder / "nowhere")
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    name = project.own.name
    lines = [
        b"", b"null", b"3", b"[]", b'"tool_use"', b'{"type": "assistant"}',
        b'{"type": "assistant", "message": 3}', b'{"type": "assistant", "message": {"content": "tool_use"}}',
        b'{"type": "assistant", "message": {"content": [null, 3, {"type": "tool_use"}, {"type": "text"}]}}',
        b'{"type": "user", "message": {"content": [{"type": "text", "text": null}]}, "timestamp": 3}',
        b'{"type": "system", "content": {"blocked the turn from ending": 1}}',
        b'{"type": "assistant", "message": {"model": "<synthetic>", "content": null}}',
        json.dumps(tool_line("Write", {"file_path": f"a\0b/{name}", "content": "x"})).encode(),
        json.dumps(tool_line("Write", {"file_path": f"\ud800/{name}", "content": "x"})).encode(),
        json.dumps(tool_line("Write", {"file_path": "/x" * 9000 + name, "content": "x"})).encode(),
        json.dumps(tool_line("Bash", {"command": {"x": name}})).encode(),
        json.dumps(tool_line("Bash", {"command": f"> '{name}"}, timestamp=4)).encode(),
    ]  # fmt: skip
    (folder / "broken lines.jsonl").write_bytes(b"\n".join(lines) + b'\n{"type": "assis')
    return {path.name: path for path in folder.iterdir()} | {"none": folder / "none.jsonl"}


def test_an_odd_transcript_does_not_hold_up_the_owner(features: LoopProject) -> None:
    for name, path in bad_transcripts(features).items():
        answer = features.stop(transcript_path=str(path), last_assistant_message=...)
        assert answer.blocks, name
        features.edit_loop(no_progress=0, attempts={})


def test_an_odd_transcript_claims_nothing(any_project: LoopProject) -> None:
    for name, path in bad_transcripts(any_project).items():
        if name != "broken lines.jsonl":
            answer = any_project.stop(transcript_path=str(path), last_assistant_message=...)
            assert answer.silent, name
    assert not any_project.runs()


def test_broken_lines_do_not_hide_the_call_that_wrote_the_state(any_project: LoopProject) -> None:
    any_project.add_lines(bad_transcripts(any_project)["broken lines.jsonl"].read_bytes() + b"\n")
    any_project.write_by_tool(text='{"passes": true}')
    any_project.add_lines(user_line("x"), text_line("y"))
    assert any_project.stop().blocks


def test_a_transcript_that_shrank_is_read_anew(features: LoopProject) -> None:
    features.add_lines(*[text_line("x" * 1000) for _ in range(20)])
    features.turn()
    features.transcript.write_bytes(b"")
    assert features.turn().blocks
    assert features.loop()["no_progress"] == 0
