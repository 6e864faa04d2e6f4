"""A loop's own commands need no dialog in its session, and nothing else slips through with them."""

from __future__ import annotations

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OTHER, Answer, LoopProject
from hook.lines import user_line


def ask(found: LoopProject, command: object, **fields: object) -> Answer:
    """The client asks before it runs a tool."""
    given = {"tool_name": "Bash", "tool_input": {"command": command}, **fields}
    return found.send("PreToolUse", **given)


def is_allowed(said: Answer) -> bool:
    if said.silent:
        return False
    (answer,) = said.said.values()
    assert answer["hookEventName"] == "PreToolUse"
    assert answer["permissionDecision"] == "allow"
    return True


@pytest.fixture
def running(project: ProjectFactory) -> LoopProject:
    found = project("features")
    found.arm()
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_claim_in_the_loops_session_is_let_through(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.arm()
    assert is_allowed(ask(found, "ralphloop done 1.1"))


def test_what_only_calls_the_loop_is_let_through(running: LoopProject) -> None:
    for command in (
        "ralphloop done F1",
        "ralphloop done F1; ralphloop done F2 && ralphloop status",
        "ralphloop ask F1 'Which colour, red & blue; or green?'",
        "  ralphloop status --json  # a look",
    ):
        assert is_allowed(ask(running, command)), command


@pytest.mark.usefixtures("as_registered")
def test_plugins_own_file_is_known_by_its_whole_path(running: LoopProject) -> None:
    assert is_allowed(ask(running, f'sh "{running.plugin}/bin/ralphloop" done F1'))
    assert not is_allowed(ask(running, 'sh "/elsewhere/bin/ralphloop" done F1'))


BESIDE = (
    "ralphloop done F1; touch a", "touch a && ralphloop done F1", "ralphloop done F1 | tee a",
    "ralphloop done $(touch a)", "ralphloop done `touch a`", 'ralphloop done "$HOME"', "touch a",
    "ralphloop done F1\ntouch a", "(ralphloop done F1)", "{ ralphloop done F1; }", "ralphloop",
    "PATH=. ralphloop done F1", "./ralphloop done F1", "ralphloop report --output a", "",
    "ralphloop cancel", "ralphloop start --unapproved", "ralphloop --typed done", "ralphloop done 'F1",
    "eval ralphloop done F1", "sh -c 'ralphloop done F1'", "ralphloop\\ done", "ralphloop done F1 > a",
    "command ralphloop done F1", "ralphloop done <(touch a)",
)  # fmt: skip


def test_anything_beside_it_is_left_to_the_persons_rules(running: LoopProject) -> None:
    for command in BESIDE:
        assert not is_allowed(ask(running, command)), command


@pytest.mark.parametrize("place", ["bin", "link", "relative"])
def test_name_that_leads_into_the_project_is_left_to_the_persons_rules(
    running: LoopProject, place: str
) -> None:
    """The agent may write there: an activated environment of the project comes first on PATH."""
    folder = running.root / ".venv/bin"
    folder.mkdir(parents=True)
    (folder / "ralphloop").write_text("#!/bin/sh\n")
    (folder / "ralphloop").chmod(0o755)
    outside = running.base / "bin"
    outside.mkdir()
    (outside / "ralphloop").symlink_to(folder / "ralphloop")
    first = {"bin": str(folder), "link": str(outside), "relative": ".venv/bin"}[place]
    running.extra_env["PATH"] = f"{first}:/usr/bin:/bin"
    assert not is_allowed(ask(running, "ralphloop done F1"))
    running.extra_env["PATH"] = "/usr/bin:/bin"
    assert is_allowed(ask(running, "ralphloop done F1"))


def test_subagent_of_the_session_may_claim(running: LoopProject) -> None:
    assert is_allowed(ask(running, "ralphloop done F1", agent_id="a1", agent_type="x"))


def test_other_sessions_and_tools_and_resting_loops_are_left_alone(running: LoopProject) -> None:
    assert not is_allowed(ask(running, "ralphloop done F1", session_id=OTHER))
    assert not is_allowed(ask(running, "ralphloop done F1", session_id=...))
    assert not is_allowed(ask(running, "ralphloop done F1", tool_name="Write"))
    for odd in (None, 7, ["ralphloop", "done"], {"a": 1}):
        assert not is_allowed(ask(running, odd))
    running.edit_loop(state="paused", outcome="interrupted")
    assert not is_allowed(ask(running, "ralphloop done F1"))


def test_answer_changes_nothing_on_disk(running: LoopProject) -> None:
    before = running.digest()
    assert is_allowed(ask(running, "ralphloop done F1"))
    assert running.digest() == before


# A list that nobody armed: its first claim comes before its first stop.


PROMPT = "Work through the list of this project, one feature at a time, and claim each when it is done.\n"


@pytest.fixture
def prompted(project: ProjectFactory) -> LoopProject:
    found = project("features")
    (found.folder / "RALPH_PROMPT.md").write_text(PROMPT)
    return found


def test_the_first_prompt_makes_an_unarmed_list_the_sessions_when_it_is_submitted(
    prompted: LoopProject,
) -> None:
    assert not is_allowed(ask(prompted, "ralphloop done F1"))
    assert "now owns the loop" in prompted.send("UserPromptSubmit", prompt=PROMPT).message
    assert prompted.loop()["owner"] == prompted.session
    assert is_allowed(ask(prompted, "ralphloop done F1"))
    assert not is_allowed(ask(prompted, "ralphloop done F1", session_id=OTHER))
    assert prompted.turn().blocks


def test_the_prompt_claims_no_list_later_in_a_session_and_none_twice(prompted: LoopProject) -> None:
    prompted.add_lines(user_line("What is this?"))
    assert prompted.send("UserPromptSubmit", prompt=PROMPT).silent
    assert prompted.runs() == []
    prompted.session = OTHER
    assert prompted.send("UserPromptSubmit", prompt=PROMPT).message
    prompted.session = "0f6b1f5e-8f0a-4c62-9c1e-000000000003"
    assert prompted.send("UserPromptSubmit", prompt=PROMPT).silent
    assert prompted.loop()["owner"] == OTHER


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_the_claim_of_a_session_that_wrote_the_state_is_let_through(
    project: ProjectFactory, layout: str
) -> None:
    found = project(layout)
    before = found.digest(found.root)
    assert not is_allowed(ask(found, "ralphloop done 1.1"))
    assert found.digest(found.root) == before
    found.write_by_tool()
    assert not is_allowed(ask(found, "ralphloop done 1.1", session_id=OTHER))
    assert not is_allowed(ask(found, "touch a; ralphloop done 1.1"))
    assert found.runs() == []
    assert is_allowed(ask(found, "ralphloop done 1.1"))
    assert found.loop()["owner"] == found.session
    assert found.turn().blocks
