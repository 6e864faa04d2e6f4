"""Small rules of the hook in the places that a stop rarely reaches."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ralphloop.domain.model import (
    AWAITING_APPROVAL,
    BUDGET,
    CANCELLED,
    COMPLETE,
    DENIED,
    FAILED,
    INTERRUPTED,
    LIMIT,
    LOGIN,
    NEEDS_INPUT,
    PAUSED,
    RATE_LIMITED,
    LoopState,
)
from ralphloop.engine import claude
from ralphloop.engine.account import fullness
from ralphloop.hook import main, permit
from ralphloop.hook.statusline import how_to_go_on
from unit.domain.cases import each
from unit.engine import transcripts

APPROVE = "/ralphloop:approve"


@pytest.mark.parametrize(
    ("entry", "scheduled"),
    [
        (transcripts.tool("CronCreate", prompt=f"{APPROVE} abc"), True),
        (transcripts.tool("ScheduleWakeup", message=f"{APPROVE} abc"), True),
        (transcripts.line("scheduled_task_fire", prompt=f"{APPROVE} abc"), True),
        (transcripts.line("scheduled_task_fire", prompt="go on"), False),
        (transcripts.tool("Bash", command=f"echo {APPROVE}"), False),
        (transcripts.asked(f"{APPROVE} abc"), False),
        (transcripts.said(f"Type {APPROVE} abc"), False),
        ("", False),
    ],
)
def test_a_prompt_that_the_agent_scheduled_is_known(tmp_path: Path, entry: str, scheduled: bool):
    path = tmp_path / "t.jsonl"
    path.write_text(transcripts.asked("begin") + entry)
    assert claude.was_scheduled(str(path), APPROVE) is scheduled


def test_a_prompt_that_a_subagent_scheduled_is_known_too(tmp_path: Path):
    (tmp_path / "t/subagents").mkdir(parents=True)
    (tmp_path / "t.jsonl").write_text(transcripts.asked("begin"))
    (tmp_path / "t/subagents/a.jsonl").write_text(transcripts.tool("CronCreate", prompt=APPROVE))
    assert claude.was_scheduled(str(tmp_path / "t.jsonl"), APPROVE)


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("ralphloop done F1", {"ralphloop"}),
        ("ralphloop done F1 && ralphloop status", {"ralphloop"}),
        ("ralphloop cancel", set()),
        ("ralphloop done F1; rm -r .", set()),
        ("ralphloop done $(id)", set()),
        ("ralphloop done 'F1", set()),
        ("ralphloop", set()),
    ],
)
def test_only_a_line_of_our_own_commands_is_let_through(command: str, programs: set[str]):
    assert permit.programs_of(command) == programs


@pytest.mark.parametrize(
    ("place", "within"), [("project/bin", True), ("elsewhere", False), ("link", True), ("relative", True)]
)
def test_a_program_that_the_agent_could_have_written_is_not_ours(tmp_path: Path, place: str, within: bool):
    project = tmp_path / "project"
    for folder in (project / "bin", tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
        (folder / "ralphloop").write_text("#!/bin/sh\n")
        (folder / "ralphloop").chmod(stat.S_IRWXU)
    os.symlink(project / "bin", tmp_path / "link")
    path = "bin" if place == "relative" else str(tmp_path / place)
    assert permit.is_within("ralphloop", {"PATH": path}, str(project)) is within


def test_a_program_that_nobody_finds_is_left_to_the_shell(tmp_path: Path):
    empty = {"PATH": str(tmp_path)}
    assert not permit.is_within("no-such-program", empty, str(tmp_path))
    assert permit.is_within("sh", empty, str(tmp_path))


@each(
    ("outcome", "detail", "resume_at", "said"),
    [
        (COMPLETE, "", None, ""),
        (CANCELLED, "", None, ""),
        (
            NEEDS_INPUT,
            f"{DENIED} Bash 3 times",
            None,
            "allow the tool in /permissions, then send any message",
        ),
        (NEEDS_INPUT, "F1", None, "send any message"),
        (AWAITING_APPROVAL, "", None, "goes on after the approval"),
        (RATE_LIMITED, "", None, "goes on at your next message"),
        (RATE_LIMITED, "", 50.0, "goes on at your next message"),
        (LIMIT, "", None, "ralphloop resume with a higher limit"),
        (BUDGET, "", None, "ralphloop resume with a higher limit"),
        (FAILED, "", None, "repair the list, ralphloop resume"),
        (INTERRUPTED, "", None, "ralphloop resume"),
        (FAILED, f"{LOGIN}: 401", None, "log in (/login), ralphloop resume"),
        (INTERRUPTED, f"{LOGIN}: 401", None, "log in (/login), ralphloop resume"),
    ],
)
def test_a_loop_that_rests_says_what_the_person_can_do(outcome, detail, resume_at, said):
    state = LoopState(id="L", state=PAUSED, outcome=outcome, detail=detail, resume_at=resume_at)
    assert how_to_go_on(state, None, now=100.0) == said


def test_a_rate_limit_that_lasts_says_until_when():
    state = LoopState(id="L", state=PAUSED, outcome=RATE_LIMITED, resume_at=3600.0)
    assert how_to_go_on(state, None, now=100.0).startswith("goes on at your next message after ")


def test_a_transcript_without_usage_tells_nothing_of_the_context(tmp_path: Path):
    assert fullness(str(tmp_path / "none.jsonl")) is None


def test_a_folder_that_is_gone_is_known_by_its_name(monkeypatch):
    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(main.os, "getcwd", gone)
    monkeypatch.setenv("PWD", "/was/here")
    assert main._cwd() == "/was/here"


@pytest.mark.parametrize(
    "payload", [{"hook_event_name": "Notification"}, {"workspace": {}}, {"hook_event_name": 5}]
)
def test_an_event_that_is_not_ours_is_left_alone(payload):
    assert main.dispatch(payload, None) == ""
