"""The agent is not the person: what it may not do from its tools, and what runs where nobody was asked."""

from __future__ import annotations

import itertools

import pytest

from hook.attack import checked_files, commands_run, leaving, mark, outcome
from hook.conftest import ProjectFactory
from hook.harness import OTHER, SEQUENTIAL, LoopProject
from hook.proven import cli
from ralphloop.agents.registry import agent_tools
from ralphloop.proof import protect

INSIDE = {"CLAUDECODE": "1", "AI_AGENT": "claude-code_2-1-325_agent"}
# what an agent might type into its shell to get on, all of it the person's
SHORT_WAYS = (
    ("approve",),
    ("approve", "--yes"),
    ("approve", "--yes", "--json"),
    ("accept", "F1"),
    ("skip", "F1"),
    ("resume", "--max-iterations", "999"),
    ("resume", "--max-iterations", "0", "--i-know"),
    ("resume", "--max-time", "100h"),
    ("resume", "--max-attempts", "50"),
    ("resume", "--max-no-progress", "50"),
    ("resume", "--max-cost", "500"),
    ("resume", "--max-tokens", "900M"),
    ("resume", "--max-task-cost", "500"),
    ("resume", "--max-task-tokens", "900M"),
    ("resume", "--max-time", "1h", "--max-cost", "500"),
)
BUDGET = {"cost_usd": 5.0, "tokens": 1000, "task_cost_usd": 1.0, "task_tokens": 100}


@pytest.fixture
def unapproved(project: ProjectFactory) -> LoopProject:
    found = project("features")
    found.write(checked_files("features", leaving(mark(found))))
    protect.pin(found.arm(approve=False, limits=BUDGET), str(found.root))
    return found


def is_refused(found: LoopProject, *words: str, env: dict[str, str]) -> str:
    """Exit code 1, one line, and not a byte written."""
    before = found.digest()
    done = cli(found, *words, env=env)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("ralphloop: "), done
    assert done.stderr.count("\n") == 1, done
    assert found.digest() == before, done
    assert not mark(found).exists(), done
    return done.stderr


def test_the_agents_short_ways_are_refused(unapproved: LoopProject) -> None:
    for words in SHORT_WAYS:
        told = is_refused(unapproved, *words, env=INSIDE)
        assert "the person's to decide, and this runs inside Claude Code" in told, words


def test_every_client_is_known_by_its_variable(unapproved: LoopProject) -> None:
    for variable, client in agent_tools().items():
        told = is_refused(unapproved, "approve", "--yes", env={variable: "1"})
        assert f"this runs inside {client}" in told, variable


def test_a_start_by_the_agent_approves_nothing(project: ProjectFactory) -> None:
    found = project("features")
    found.write(checked_files("features", leaving(mark(found))))
    before = found.digest()
    starts = [("start", "--yes"), ("start",), ("start", "demo", "--yes", "--json")]
    for variable, words in itertools.product(["CLAUDECODE", "AI_AGENT", "GEMINI_CLI"], starts):
        done = cli(found, *words, env={variable: "1"})
        assert done.returncode == 1, (variable, words)
        assert done.stderr.count("\n") == 1, (variable, done.stderr)
        assert found.digest() == before, (variable, words)
        assert not found.runs()


def test_a_start_by_the_agent_without_approval_runs_nothing(project: ProjectFactory) -> None:
    found = project("features")
    found.write(checked_files("features", leaving(mark(found))))
    done = cli(found, "start", "--unapproved", env={**INSIDE, "CLAUDE_CODE_SESSION_ID": found.session})
    assert done.returncode == 0, done
    assert "! 1 check is not approved and does not run" in done.stdout
    found.close(1)
    assert "these checks need your approval" in found.turn().message
    assert outcome(found) == "needs_approval"
    assert not mark(found).exists()


@pytest.mark.parametrize("words", [("done", "F1"), ("verify", "F1"), ("verify", "--all")])
def test_the_agents_own_claim_does_not_run_an_unapproved_check(
    unapproved: LoopProject, words: tuple[str, ...]
) -> None:
    cli(unapproved, *words, env={**INSIDE, "CLAUDE_CODE_SESSION_ID": unapproved.session})
    assert not mark(unapproved).exists()
    assert commands_run(unapproved) == []


def test_looking_at_what_waits_is_not_the_persons_alone(unapproved: LoopProject) -> None:
    before = unapproved.digest()
    done = cli(unapproved, "approve", "--show", env=INSIDE)
    assert done.returncode == 0
    assert f"$ {leaving(mark(unapproved))}" in done.stdout
    assert unapproved.digest() == before


def test_the_agent_may_lower_a_limit(unapproved: LoopProject) -> None:
    done = cli(unapproved, "resume", "--max-iterations", "9", "--max-cost", "2.50", env=INSIDE)
    assert done.returncode == 0, done
    limits = unapproved.the_loop().record.limits
    assert (limits.iterations, limits.cost_usd) == (9, 2.5)


# Layouts whose documents know no approval


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_spec_with_unapproved_checks_goes_on_unverified_and_completes(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    found.write(checked_files(layout, leaving(mark(found)), leaving(mark(found), "more")))
    found.arm(approve=False)
    for number in (1, 2):
        found.close(number)
        assert found.turn().blocks
    found.close(3)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"
    states = {name: facts["state"] for name, facts in found.the_loop().load_ledger().tasks.items()}
    assert states == {"1.1": "unverified", "1.2": "unverified", "1.3": "unverified"}
    assert not mark(found).exists()
    assert commands_run(found) == []


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_of_a_spec_only_the_approved_checks_run(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.write(checked_files(layout, "true"))
    found.approve()
    found.write(checked_files(layout, "true", leaving(mark(found))))
    found.arm(approve=False)
    for number in (1, 2, 3):
        found.close(number)
        found.turn()
    assert found.loop()["outcome"] == "complete"
    assert set(commands_run(found)) == {"true"}
    ledger = found.the_loop().load_ledger()
    assert [ledger.tasks[f"1.{number}"]["state"] for number in (1, 2)] == ["proven", "unverified"]
    assert not mark(found).exists()


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_cloned_spec_in_another_session_runs_nothing(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.write(checked_files(layout, leaving(mark(found))))
    found.session = OTHER
    found.write_by_tool()
    found.close(1)
    assert found.turn().blocks
    assert not mark(found).exists()
