"""The command `explain`: every rule in order, the decision as the hook would make it, nothing written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import OTHER, SESSION, Project
from unit.domain.cases import each

RULES = [
    "stdin", "subagent", "client", "loop_here", "ownership", "before_execution", "plan_mode", "state_gone",
    "paused_or_ended", "broken_off", "awaiting_approval", "person_waits", "session_still_works",
    "quick_phase",
    "corrupt", "claims", "complete", "nothing_can_run", "limits", "hand_over", "go_on",
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def begun(project: Project) -> Project:
    project.begin()
    return project


def explain(project: Project, payload: Any = None, **options: Any) -> dict[str, Any]:
    """What explain says, after showing that it left every file as it was."""
    event = {"hook_event_name": "Stop", "session_id": SESSION} if payload is None else payload
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    before = project.digest()
    told = json.loads(project.fine("explain", "--json", stdin=data, **options))
    text = project.fine("explain", stdin=data, **options)
    assert project.digest() == before
    assert f"decision: {told['decision']}" in text
    assert [rule["rule"] for rule in told["rules"] if rule["decides"]] == [told["rules"][-1]["rule"]]
    assert isinstance(told, dict)
    return told


def decider(told: dict[str, Any]) -> str:
    return str(told["rules"][-1]["rule"])


def test_explain_says_what_the_hook_then_does(project: Project) -> None:
    project.begin()
    told = explain(project)
    assert [rule["rule"] for rule in told["rules"]] == RULES
    assert (told["decision"], told["task"], told["loop"]) == ("continue", "F1", project.status()["id"])
    answer = project.stop()
    assert answer is not None
    assert (told["reason"], told["systemMessage"]) == (answer["reason"], answer["systemMessage"])


def test_a_payload_can_come_from_a_file(project: Project) -> None:
    project.begin()
    project.write("stop.json", json.dumps({"session_id": SESSION}))
    assert "go_on" in project.fine("explain", "stop.json")
    assert "nowhere.json: No such file" in project.refused("explain", "nowhere.json")


@each("data", [b"", b"{", b"[]", b"{}", b"\xff\x00", b"null"])
def test_what_is_no_event_is_allowed_by_the_first_rule(begun: Project, data: bytes) -> None:
    told = explain(begun, data)
    assert (decider(told), told["decision"]) == ("stdin", "allow")


@each(
    ("payload", "rule"),
    [
        ({"session_id": SESSION, "agent_id": "a"}, "subagent"),
        ({"session_id": SESSION, "hook_event_name": "SubagentStop"}, "subagent"),
        ({"session_id": SESSION, "turn_id": "t"}, "client"),
        ({"session_id": OTHER}, "ownership"),
    ],
)
def test_a_stop_that_is_not_the_loops_is_left_alone(
    begun: Project, payload: dict[str, str], rule: str
) -> None:
    told = explain(begun, payload)
    assert (decider(told), told["decision"]) == (rule, "allow")


def test_without_a_loop_the_third_rule_decides(project: Project) -> None:
    assert decider(explain(project)) == "loop_here"


def test_a_list_that_nobody_owns_is_named(project: Project) -> None:
    project.new()
    told = explain(project)
    assert told["rules"][3]["said"] == "unowned: shop (features)"
    assert decider(told) == "ownership"


def test_a_loop_that_the_transcript_claims_is_explained_without_arming_it(project: Project) -> None:
    folder = project.new()
    transcript = project.folder / "transcript.jsonl"
    prompt = (folder / "RALPH_PROMPT.md").read_text(encoding="utf-8")
    entry = {"type": "user", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"content": prompt}}
    transcript.write_text(json.dumps(entry) + "\n", encoding="utf-8")
    told = explain(project, {"session_id": SESSION, "transcript_path": str(transcript)})
    assert "it would be claimed now" in told["rules"][4]["said"]
    assert told["decision"] == "continue"


def test_an_armed_loop_is_explained_without_binding_it(project: Project) -> None:
    folder = project.new()
    project.fine("start")
    transcript = project.folder / "transcript.jsonl"
    prompt = (folder / "RALPH_PROMPT.md").read_text(encoding="utf-8")
    transcript.write_text(
        json.dumps({"type": "user", "message": {"content": prompt}}) + "\n", encoding="utf-8"
    )
    told = explain(project, {"session_id": SESSION, "transcript_path": str(transcript)})
    assert "it would be bound now" in told["rules"][4]["said"]
    assert told["decision"] == "continue"


def test_a_disabled_plugin_is_said(project: Project) -> None:
    project.spec()
    project.fine("start", "login", "--session", SESSION)
    project.write(".claude/ralph-specum.local.md", "---\nenabled: false\n---\n")
    assert decider(explain(project)) == "enabled"


def test_a_paused_loop_is_left_by_its_rule(project: Project) -> None:
    project.begin()
    project.fine("pause")
    told = explain(project)
    assert (decider(told), told["decision"]) == ("paused_or_ended", "allow")


def test_a_list_that_would_be_restored_is_said_and_not_restored(project: Project) -> None:
    folder = project.begin()
    project.stop()
    (folder / "feature_list.json").write_text("{", encoding="utf-8")
    told = explain(project)
    assert told["rules"][-1] == {"rule": "corrupt", "said": "restore the file first", "decides": True}


def test_a_task_past_its_attempts_is_set_aside_only_in_thought(project: Project) -> None:
    project.begin()
    for file in [*project.root.rglob("loop.json"), *project.home.rglob("loop.json")]:
        state = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**state, "attempts": {"F1": 5}}), encoding="utf-8")
    told = explain(project)
    assert (told["decision"], told["task"]) == ("continue", "F2")
    assert "Task F1 is set aside" in told["reason"]
    assert [task["state"] for task in project.status()["tasks"]] == ["open", "open", "open"]


def test_the_registration_that_serves_the_loop_is_the_one_explained(project: Project) -> None:
    project.begin()
    project.stop(prompt_id="p1")
    told = explain(project, {"session_id": SESSION, "prompt_id": "p1"})
    assert told["decision"] == "continue"


def test_another_event_is_refused(project: Project) -> None:
    told = project.refused("explain", stdin=b'{"hook_event_name": "SessionStart"}')
    assert "this is a SessionStart event; explain takes a Stop event." in told
