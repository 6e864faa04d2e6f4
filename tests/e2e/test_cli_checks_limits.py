"""The limits as options: how they are read, where they are kept, and who may raise them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import SESSION, Project, unfolded
from ralphloop.cli import resume, start
from ralphloop.cli.main import Command

INSIDE = {"CLAUDECODE": "1"}
HOUR = 3600.0

READ = [
    ("--max-iterations", "7", "iterations", 7),
    ("--max-iterations", "0040", "iterations", 40),
    ("--max-attempts", "2", "attempts", 2),
    ("--max-no-progress", "6", "no_progress", 6),
    ("--max-time", "4h", "time_s", 4 * HOUR),
    ("--max-time", "90m", "time_s", 1.5 * HOUR),
    ("--max-time", "90min", "time_s", 1.5 * HOUR),
    ("--max-time", "1h30m", "time_s", 1.5 * HOUR),
    ("--max-time", "1h30m15s", "time_s", 1.5 * HOUR + 15),
    ("--max-time", "0.5h", "time_s", HOUR / 2),
    ("--max-time", "2H", "time_s", 2 * HOUR),
    ("--max-time", "45s", "time_s", 45.0),
    ("--max-tokens", "2M", "tokens", 2_000_000),
    ("--max-tokens", "2m", "tokens", 2_000_000),
    ("--max-tokens", "500k", "tokens", 500_000),
    ("--max-tokens", "1.5K", "tokens", 1_500),
    ("--max-tokens", "1234", "tokens", 1_234),
    ("--max-cost", "5", "cost_usd", 5.0),
    ("--max-cost", "$5", "cost_usd", 5.0),
    ("--max-cost", "2.50", "cost_usd", 2.5),
    ("--max-task-tokens", "100k", "task_tokens", 100_000),
    ("--max-task-cost", "$0.75", "task_cost_usd", 0.75),
]
BAD = [
    ("--max-iterations", ["", "-1", "1.5", "x", "1e3", "10000000000", "٣", "0x10"]),
    ("--max-attempts", ["0", "-1", "", "many"]),
    ("--max-no-progress", ["0", "1h"]),
    ("--max-time", ["", "4", "h", "4d", "0h", "0s", "-1h", "30m1h", "4h 30m", "1:30", "999999999h"]),
    ("--max-tokens", ["", "0", "-5", "2G", "k", "0.1", "1e9", "five"]),
    ("--max-cost", ["", "0", "-1", "$", "nan", "inf", "€5", "5 dollars"]),
    ("--max-task-tokens", ["0", "x"]),
    ("--max-task-cost", ["0", "free"]),
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def parsed(command: Command, *words: str) -> Any:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    command.configure(parser)
    return parser.parse_args(list(words))


def record(project: Project) -> Path:
    """The arming record, outside of the project."""
    kinds = ("owned", "armed", "ended")
    (found,) = [path for kind in kinds for path in project.home.rglob(f"@ralph/{kind}/*.json")]
    assert not found.is_relative_to(project.root)
    return found


def limits(project: Project) -> dict[str, Any]:
    value = json.loads(record(project).read_text(encoding="utf-8"))["limits"]
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("command", [start, resume])
def test_a_limit_is_read(command: Command) -> None:
    for option, text, name, value in READ:
        for words in ([option, text], [f"{option}={text}"]):
            assert getattr(parsed(command, *words), name) == value, words


@pytest.mark.parametrize("command", [start, resume])
def test_a_bad_limit_is_wrong_usage(capsys: pytest.CaptureFixture[str], command: Command) -> None:
    for option, text in ((option, text) for option, texts in BAD for text in texts):
        word = f"{option}={text}"
        with pytest.raises(SystemExit) as ended:
            print(parsed(command, word), "was taken for", word)
        assert ended.value.code == 2, word
        assert f"argument {option}: " in capsys.readouterr().err, word


def test_a_bad_limit_starts_nothing(project: Project) -> None:
    project.new()
    before = project.digest()
    done = project.run("start", "shop", "--max-time", "soon")
    assert (done.code, done.out) == (2, "")
    assert "'soon' is not a time above zero like 90m, 4h or 1h30m" in done.err
    assert project.digest() == before


def test_limits_are_pinned_outside_the_project(project: Project) -> None:
    said = project.begin(
        "shop", "--max-iterations", "20", "--max-time", "1h30m", "--max-cost", "$5", "--max-tokens", "2M",
        "--max-attempts", "2", "--max-no-progress", "4", "--max-task-tokens", "500k", "--max-task-cost", "1",
    )  # fmt: skip
    assert said.is_dir()
    wanted = {
        "iterations": 20, "time_s": 5400.0, "cost_usd": 5.0, "tokens": 2_000_000, "attempts": 2,
        "no_progress": 4, "task_tokens": 500_000, "task_cost_usd": 1.0,
    }  # fmt: skip
    found = limits(project)
    assert {name: found[name] for name in wanted} == wanted


def test_start_says_the_limits(project: Project) -> None:
    project.new()
    said = project.fine("start", "shop", "--max-iterations", "20", "--max-time", "90m", "--max-cost", "5")
    assert "at most 20 iterations, 1 h 30 min, $5.00." in unfolded(said)


def test_what_the_agent_writes_into_the_project_raises_no_limit(project: Project) -> None:
    project.begin("shop", "--max-iterations", "2")
    (shown,) = project.root.glob(".ralph/run/*/loop.json")
    state = json.loads(shown.read_text(encoding="utf-8"))
    shown.write_text(
        json.dumps({**state, "limits": {"iterations": 999}, "max_iterations": 999, "iteration": 1}),
        encoding="utf-8",
    )
    project.write(
        ".ralph/loops/shop/progress.txt", "Status: IN_PROGRESS\nIteration: 1\nMax Iterations: 999\n"
    )
    assert project.stop() is not None
    project.stop()
    assert project.status()["outcome"] == "limit"
    assert limits(project)["iterations"] == 2


LOWER = [
    ("--max-iterations", "9", "iterations", 9),
    ("--max-time", "2h", "time_s", 7200.0),
    ("--max-attempts", "1", "attempts", 1),
    ("--max-no-progress", "1", "no_progress", 1),
    ("--max-cost", "2", "cost_usd", 2.0),
    ("--max-tokens", "1k", "tokens", 1000),
    ("--max-task-tokens", "1k", "task_tokens", 1000),
    ("--max-task-cost", "0.5", "task_cost_usd", 0.5),
]
HIGHER = [
    ("--max-iterations", "999", "iterations", 999, "iterations 999 instead of 15"),
    ("--max-time", "100h", "time_s", 360_000.0, "time_s 100 h 00 min instead of 8 h 00 min"),
    ("--max-attempts", "6", "attempts", 6, "attempts 6 instead of 5"),
    ("--max-no-progress", "4", "no_progress", 4, "no_progress 4 instead of 3"),
    ("--max-cost", "50", "cost_usd", 50.0, "cost_usd $50.00 instead of $5.00"),
    ("--max-tokens", "3M", "tokens", 3_000_000, "tokens 3000000 instead of 2000000"),
]
BUDGET = ("--max-cost", "5", "--max-tokens", "2M", "--max-task-tokens", "500k", "--max-task-cost", "1")


def test_inside_the_client_a_limit_may_be_lowered(project: Project) -> None:
    project.begin("shop", *BUDGET)
    for option, text, name, value in LOWER:
        project.fine("resume", "shop", option, text, env=INSIDE)
        assert limits(project)[name] == value


def test_inside_the_client_no_limit_is_raised(project: Project) -> None:
    project.begin("shop", *BUDGET)
    for option, text, _, _, told in HIGHER:
        assert told in project.refused("resume", "shop", option, text, env=INSIDE)


def test_outside_of_it_the_person_raises_them(project: Project) -> None:
    project.begin("shop", *BUDGET)
    for option, text, name, value, _ in HIGHER:
        project.fine("resume", "shop", option, text)
        assert limits(project)[name] == value


def test_a_limit_that_was_off_may_be_set_inside_the_client(project: Project) -> None:
    project.begin()
    project.fine("resume", "shop", "--max-cost", "5", env=INSIDE)
    assert limits(project)["cost_usd"] == 5.0


@pytest.mark.parametrize("command", ["start", "resume"])
def test_no_limit_of_turns_must_be_meant(project: Project, command: str) -> None:
    if command == "start":
        project.new()
    else:
        project.begin()
    words = (command, "shop", "--max-iterations", "0")
    assert "add --i-know if you mean it" in project.refused(*words)
    project.fine(*words, "--i-know")
    assert limits(project)["iterations"] == 10**9


def test_a_loop_at_its_limit_goes_on_with_a_higher_one_only(project: Project) -> None:
    project.begin("shop", "--max-iterations", "2")
    project.stop()
    project.stop()
    assert project.status()["outcome"] == "limit"
    assert "`ralphloop resume shop --max-iterations N` goes on, N at least 3" in project.refused(
        "resume", "shop"
    )
    told = project.refused("resume", "shop", "--max-iterations", "30", env=INSIDE)
    assert "a higher limit (iterations 30 instead of 2) is the person's to decide" in told
    project.fine("resume", "shop", "--max-iterations", "30")
    assert project.stop() is not None
    assert project.status()["owner"] == SESSION


def test_help_has_examples(project: Project) -> None:
    for command in ("approve", "accept", "verify", "evidence", "done", "start", "resume"):
        assert f"examples:\n  ralphloop {command}" in project.fine(command, "--help"), command
