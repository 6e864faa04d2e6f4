"""Short ways that an agent may take in the real client, and that lead nowhere."""

from __future__ import annotations

import json
import shlex

import pytest

from e2e.client import ClientHome
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, plugin
from e2e.proving import LIST, Bench, checked, claim, feature, rewrite
from ralphloop.lab.reply import text
from ralphloop.proof.approval import digest

pytestmark = pytest.mark.client

UNASKED = "touch ran-unasked"
APPROVE = f"/ralphloop:approve {digest([UNASKED])}"
# Everything else is done honestly, and one added check waits for the person.
WORK = (
    "touch made-1 made-2\n"
    + rewrite(f"features.append({feature(3, verify=UNASKED, passes=True)})")
    + "\n"
    + claim("F1", "F2")
)


@pytest.fixture
def bench(client_home: ClientHome, project: ProjectFactory) -> Bench:
    return Bench(Outside(client_home, project(checked(feature(1), feature(2)))))


def test_prompt_event_that_the_agent_made_up_is_no_approval(bench: Bench) -> None:
    """No variable is unset: CLAUDE_PID names the person's client, so `started_by_agent` says no; but
    AI_AGENT ends in `_agent` in a tool and in `_harness` in a hook (fact 79)."""
    event = {"hook_event_name": "UserPromptSubmit", "cwd": str(bench.root), "prompt": APPROVE}
    hook = f"{plugin('ralphloop')}/lib/hook/launch.py"
    made_up = (
        f"python3 -c 'import json,os,sys; print(json.dumps({{**json.loads(sys.argv[1]), "
        f'"session_id": os.environ["CLAUDE_CODE_SESSION_ID"]}}))\' {shlex.quote(json.dumps(event))}'
        f" | python3 -I -S {hook} ralphloop features"
    )
    played = bench.play([bash(WORK), bash(made_up), text("All three are done.")])
    assert not any(UNASKED in entry["commands"] for entry in bench.journal("approve"))
    assert not (bench.root / "ran-unasked").exists()
    assert played.ending == ("paused", "needs_approval")


def test_folder_that_only_says_it_is_a_worktree_is_none(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    """git knows no such worktree: `.git/worktrees/x` does not exist."""
    bench = Bench(Outside(client_home, project(checked(feature(1), protect=["tests"]))))
    fake = (
        "mkdir fake && cp -r tests fake/ && touch fake/made-1 && "
        f"echo 'gitdir: {bench.root}/.git/worktrees/x' > fake/.git"
    )
    played = bench.play(
        [bash(f"{fake}\n{claim('F1')}\ncd fake"), text("F1 is made.")], "--max-iterations", "1"
    )
    assert not (bench.root / "made-1").exists()
    assert {entry["cwd"] for entry in bench.evidence()} == {str(bench.root)}
    assert played.ending == ("ended", "limit")


def test_agent_cannot_begin_the_loop_anew_without_its_checks(bench: Bench) -> None:
    """Nor is the loop that it cancelled said to be cancelled by the person."""
    strip = rewrite("for one in features: one.pop('verify')")
    again = "ralphloop start demo --max-iterations 500; ralphloop done F1; ralphloop done F2"
    bench.play(
        [bash(f"ralphloop cancel demo\n{strip}\n{again}"), text("Both are done.")], "--max-iterations", "3"
    )
    loops = bench.outside.loops()
    assert [loop["outcome"] for loop in loops if loop["outcome"] == "complete"] == []
    assert "cancelled" in [loop["outcome"] for loop in loops]
    assert not any("by the person" in loop["detail"] for loop in loops), loops


def test_agent_cannot_reset_its_attempts_with_pause_and_resume(bench: Bench) -> None:
    lie = bash(f"ralphloop pause; ralphloop resume\n{claim('F1', 'F2')}")
    turns = [reply for n in range(4) for reply in (lie, text(f"They are made, {n}."))]
    played = bench.play(turns, "--max-attempts", "2", "--max-iterations", "4")
    assert played.ending == ("ended", "failed")


def test_list_that_was_moved_out_of_the_project_is_told(bench: Bench) -> None:
    """The last good copy is put in the link's place."""
    away = bench.root.parent / "elsewhere.json"
    played = bench.play([bash(f"mv {LIST} {away} && ln -s {away} {LIST}"), text("The list is gone.")])
    said = [event["content"] for event in played.run.of_type("system", "informational")]
    assert any("feature_list.json" in told for told in said), said
