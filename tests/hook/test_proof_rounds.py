"""What a final run, a second start and a person's word come to when they meet other events."""

from __future__ import annotations

import json
import time

from hook.conftest import ProjectFactory
from hook.harness import OWNER, LoopProject, feature
from hook.proven import WAITS, Slow, checked, cli, is_closed, known, listed

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}


def started(found: LoopProject, *words: str) -> None:
    done = cli(found, "start", "demo", "--yes", "--session", OWNER, *words)
    assert done.returncode == 0, done.stderr


def test_green_evidence_of_an_older_final_run_does_not_count(project: ProjectFactory) -> None:
    """Field of the report: a limit between two final runs of one iteration."""
    found = checked(project, "features", "test -f one", "test -f two", armed=False)
    started(found, "--max-iterations", "2")
    found.write({"one": "", "two": ""})
    found.close(1)
    assert found.turn().blocks
    (found.root / "one").rename(found.root / "three")
    found.close(2)
    assert "limit" in found.turn().message
    (found.root / "three").rename(found.root / "one")
    (found.root / "two").unlink()
    assert cli(found, "resume", "--max-iterations", "10").returncode == 0
    found.close(1)
    found.new_prompt()
    answer = found.turn()
    assert answer.blocks, answer.message
    assert "`test -f two` exited with 1" in answer.reason


def test_a_person_who_vouches_while_the_check_runs_is_not_overruled(project: ProjectFactory) -> None:
    found = checked(project, "features", f"{WAITS}; exit 1", "")
    found.close(1)
    slow = Slow(found)
    assert cli(found, "accept", "F1").returncode == 0
    slow.let_go()
    assert known(found, "F1")["state"] == "vouched"
    assert is_closed(found, 1)


def test_an_agent_that_starts_again_does_so_on_the_old_terms(project: ProjectFactory) -> None:
    tasks = (feature("F1", verify="true"), feature("F2", verify="true"))
    found = listed(project, *tasks, protect=["tests"], armed=False)
    found.write({"tests/a": "a\n"})
    started(found, "--max-iterations", "5", "--max-cost", "1", "--max-time", "1h")
    text = found.own.read_text()
    assert cli(found, "cancel", env=AGENT).returncode == 0
    for weaker in (
        text.replace('"protect"', '"protected"'),
        json.dumps({**json.loads(text), "features": json.loads(text)["features"][:1]}),
    ):
        found.own.write_text(weaker)
        refused = cli(found, "start", "demo", env=AGENT)
        assert refused.returncode == 1
        assert "with other criteria than before is the person's to decide" in refused.stderr
    found.own.write_text(text)
    assert cli(found, "start", "demo", env=AGENT).returncode == 0
    (record,) = found.shelf().records("owned")
    assert (record.limits.iterations, record.limits.cost_usd, record.limits.time_s) == (5, 1, 3600)


def test_explain_of_a_spec_without_its_state_says_what_would_run(project: ProjectFactory) -> None:
    found = checked(project, "specum", "true", "")
    found.close(1)
    found.turn()
    found.close(2)
    found.own.unlink()
    before = found.digest(found.root)
    done = cli(found, "explain", stdin=json.dumps(found.payload()))
    assert done.returncode == 0, done.stderr
    assert "checks: true" in done.stdout
    assert found.digest(found.root) == before


def test_an_approval_that_would_not_count_is_not_said_to_be_given(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "", armed=False)
    done = cli(found, "start", "demo", "--yes", env={"XDG_STATE_HOME": str(found.root / ".state")})
    assert done.returncode == 1
    assert "approvals in it do not count" in done.stderr


def test_time_without_a_session_is_no_running_time(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "", armed=False)
    assert cli(found, "start", "demo", "--yes", "--max-time", "60s").returncode == 0
    found.edit_loop(seen_at=time.time() - 3600, started_at=time.time() - 3600)
    found.send("SessionStart", source="startup")
    assert found.turn().blocks


def test_a_budget_that_is_used_up_needs_a_higher_one(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "", armed=False)
    started(found, "--max-tokens", "1k")
    found.edit_loop(state="ended", outcome="budget", detail="1200 of 1000 tokens used")
    refused = cli(found, "resume")
    assert refused.returncode == 1
    assert "a higher --max-tokens or --max-cost goes on" in refused.stderr
    assert cli(found, "resume", "--max-tokens", "2k").returncode == 0


def test_a_proven_task_is_not_vouched_for(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "")
    found.close(1)
    found.turn()
    assert "F1 is proven already" in cli(found, "accept", "F1").stdout
    assert known(found, "F1")["state"] == "proven"


def test_resume_tells_that_edits_wait_for_an_approval(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "")
    found.turn()
    assert cli(found, "pause").returncode == 0
    found.own.write_text(found.own.read_text().replace("Do F2", "Do F2 better"))
    assert "`ralphloop approve demo` keeps that" in cli(found, "status", "demo").stdout
    assert "or the next stop puts them back" in cli(found, "resume").stdout
