"""Reports from the field, 35 and 76: budgets of tokens and dollars, and tools that the client denies."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OWNER, SEQUENTIAL, LoopProject, task_id
from hook.lines import assistant_line, now_iso, text_line
from hook.proven import cli


@pytest.fixture
def features(project: ProjectFactory) -> LoopProject:
    found = project("features")
    found.arm()
    return found


def spend(found: LoopProject, tokens: int, *, message: str = "", **fields: Any) -> dict[str, Any]:
    """A line of the transcript that says what one message used."""
    line = assistant_line({"type": "text", "text": "…"}, **fields)
    line["message"]["id"] = message or f"msg_{uuid.uuid4().hex}"
    line["message"]["usage"] = {"input_tokens": tokens - 10, "output_tokens": 10}
    return line


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f35_a_spent_budget_of_tokens_ends_the_loop_and_names_what_is_open(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    found.add_lines(spend(found, 900_000, timestamp=now_iso(-60)))
    found.arm(limits={"tokens": 10_000})
    found.add_lines(*[spend(found, 6000, message="msg_1")] * 3)
    assert found.turn().blocks
    found.add_lines(spend(found, 6000, message="msg_1"))
    assert found.turn().blocks
    agent = found.transcript.with_suffix("") / "subagents" / "agent-1.jsonl"
    found.add_lines(spend(found, 4000, isSidechain=True), path=agent)
    answer = found.turn()
    assert not answer.blocks
    ids = ", ".join(task_id(layout, number) for number in (1, 2, 3))
    assert f"of 10000 tokens used; open: {ids}." in answer.message
    assert (found.loop()["state"], found.loop()["outcome"]) == ("ended", "budget")
    assert found.turn().silent


def test_f35_a_spent_budget_of_dollars_ends_the_loop(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(limits={"cost_usd": 0.01})
    assert found.turn().blocks
    found.add_lines(spend(found, 5_000_000))
    answer = found.turn()
    assert "of $0.01 spent; open: F1, F2, F3." in answer.message
    assert found.loop()["outcome"] == "budget"


def test_f35_of_a_model_without_a_price_the_tokens_count(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(limits={"cost_usd": 0.01, "tokens": 9_000_000})
    found.add_lines(spend(found, 5_000_000, model="home-made-9"))
    assert "dollars unknown for home-made-9" in found.turn().message
    assert "dollars unknown" not in found.turn().message
    found.add_lines(spend(found, 5_000_000, model="home-made-9"))
    answer = found.turn()
    assert "of 9000000 tokens used" in answer.message
    assert found.loop()["outcome"] == "budget"


def test_f35_a_task_that_spent_its_share_is_set_aside(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(limits={"task_tokens": 5000})
    found.add_lines(spend(found, 6000))
    answer = found.turn()
    assert answer.blocks
    assert "Task F1 is set aside: task F1 used" in answer.message
    assert "next F2" in answer.message
    found.add_lines(spend(found, 1000))
    assert "next F2" in found.turn().message


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_f35_in_a_sequence_a_task_that_spent_its_share_ends_the_loop(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    found.arm(limits={"task_cost_usd": 0.01})
    found.add_lines(spend(found, 5_000_000))
    answer = found.turn()
    assert not answer.blocks
    assert "task 1.1 cost $" in answer.message
    assert found.loop()["outcome"] == "budget"


def test_f35_a_budget_that_is_nearly_spent_is_told_once(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(limits={"tokens": 10_000})
    assert "80 %" not in found.turn().message
    found.add_lines(spend(found, 8000))
    assert "80 % of the tokens" in found.turn().message
    assert "80 %" not in found.turn().message


def test_f35_only_a_higher_budget_of_the_persons_goes_on(project: ProjectFactory) -> None:
    found = project("features")
    found.arm(limits={"tokens": 5000})
    found.add_lines(spend(found, 6000))
    assert not found.turn().blocks
    agent = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}
    assert cli(found, "resume", "--max-tokens", "20k", env=agent).returncode == 1
    assert cli(found, "resume", "--max-tokens", "20k").returncode == 0
    found.new_prompt()
    assert found.turn().blocks
    found.add_lines(spend(found, 15_000))
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "budget"


def test_f35_budgets_are_set_at_the_start(project: ProjectFactory) -> None:
    found = project("features")
    words = ("--max-tokens", "2M", "--max-cost=2.50", "--max-task-tokens=500k", "--max-task-cost", "$1")
    assert cli(found, "start", "demo", *words).returncode == 0
    limits = found.the_loop().record.limits
    assert (limits.tokens, limits.cost_usd) == (2_000_000, 2.5)
    assert (limits.task_tokens, limits.task_cost_usd) == (500_000, 1.0)


def denied_call(found: LoopProject, tool: str, given: dict[str, Any]) -> None:
    """A call that the client denied for want of a permission, as 2.1.325 writes it."""
    call, said = f"toolu_{uuid.uuid4().hex}", "This command requires approval"
    block = {"type": "tool_use", "id": call, "name": tool, "input": given}
    result = {"type": "tool_result", "content": said, "is_error": True, "tool_use_id": call}
    decision = {"decision": "reject", "source": "config", "reasonCode": "bashMiss:no-rule-match"}
    entry = {"type": "user", "message": {"role": "user", "content": [result]}, "timestamp": now_iso(),
             "cwd": str(found.root), "toolDenialKind": "user-rejected",
             "permissionDecision": decision}  # fmt: skip
    for line in (assistant_line(block), entry):
        found.add_lines(json.dumps(line, separators=(",", ":")).encode() + b"\n")


def denied_turn(found: LoopProject, tool: str = "Bash", **given: Any) -> Any:
    denied_call(found, tool, given or {"command": "npm test -- --all"})
    said = f"It was denied: {uuid.uuid4()}."
    found.add_lines(text_line(said))
    return found.stop(last_assistant_message=said)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f76_a_tool_that_is_denied_three_times_needs_the_person(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.arm()
    assert denied_turn(found).blocks
    assert denied_turn(found).blocks
    answer = denied_turn(found)
    assert not answer.blocks
    assert "the client denied Bash 3 times" in answer.message
    assert "Bash(npm test:*)" in answer.message
    assert (found.loop()["state"], found.loop()["outcome"]) == ("paused", "needs_input")
    found.new_prompt()
    assert found.turn().blocks


def test_a_claim_denied_behind_another_command_is_told_to_stand_alone(features: LoopProject) -> None:
    line = {"command": "make && ralphloop done F1"}
    for _ in range(2):
        assert " done F1`, alone on its line (or" in denied_turn(features, **line).reason
    answer = denied_turn(features, **line)
    assert (
        "Bash(make:*), Bash(ralphloop done:*) (alone on its line, a command of ralphloop's needs none)"
        in (answer.message)
    )


def test_f76_a_tool_that_works_in_between_starts_the_count_anew(features: LoopProject) -> None:
    for _ in range(2):
        assert denied_turn(features).blocks
    call = {"type": "tool_use", "id": "toolu_fine", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "content": "a", "is_error": False, "tool_use_id": "toolu_fine"}
    fine = {"type": "user", "message": {"role": "user", "content": [result]}, "timestamp": now_iso()}
    features.add_lines(assistant_line(call), fine)
    assert features.mute_turn().blocks
    for _ in range(2):
        assert denied_turn(features).blocks
    assert not denied_turn(features).blocks


def test_f76_denials_of_different_tools_do_not_add_up(features: LoopProject) -> None:
    assert denied_turn(features).blocks
    assert denied_turn(features, "WebSearch", query="x").blocks
    assert denied_turn(features, "WebFetch", url="https://example.com/a").blocks
    assert denied_turn(features, "WebSearch", query="y").blocks
