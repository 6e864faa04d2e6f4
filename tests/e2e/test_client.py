"""The real client against the scripted model: continuations, interrupts, API errors, compaction."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from e2e.client import COMPACTION_ENV, ClientHome, filling_context, run_print
from e2e.conftest import ProjectFactory
from e2e.recorder import Recorder
from e2e.terminal import Terminal
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import Reply, call, fail, text

pytestmark = pytest.mark.client


def bash(command: str) -> Reply:
    return call("Bash", command=command, description="a step of the test")


def write(path: Path, content: str = "x") -> Reply:
    return call("Write", file_path=str(path), content=content)


def lines_saying(transcript: list[dict[str, Any]], fragment: str) -> list[dict[str, Any]]:
    messages = [line for line in transcript if line.get("type") in ("user", "assistant")]
    return [line for line in messages if fragment in str(line["message"]["content"])]


def test_print_run_continues_as_often_as_the_hook_blocks_and_gets_nothing_of_the_callers_environment(
    client_home: ClientHome, project: ProjectFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_OF_THE_CALLER", "1")
    root = project({"README.md": "start"})
    hook = Recorder(tmp_path / "hook.jsonl", blocks=3)
    turns = [(write(root / "0"), text("turn 0")), (bash("touch 1"), text("turn 1"))]
    turns += [(write(root / "2"), text("turn 2")), (bash("touch 3"), text("turn 3"))]
    with ModelServer([reply for turn in turns for reply in turn]) as server:
        run = run_print(client_home, root, "begin", server, settings=hook.settings)
    assert (run.exit_code, run.result["is_error"], run.result["result"]) == (0, False, "turn 3")
    assert [stop["last_assistant_message"] for stop in hook.noted("Stop")] == [f"turn {n}" for n in range(4)]
    assert all((root / name).exists() for name in "0123")
    for number, request in enumerate(server.main_requests[2::2], start=1):
        assert any(f"REASON {number} of 3" in received for received in request.new_texts)
    for stop in hook.noted("Stop"):
        assert "ANTHROPIC_BASE_URL" in stop["env"]
        assert "CLAUDE_CODE_OF_THE_CALLER" not in stop["env"]


def test_accept_edits_with_an_allowed_tool_needs_no_person_and_a_subagent_has_a_script_of_its_own(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    root = project({})
    ask = call("Agent", description="ask", prompt="SUBTASK", subagent_type="general-purpose")
    script = [write(root / "edited"), bash('python3 -c \'open("ran", "w")\''), ask]
    with ModelServer(script, subagents=[text("from below")], default="from above") as server:
        allowed = ("--allowedTools", "Bash")
        run = run_print(client_home, root, "begin", server, permission_mode="acceptEdits", args=allowed)
    assert not run.result["permission_denials"]
    assert (root / "edited").exists()
    assert (root / "ran").exists()
    (below,) = [request for request in server.requests if request.kind == "subagent"]
    assert below.mentions("SUBTASK")
    assert run.result["result"] == "from above"


def test_rate_limit_ends_the_run_as_an_error(client_home: ClientHome, project: ProjectFactory) -> None:
    with ModelServer([fail(429, "slow down")]) as server:
        run = run_print(client_home, project({}), "begin", server, env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    assert run.exit_code == 1
    assert run.result["is_error"]
    assert (run.result["terminal_reason"], run.result["api_error_status"]) == ("api_error", 429)
    assert "slow down" in run.result["result"]


def test_rate_limit_is_retried_after_the_time_it_names(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    script = [fail(429, retry_after_s=1), text("recovered")]
    with ModelServer(script) as server:
        run = run_print(client_home, project({}), "begin", server, env={"CLAUDE_CODE_MAX_RETRIES": "1"})
    assert run.result["result"] == "recovered"
    assert len(run.of_type("system", "api_retry")) == 1


def test_compaction_at_a_stop_and_at_a_tool_call_in_the_middle_of_a_loop(
    client_home: ClientHome, project: ProjectFactory, tmp_path: Path
) -> None:
    hook = Recorder(tmp_path / "hook.jsonl", blocks=5, events=("Stop", "SessionStart", "PreCompact"))
    script = [
        text("turn 0"), bash("true"), filling_context(text("turn 1")), text("turn 2"), bash("true"),
        text("turn 3"), filling_context(bash("true")), text("turn 4"), text("turn 5"),
    ]  # fmt: skip
    with ModelServer(script, summary="SUMMED UP") as server:
        run = run_print(client_home, project({}), "begin", server, settings=hook.settings, env=COMPACTION_ENV)
    assert run.result["result"] == "turn 5"
    assert [start["source"] for start in hook.noted("SessionStart")] == ["startup", "compact", "compact"]
    assert [compaction["trigger"] for compaction in hook.noted("PreCompact")] == ["auto", "auto"]
    assert len(hook.noted("Stop")) == 6
    kinds = [request.kind for request in server.requests if request.kind in ("main", "compaction")]
    assert [place for place, kind in enumerate(kinds) if kind == "compaction"] == [3, 8]
    for request in (server.main_requests[3], server.main_requests[-1]):
        assert request.mentions("SUMMED UP")


def test_terminal_runs_prompts_to_their_ends_and_escape_interrupts_one(
    client_home: ClientHome, project: ProjectFactory, tmp_path: Path
) -> None:
    root, session_id = project({}), str(uuid.uuid4())
    hook = Recorder(tmp_path / "hook.jsonl", blocks=1)
    script = [
        write(root / "a"), text("turn 0"), bash("touch b"), text("all is done"),
        text("thinking hard").held_midway(threading.Event()), text("back again"), text("second answer"),
    ]  # fmt: skip
    with (
        ModelServer(script, side="by the way") as server,
        Terminal(client_home, root, server, settings=hook.settings, session_id=session_id) as terminal,
    ):
        terminal.submit("begin")
        terminal.wait_for("all is done")
        assert "REASON 1 of 1" in terminal.screen_text()
        assert (root / "a").exists()
        assert (root / "b").exists()
        terminal.wait_for(lambda _: len(hook.noted("Stop")) == 2)

        terminal.submit("and then")
        terminal.wait_for("thinking hard")
        terminal.press("esc")
        terminal.wait_for("Interrupted")
        assert len(hook.noted("Stop")) == 2
        terminal.submit("go on")
        terminal.wait_for("back again")

        terminal.submit("/btw what is this?")
        terminal.wait_for("by the way")
        terminal.press("esc")
        terminal.submit("after the side question, which left the script alone")
        terminal.wait_for("second answer")
    transcript = client_home.transcript(root, session_id)
    assert lines_saying(transcript, "[Request interrupted by user]")
    assert lines_saying(transcript, "back again")
