"""What a session's transcript shows of its beginning, also while the client is still writing it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ralphloop.engine import claim, find
from ralphloop.engine.claude_past import has_reply
from ralphloop.hook import wire

SESSION = "11111111-1111-4111-8111-111111111111"
REPLY = 'The state is "written", ünï'


def lines(*entries: dict[str, Any]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def said(*content: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "assistant",
        "timestamp": "2026-11-16T03:00:00.000Z",
        "message": {"content": list(content)},
    }


@pytest.mark.parametrize(
    ("text", "reply", "known"),
    [
        (lines(said({"type": "text", "text": REPLY})), REPLY, True),
        (lines(said({"type": "text", "text": "something else"})), REPLY, False),
        (
            lines(said({"type": "text", "text": REPLY}), said({"type": "text", "text": "Later."})),
            REPLY,
            False,
        ),
        (lines(said({"type": "text", "text": REPLY}), said({"type": "tool_use", "input": {}})), REPLY, False),
        (lines(said({"type": "text", "text": REPLY}))[:-1], REPLY, False),
        ("", REPLY, False),
        ("", "", True),
        ("", None, True),
        ("", "ünï", True),
        ("", '"quoted"', True),
    ],
)
def test_transcript_has_come_as_far_as_the_reply(
    tmp_path: Path, text: str, reply: str | None, known: bool
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    assert has_reply(str(path), reply) is known


def test_transcript_may_still_come(tmp_path: Path) -> None:
    """Of a print run's first turn the file was missing at the stop in 4 of 4 runs on an idle machine."""
    assert not has_reply(str(tmp_path / "none.jsonl"), REPLY)


@pytest.mark.parametrize("before", [None, ""])
def test_loop_is_claimed_though_its_first_lines_come_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    """An instant model stops before the client has written down what it did (fact 49)."""
    root, path = tmp_path / "project", tmp_path / "t.jsonl"
    state = root / "specs/demo/.ralph-state.json"
    state.parent.mkdir(parents=True)
    state.write_text('{"phase": "execution", "totalTasks": 2, "taskIndex": 0}')
    (root / "specs/.current-spec").write_text("demo\n")
    if before is not None:
        path.write_text(before)
    wrote = {"type": "tool_use", "input": {"file_path": str(state), "content": "{}"}}
    waits: list[float] = []

    def late(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            path.write_text(lines(said(wrote), said({"type": "text", "text": REPLY})))

    monkeypatch.setattr(time, "sleep", late)
    payload = {"session_id": SESSION, "transcript_path": str(path), "last_assistant_message": REPLY}
    call = find.Call(registration="x", layouts=("specum",), env={"HOME": str(tmp_path)}, cwd=str(root))
    loop = claim.for_stop(wire.stop_event(payload, cwd=str(root)), call)
    assert loop is not None
    assert loop.record.session == SESSION
    assert len(waits) == 3
