"""Claims and edits around the times when a loop rests, and claims without a check of their own."""

from __future__ import annotations

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OWNER, feature
from hook.proven import checked, cli, is_closed, list_file, listed

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}


def test_done_of_a_task_without_a_check_refuses_a_touched_protected_file(project: ProjectFactory) -> None:
    found = listed(project, feature("F1", verify="true"), feature("F2"), protect=["tests/**"], armed=False)
    found.write({"tests/a.py": "assert True\n"})
    assert cli(found, "start", "demo", "--yes", "--session", OWNER).returncode == 0
    found.write({"tests/a.py": "easier\n"})
    said = cli(found, "done", "F2", env=AGENT)
    assert said.returncode == 1
    assert "protected files were touched: tests/a.py (changed)" in said.stdout
    assert not is_closed(found, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_paused_loop_leaves_what_the_person_writes_as_it_is(project: ProjectFactory, layout: str) -> None:
    """Pause, edit, approve: a stop in between is allowed and writes nothing (section 4, rule 7)."""
    found = checked(project, layout, "test -f one", "")
    found.turn()
    assert cli(found, "pause").returncode == 0
    text = list_file(found).read_text().replace("test -f one", "test -f better")
    list_file(found).write_text(text)
    found.new_prompt()
    assert not found.turn().blocks
    assert list_file(found).read_text() == text
    assert cli(found, "approve", "--yes").returncode == 0
    assert list_file(found).read_text() == text


def test_a_claim_of_the_task_that_a_loop_waited_for_is_checked(project: ProjectFactory) -> None:
    """The person answered in the chat, and the agent did the work; without a check this completes."""
    found = listed(project, feature("F1", needs_human="the key", verify="true"))
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "needs_input"
    found.close(1)
    found.new_prompt()
    found.turn()
    assert found.loop()["outcome"] == "complete"
