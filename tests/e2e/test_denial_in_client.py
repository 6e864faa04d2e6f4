"""The real client denies a tool call: it is seen in the transcript, and the named rule lifts it."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from e2e.client import ClientHome, run_print
from e2e.looping import bash
from ralphloop.engine import claude_past
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import Reply, call, text

pytestmark = pytest.mark.client


def made(root: Path) -> list[Reply]:
    """One command, several of them, and a file."""
    return [
        bash("touch made"),
        bash("ls && echo x | tee both > copy"),
        call("Write", file_path=str(root / "app/[id].txt"), content="x"),
    ]


def turn(home: ClientHome, root: Path, *replies: Reply, **options) -> bytes:
    """The transcript of a session in which the model answers with tool calls."""
    session = str(uuid.uuid4())
    with ModelServer([*replies, text("That is all.")]) as server:
        run = run_print(home, root, "go", server, session_id=session, **options)
    assert run.exit_code == 0, run.stderr
    (file,) = (home.path / ".claude/projects").glob(f"*/{session}.jsonl")
    return file.read_bytes()


@pytest.mark.parametrize("mode", ["default", "dontAsk"])
def test_a_denied_call_is_seen_and_the_named_rule_lifts_it(client_home, project, mode):
    root = project({"README.md": "x\n"})
    rules = ["Bash(touch made:*)", f"Bash(tee both:*), Edit(/{root}/copy)", rf"Edit(/{root}/app/\[id].txt)"]
    results = [root / "made", root / "copy", root / "app/[id].txt"]
    before = turn(client_home, root, *made(root), permission_mode=mode)
    assert any(marker in before for marker in claude_past.MARKERS)
    assert claude_past.denials(before, "") == list(zip(("Bash", "Bash", "Write"), rules, strict=True))
    assert claude_past.worked(before, "") == set()
    assert [path for path in results if path.exists()] == []

    allowed = {"permissions": {"allow": [one for rule in rules for one in rule.split(", ")]}}
    after = turn(client_home, root, *made(root), permission_mode=mode, settings=allowed)
    assert claude_past.denials(after, "") == []
    assert claude_past.worked(after, "") == {"Bash", "Write"}
    assert [path for path in results if not path.exists()] == []


def test_a_rule_of_the_persons_own_against_a_tool_is_seen_as_one_that_no_rule_lifts(client_home, project):
    root = project({"README.md": "x\n"})
    rules = {"permissions": {"deny": ["Bash(touch:*)"], "allow": ["Bash(touch made:*)"]}}
    data = turn(client_home, root, bash("touch made"), permission_mode="default", settings=rules)
    assert claude_past.denials(data, "") == [("Bash", "")]
