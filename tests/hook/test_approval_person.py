"""How the person lets a loop go on that waits for an approval: from a terminal, or typed in the client."""

from __future__ import annotations

import json

import pytest

from hook.attack import (
    checked_files,
    checked_list,
    commands_run,
    leaving,
    mark,
    needs_approval,
    outcome,
    process,
    state_of,
)
from hook.conftest import ProjectFactory
from hook.harness import OTHER, OWN_FILES, LoopProject
from hook.proven import cli
from ralphloop.agents.registry import agent_tools
from ralphloop.proof.approval import digest

LIST = OWN_FILES["features"]


@pytest.fixture
def waiting(project: ProjectFactory) -> LoopProject:
    """A loop that came to its first claim and waits for the person."""
    found = project("features")
    found.write(checked_files("features", leaving(mark(found)), "true"))
    found.arm(approve=False)
    found.close(1)
    needs_approval(found, leaving(mark(found)), "true")
    return found


def right(found: LoopProject) -> str:
    return digest([leaving(mark(found)), "true"])


def type_in(found: LoopProject, text: str, **fields: object) -> str:
    """The person types something in the client; what the client shows them."""
    found.new_prompt()
    return found.send("UserPromptSubmit", prompt=text, **fields).message


def goes_on(found: LoopProject) -> None:
    assert found.turn().blocks
    assert outcome(found) is None
    assert mark(found).read_text() == "run\n"
    assert found.the_loop().load_ledger().tasks["F1"]["state"] == "proven"


def still_waits(found: LoopProject) -> None:
    assert found.turn().silent
    assert outcome(found) == "needs_approval"
    assert not mark(found).exists()
    assert commands_run(found) == []


def test_a_waiting_loop_says_so_once_and_lets_every_stop_go(waiting: LoopProject) -> None:
    for _ in range(3):
        still_waits(waiting)
    assert state_of(waiting)["state"] == "paused"


def test_it_goes_on_after_an_approval_in_a_terminal(waiting: LoopProject) -> None:
    done = cli(waiting, "approve", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"$ {leaving(mark(waiting))}" in done.stdout
    goes_on(waiting)


def test_without_a_terminal_and_without_yes_nothing_is_approved(waiting: LoopProject) -> None:
    before = waiting.digest()
    done = cli(waiting, "approve")
    assert done.returncode == 1
    assert "Nothing is approved." in done.stdout
    assert waiting.digest() == before
    still_waits(waiting)


def test_it_goes_on_after_the_right_digest_was_typed(waiting: LoopProject) -> None:
    assert (
        type_in(waiting, f"/ralphloop:approve {right(waiting)}")
        == "ralphloop: 2 checks of demo are approved."
    )
    goes_on(waiting)


def test_another_session_of_the_person_may_type_it(waiting: LoopProject) -> None:
    told = type_in(waiting, f"/ralphloop:approve {right(waiting)}", session_id=OTHER)
    assert told == "ralphloop: 2 checks of demo are approved."
    goes_on(waiting)


def test_typed_approval_is_heard_after_the_loop_has_ended(waiting: LoopProject) -> None:
    """As after a cancel, or a spec's loop that stalled: the next loop over the list runs the checks."""
    assert cli(waiting, "cancel").returncode == 0
    waiting.extra_env["CLAUDE_CODE_SESSION_ID"] = waiting.session
    told = type_in(waiting, f"/ralphloop:approve {right(waiting)}")
    assert told == "ralphloop: 2 checks of demo are approved."
    assert waiting.turn().silent


def test_a_wrong_or_missing_digest_approves_nothing_and_says_what_waits(waiting: LoopProject) -> None:
    whole = right(waiting)
    wrong = ("000000000000", whole[:-1], whole.upper() + "A", "yes", "--yes", digest(["true"]))
    for words in (*(f" {word}" for word in wrong), "", "\n\n"):
        told = type_in(waiting, f"/ralphloop:approve{words}")
        assert f"demo waits for: `{leaving(mark(waiting))}`; `true`." in told, words
        assert f"`/ralphloop:approve {whole}` allows that." in told, words
        still_waits(waiting)


def test_words_that_are_not_the_command_approve_nothing(waiting: LoopProject) -> None:
    command = f"/ralphloop:approve {right(waiting)}"
    for typed in (
        f"please {command}", command.replace(" ", ""), command.replace("ralphloop:", ""), right(waiting),
        f"> {command}", f"`{command}`",
    ):  # fmt: skip
        type_in(waiting, typed)
        assert outcome(waiting) == "needs_approval", typed
        still_waits(waiting)


def test_a_digest_of_commands_that_changed_since_approves_nothing(waiting: LoopProject) -> None:
    """The person looked at one list, and the agent wrote another one meanwhile."""
    old = right(waiting)
    waiting.write({LIST: checked_list(leaving(mark(waiting)) + " ", "true", done=1)})
    told = type_in(waiting, f"/ralphloop:approve {old}")
    assert "demo waits for: " in told
    assert old not in told
    still = waiting.turn()
    assert not still.blocks
    assert not mark(waiting).exists()


def test_what_is_typed_when_nothing_waits_changes_nothing(project: ProjectFactory) -> None:
    found = project("features", checked_files("features", "true"))
    found.arm()
    before = found.digest()
    assert type_in(found, "/ralphloop:approve 0123456789ab") == (
        "ralphloop: no check waits for your approval."
    )
    assert found.digest() == before


def test_what_is_typed_where_no_loop_is_approves_nothing(project: ProjectFactory) -> None:
    found = project("features", checked_files("features", "true"))
    before = found.digest()
    type_in(found, "/ralphloop:approve 0123456789ab")
    assert found.digest() == before


def test_a_list_that_cannot_be_read_is_not_approved(waiting: LoopProject) -> None:
    whole = waiting.own.read_text()
    waiting.own.write_text("{")
    assert "approved" not in type_in(waiting, f"/ralphloop:approve {right(waiting)}")
    waiting.own.write_text(whole)
    still_waits(waiting)


def test_an_added_check_goes_on_once_it_is_approved(project: ProjectFactory) -> None:
    found = project("features", checked_files("features", "true", total=1))
    found.arm()
    data = json.loads(found.own.read_text())
    data["features"].append({"id": "F2", "passes": True, "verify": leaving(mark(found))})
    found.write({LIST: json.dumps(data)})
    found.close(1)
    needs_approval(found, leaving(mark(found)))
    type_in(found, f"/ralphloop:approve {digest([leaving(mark(found))])}")
    answer = found.turn()
    assert not answer.blocks
    assert "complete: 2/2 proven" in answer.message
    assert mark(found).read_text() == "run\n"


# Who types


@pytest.mark.parametrize("variable", ["CLAUDECODE", "AI_AGENT", "CURSOR_AGENT"])
def test_a_client_that_an_agent_started_types_nothing(waiting: LoopProject, variable: str) -> None:
    with process("sleep", "60", env={"PATH": "/usr/bin:/bin", variable: "1"}) as client:
        waiting.extra_env.update(CLAUDECODE="1", CLAUDE_PID=str(client.pid))
        told = type_in(waiting, f"/ralphloop:approve {right(waiting)}", session_id=OTHER)
    assert "an agent started this client" in told
    still_waits(waiting)


def test_a_client_that_the_person_started_types_for_the_person(waiting: LoopProject) -> None:
    """The hook itself always runs inside the client: only the client's own environment tells."""
    with process("sleep", "60", env={"PATH": "/usr/bin:/bin"}) as client:
        waiting.extra_env.update(
            CLAUDECODE="1", AI_AGENT="claude-code_2-1-325_harness", CLAUDE_PID=str(client.pid)
        )
        told = type_in(waiting, f"/ralphloop:approve {right(waiting)}")
    assert "2 checks of demo are approved" in told
    goes_on(waiting)


def test_without_a_client_to_look_at_a_session_without_a_person_types_nothing(waiting: LoopProject) -> None:
    for pid in ("", "0", "-1", "x", "99999999"):
        waiting.extra_env.update(CLAUDECODE="1", CLAUDE_PID=pid, CLAUDE_CODE_SESSION_ATTENDED="0")
        type_in(waiting, f"/ralphloop:approve {right(waiting)}")
        still_waits(waiting)


def test_every_variable_of_a_client_has_a_name_for_it() -> None:
    assert all(agent_tools().values())
    assert {"CLAUDECODE", "AI_AGENT"} <= agent_tools().keys()
