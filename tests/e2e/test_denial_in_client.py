"""The real client denies a tool call: it is seen in the transcript, and the named rule lifts it."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from e2e.client import ClientHome, run_print
from e2e.looping import bash
from ralphloop.engine import denial
from ralphloop.testing.model_server import ModelServer
from ralphloop.testing.reply import Reply, call, text

pytestmark = pytest.mark.client


def write(root: Path) -> Reply:
    return call("Write", file_path=str(root / "app/[id].txt"), content="x")


def turn(home: ClientHome, root: Path, reply: Reply, **options) -> bytes:
    """The transcript of a session in which the model answers with one tool call."""
    session = str(uuid.uuid4())
    with ModelServer([reply, text("That is all.")]) as server:
        run = run_print(home, root, "go", server, session_id=session, **options)
    assert run.exit_code == 0, run.stderr
    (file,) = (home.path / ".claude/projects").glob(f"*/{session}.jsonl")
    return file.read_bytes()


@pytest.mark.parametrize("mode", ["default", "dontAsk"])
@pytest.mark.parametrize(
    ("made", "tool", "rule", "result"),
    [
        (lambda root: bash("touch made"), "Bash", "Bash(touch made:*)", "made"),
        (
            lambda root: bash("ls && echo x | tee made > copy"),
            "Bash",
            "Bash(tee made:*), Edit(/{root}/copy)",
            "copy",
        ),
        (write, "Write", r"Edit(/{root}/app/\[id].txt)", "app/[id].txt"),
    ],
    ids=["one-command", "several-commands", "a-file"],
)
def test_a_denied_call_is_seen_and_the_named_rule_lifts_it(
    client_home, project, made, tool, rule, result, mode
):
    root = project({"README.md": "x\n"})
    wanted = rule.format(root=root)
    before = turn(client_home, root, made(root), permission_mode=mode)
    assert any(marker in before for marker in denial.MARKERS)
    assert denial.denials(before, "") == [(tool, wanted)]
    assert denial.worked(before, "") == set()
    assert not (root / result).exists()

    allowed = {"permissions": {"allow": wanted.split(", ")}}
    after = turn(client_home, root, made(root), permission_mode=mode, settings=allowed)
    assert denial.denials(after, "") == []
    assert denial.worked(after, "") == {tool}
    assert (root / result).exists()


def test_a_rule_of_the_persons_own_against_a_tool_is_seen_as_one_that_no_rule_lifts(client_home, project):
    root = project({"README.md": "x\n"})
    rules = {"permissions": {"deny": ["Bash(touch:*)"], "allow": ["Bash(touch made:*)"]}}
    data = turn(client_home, root, bash("touch made"), permission_mode="default", settings=rules)
    assert denial.denials(data, "") == [("Bash", "")]
