"""The scripted agent against tiny hooks: it goes on, stops and gives up exactly as the client does."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fakes.patience import SOON_S, eventually
from ralphloop.lab.agent import (
    ALLOWED,
    CAPPED,
    PREVENTED,
    RAN_ON,
    ClientSetup,
    Event,
    HookAnswered,
    RunEnded,
    Said,
    ScriptedAgent,
    ToolUsed,
    TurnBegan,
)
from ralphloop.lab.step import Edit, Pass, Say, Shell, Step, Write, check_box, claim, claim_all
from unit.domain.cases import each

BLOCK = '{"decision":"block","reason":"go on","systemMessage":"one line"}'
MakeAgent = Callable[..., ScriptedAgent]


def an_agent(
    folder: Path, answer: str = "", *, on_event: Callable[[Event], None] | None = None, **setup: Any
) -> ScriptedAgent:
    """Its hook keeps every payload and environment, and runs `answer` for a Stop event."""
    project, home = folder / "project", folder / "home"
    project.mkdir()
    home.mkdir()
    keep = 'payload=$(cat); printf "%s\\n" "$payload" >>../payloads; env >../hook_env'
    hook = f'{keep}; case $payload in *\'"hook_event_name": "Stop"\'*) {answer or ":"} ;; esac'
    return ScriptedAgent(ClientSetup(project, home, hook, **setup), on_event=on_event)


@pytest.fixture
def make_agent(tmp_path: Path) -> MakeAgent:
    return partial(an_agent, tmp_path)


def blocks(times: int) -> str:
    """Shell text that blocks so many stops and allows the next."""
    return f"echo x >>../count; [ $(wc -l <../count) -gt {times} ] || echo '{BLOCK}'"


def payloads(agent: ScriptedAgent, event_name: str = "Stop") -> list[dict[str, Any]]:
    lines = (agent.setup.project.parent / "payloads").read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if entry["hook_event_name"] == event_name]


def transcript(agent: ScriptedAgent) -> list[dict[str, Any]]:
    return [json.loads(line) for line in agent.log.path.read_text().splitlines()]


def test_goes_on_while_blocked_and_ends_when_allowed(make_agent: MakeAgent) -> None:
    agent = make_agent(blocks(3))
    run = agent.play("do it", [[Say(f"turn {n}")] for n in range(1, 9)])
    assert (run.ending, run.turns, run.reasons) == (ALLOWED, 4, ("go on",) * 3)
    assert [p["last_assistant_message"] for p in payloads(agent)] == ["turn 1", "turn 2", "turn 3", "turn 4"]


def test_stop_payload_is_the_clients(make_agent: MakeAgent) -> None:
    agent = make_agent(blocks(2))
    agent.ask("first", [])
    (agent.setup.project.parent / "count").unlink()
    agent.ask("second", [])
    sent = payloads(agent)
    assert set(sent[0]) == {
        "session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "effort", "hook_event_name",
        "stop_hook_active", "last_assistant_message", "background_tasks", "session_crons",
    }  # fmt: skip
    assert [p["stop_hook_active"] for p in sent] == [False, True, True] * 2
    assert len({p["prompt_id"] for p in sent[:3]}) == len({p["prompt_id"] for p in sent[3:]}) == 1
    assert sent[0]["prompt_id"] != sent[3]["prompt_id"]
    assert {p["session_id"] for p in sent} == {agent.session_id}
    assert sent[0]["transcript_path"] == str(agent.log.path)


def test_session_events_surround_the_prompt(make_agent: MakeAgent) -> None:
    agent = make_agent()
    agent.play("do it", [[Say("done")]])
    lines = (agent.setup.project.parent / "payloads").read_text().splitlines()
    names = [json.loads(line)["hook_event_name"] for line in lines]
    assert names == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    assert payloads(agent, "SessionStart")[0]["source"] == "startup"
    assert payloads(agent, "UserPromptSubmit")[0]["prompt"] == "do it"
    assert payloads(agent, "SessionEnd")[0]["reason"] == "other"


def test_environment_is_the_clients_and_nothing_of_the_callers(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "of the caller")
    monkeypatch.setenv("RALPH_LOOP_DIR", "/elsewhere")
    agent = make_agent(env={"CLAUDE_PLUGIN_ROOT": "/plugin"})
    agent.play("go", [[Shell("env >../tool_env")]])
    hook, tool = (
        dict(line.split("=", 1) for line in (agent.setup.project.parent / name).read_text().splitlines())
        for name in ("hook_env", "tool_env")
    )
    assert hook["CLAUDE_PROJECT_DIR"] == str(agent.setup.project)
    assert hook["CLAUDE_PLUGIN_ROOT"] == "/plugin"
    assert {env["CLAUDE_CODE_SESSION_ID"] for env in (hook, tool)} == {agent.session_id}
    assert {env["CLAUDECODE"] for env in (hook, tool)} == {"1"}
    assert "CLAUDE_PROJECT_DIR" not in tool
    assert not {"RALPH_LOOP_DIR", "PYTEST_CURRENT_TEST", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"} & (
        hook.keys() | tool.keys()
    )


def test_ninth_plain_reply_in_a_row_hits_the_cap(make_agent: MakeAgent) -> None:
    agent = make_agent(blocks(100))
    run = agent.ask("go", [])
    assert (run.ending, run.turns) == (CAPPED, 9)
    last = transcript(agent)[-1]
    assert last["subtype"] == "informational"
    assert "blocked the turn from ending 9 consecutive times" in last["content"]


def test_tool_call_between_stops_opens_the_cap_again(make_agent: MakeAgent) -> None:
    agent = make_agent(blocks(100))
    run = agent.ask("go", [[Shell(":"), Say("worked")]] * 12)
    assert (run.ending, run.turns) == (CAPPED, 20)


@pytest.mark.parametrize(("cap", "ending", "turns"), [(2, CAPPED, 3), (0, RAN_ON, 30)])
def test_cap_can_be_set_and_turned_off(make_agent: MakeAgent, cap: int, ending: str, turns: int) -> None:
    agent = make_agent(blocks(100), block_cap=cap, most_turns=30)
    run = agent.ask("go", [])
    assert (run.ending, run.turns) == (ending, turns)
    assert f"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP={cap}\n" in (agent.setup.project.parent / "hook_env").read_text()


@each(
    "answer",
    [
        "",
        "echo '{}'",
        "echo plain text",
        f"echo '[{BLOCK}]'",
        f"echo '{BLOCK[:-1]}'",
        f"echo a log line; echo '{BLOCK}'",
        f"echo '{BLOCK}'; echo a log line",
        f"echo '{BLOCK}'; echo '{BLOCK}'",
        "printf '\\377\\376\\000'",
        """echo '{"decision":"approve"}'""",
        """echo '{"decision":null,"reason":"go on"}'""",
        """echo '{"decision":"allow","reason":"go on"}'""",
        """echo '{"decision":"block","reason":7}'""",
        """echo '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"go on"}}'""",
        """echo '{"async":true,"decision":"block","reason":"go on"}'""",
        "echo broken >&2; exit 1",
        "no-such-command",
        f"echo '{BLOCK}'; sleep 40 & exit 0",
    ],
)
def test_anything_but_one_good_object_allows_the_stop(tmp_path: Path, answer: str) -> None:
    begun = time.monotonic()
    run = an_agent(tmp_path, answer).ask("go", [[Say("done")]])
    assert (run.ending, run.turns) == (ALLOWED, 1)
    assert time.monotonic() - begun < SOON_S


def test_a_hook_that_hangs_is_ended_and_allows_the_stop(make_agent: MakeAgent) -> None:
    begun = time.monotonic()
    run = make_agent("sleep 300", hook_timeout_s=1.0).ask("go", [[Say("done")]])
    assert (run.ending, run.turns) == (ALLOWED, 1)
    assert time.monotonic() - begun < SOON_S


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (f"printf '\\n  %s \\n' '{BLOCK}'; echo noise >&2", "go on"),
        (f"echo '{BLOCK}'; exit 1", "go on"),
        (f"echo '{BLOCK}'; echo unheard >&2; exit 2", "go on"),
        ("""echo '{"decision":"block"}'""", "Blocked by hook"),
        ("""echo '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"go on"}}'""", "go on"),
    ],
)
def test_one_good_object_continues(make_agent: MakeAgent, answer: str, reason: str) -> None:
    run = make_agent(f"[ -e ../told ] || {{ touch ../told; {answer}; }}").ask("go", [])
    assert (run.ending, run.reasons) == (ALLOWED, (reason,))


def test_exit_two_continues_with_stderr(make_agent: MakeAgent) -> None:
    run = make_agent("[ -e ../told ] || { touch ../told; echo why >&2; exit 2; }").ask("go", [])
    assert run.reasons[0].endswith("]: why")


def test_continue_false_beats_a_block(make_agent: MakeAgent) -> None:
    run = make_agent("""echo '{"continue":false,"decision":"block","reason":"go on"}'""").ask("go", [])
    assert (run.ending, run.turns) == (PREVENTED, 1)


def test_script_as_a_function_reads_what_the_agent_was_told(make_agent: MakeAgent) -> None:
    heard: list[tuple[str, int]] = []

    def script(told: str, turn: int) -> list[Say]:
        heard.append((told, turn))
        return [Say("ok")]

    make_agent(blocks(2)).ask("the prompt", script)
    assert heard == [("the prompt", 1), ("go on", 2), ("go on", 3)]


def test_tools_are_real_and_their_failures_are_results(make_agent: MakeAgent) -> None:
    events: list[Event] = []
    agent = make_agent(on_event=events.append)
    turn: list[Step] = [
        Write("notes/a.txt", "one two"),
        Edit("notes/a.txt", "two", "three"),
        Edit("notes/a.txt", "nowhere", "x"),
        Shell("cat notes/a.txt; exit 4"),
        Say("done"),
    ]
    agent.ask("go", [turn])
    assert (agent.setup.project / "notes/a.txt").read_text() == "one three"
    results = [event.result for event in events if isinstance(event, ToolUsed)]
    assert [(r.tool, r.failed) for r in results] == [
        ("Write", False), ("Edit", False), ("Edit", True), ("Bash", True),
    ]  # fmt: skip
    assert results[3].output == "one three"


def test_text_before_a_tool_call_is_not_the_last_message(make_agent: MakeAgent) -> None:
    agent = make_agent()
    agent.ask("go", [[Say("before"), Shell(":")]])
    assert payloads(agent)[0]["last_assistant_message"] == ""


def test_claims_change_the_task_files_as_an_agent_would(make_agent: MakeAgent) -> None:
    agent = make_agent()
    files = {
        "list.json": '{"features": [{"id": 1, "passes": false}, {"id": "T2"}], "extra": "é"}',
        "tasks.md": "- [ ] 1.1 one\n- [ ] 1.2 two\n",
    }
    for name, text in files.items():
        (agent.setup.project / name).write_text(text, encoding="utf-8")
    agent.ask(
        "go", [[Pass("list.json", "1"), Pass("list.json", "T9"), check_box("tasks.md", "1.2"), claim_all()]]
    )
    listed = json.loads((agent.setup.project / "list.json").read_text(encoding="utf-8"))
    assert listed == {"features": [{"id": 1, "passes": True}, {"id": "T2"}], "extra": "é"}
    assert (agent.setup.project / "tasks.md").read_text() == "- [ ] 1.1 one\n- [x] 1.2 two\n"
    assert payloads(agent)[0]["last_assistant_message"].splitlines()[-1] == "ALL_TASKS_COMPLETE"
    assert claim("a b").command == "ralphloop done 'a b'"


def test_transcript_has_the_clients_shape(make_agent: MakeAgent) -> None:
    agent = make_agent(blocks(1))
    agent.ask("do it", [[Shell("echo hi"), Say("first")], [Say("second")]])
    agent.interrupt()
    lines = transcript(agent)
    assert agent.log.path.parent.name.startswith("-")
    assert (
        agent.log.path
        == agent.setup.home / ".claude/projects" / agent.log.path.parent.name / f"{agent.session_id}.jsonl"
    )
    assert [line["type"] for line in lines] == [
        "user", "assistant", "user", "assistant", "system", "user", "assistant", "system", "user",
    ]  # fmt: skip
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert lines[1]["message"]["content"][0]["input"] == {"command": "echo hi"}
    assert lines[2]["message"]["content"][0]["content"] == "hi\n"
    assert lines[4]["subtype"] == "stop_hook_summary"
    assert lines[5]["isMeta"] is True
    assert lines[5]["message"]["content"] == "Stop hook feedback:\ngo on"
    assert lines[8]["message"]["content"][0]["text"] == "[Request interrupted by user]"
    assert all(line["timestamp"].endswith("Z") and line["sessionId"] == agent.session_id for line in lines)


def test_events_arrive_as_they_happen(make_agent: MakeAgent) -> None:
    seen: list[str] = []

    def on_event(event: Event) -> None:
        if isinstance(event, HookAnswered):
            seen.append(f"{event.event_name} {event.answer.verdict}")
        elif isinstance(event, TurnBegan):
            seen.append(f"turn {event.number}: {event.told}")
        elif isinstance(event, Said):
            seen.append(event.text)
        elif isinstance(event, RunEnded):
            seen.append(f"{event.ending} after {event.turns}")

    make_agent(blocks(1), on_event=on_event).play("go", [[Say("a")], [Say("b")]])
    assert seen == [
        "SessionStart allow", "UserPromptSubmit allow", "turn 1: go", "a", "Stop continue",
        "turn 2: go on", "b", "Stop allow", "allowed after 2", "SessionEnd allow",
    ]  # fmt: skip


def test_timed_out_hook_is_killed_with_its_children(make_agent: MakeAgent) -> None:
    agent = make_agent("sh -c 'echo $$ >../child; sleep 60'", hook_timeout_s=2.0)
    assert agent.ask("go", []).answers[0].output.exit_code is None
    child = int((agent.setup.project.parent / "child").read_text())
    eventually(lambda: not _lives(child), what="the child lives on")


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
