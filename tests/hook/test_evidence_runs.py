"""Section 5, checks as processes: beside the lock, with hostile output, in worktrees, and by `done`."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OWNER, SEQUENTIAL, Answer, LoopProject, feature, task_id
from hook.lines import text_line, tool_line
from hook.proven import (
    LIST,
    WAITS,
    Slow,
    adding_to,
    checked,
    cli,
    events,
    evidence,
    is_closed,
    known,
    lines_of,
    list_file,
    listed,
)
from unit.proof.processes import gone, wait_until

every_layout = pytest.mark.parametrize("layout", LAYOUTS)
AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}
SECRET = "c0rrect-h0rse-battery"


# Outside the lock


def begin_slow(project: ProjectFactory, layout: str) -> Iterator[Slow]:
    found = checked(project, layout, WAITS, "")
    found.close(1)
    running = Slow(found)
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.process.communicate()


@pytest.fixture
def slow(project: ProjectFactory) -> Iterator[Slow]:
    yield from begin_slow(project, "features")


@pytest.fixture(params=LAYOUTS)
def any_slow(request: pytest.FixtureRequest, project: ProjectFactory) -> Iterator[Slow]:
    """In each layout in turn."""
    yield from begin_slow(project, request.param)


def test_while_a_check_runs_a_person_can_look(slow: Slow) -> None:
    said = cli(slow.found, "status", "--json")
    (loop,) = json.loads(said.stdout)["loops"]
    assert (loop["state"], slow.process.poll()) == ("running", None)
    assert slow.let_go().blocks
    assert known(slow.found, task_id(slow.found.layout, 1))["state"] == "proven"


@pytest.mark.parametrize(("request_", "outcome"), [("cancel", "cancelled"), ("pause", "interrupted")])
def test_a_cancel_or_pause_during_a_check_holds_at_once_and_wins(
    slow: Slow, request_: str, outcome: str
) -> None:
    found = slow.found
    said = cli(found, request_)
    assert (said.returncode, said.stderr) == (0, "")
    assert (found.loop()["outcome"], slow.process.poll()) == (outcome, None)
    assert not slow.let_go().blocks
    assert found.loop()["outcome"] == outcome
    assert events(found, "proven") == events(found, "refused") == []
    assert is_closed(found, 1)


def test_a_claim_made_while_a_check_runs_is_not_lost(any_slow: Slow) -> None:
    found = any_slow.found
    second = task_id(found.layout, 2)
    assert cli(found, "done", second, env=AGENT).returncode == 0
    assert not any_slow.let_go().blocks
    assert known(found, second)["state"] == "unverified"
    assert known(found, task_id(found.layout, 1))["state"] == "proven"
    assert found.loop()["outcome"] == "complete"


def test_a_claim_taken_back_while_its_check_runs_is_not_proven(any_slow: Slow) -> None:
    found = any_slow.found
    found.close(1, done=False)
    assert any_slow.let_go().blocks
    assert "state" not in known(found, task_id(found.layout, 1))
    assert found.loop()["current"] == task_id(found.layout, 1)


def test_a_killed_stop_leaves_a_claim_that_the_next_one_checks(slow: Slow) -> None:
    found = slow.found
    slow.process.kill()
    slow.process.communicate()
    assert events(found, "stop") == []
    found.write({"go": ""})
    assert found.turn().blocks
    assert known(found, task_id(found.layout, 1))["state"] == "proven"


def test_stops_at_once_over_one_claim_refuse_it_and_lose_nothing(project: ProjectFactory) -> None:
    found = checked(project, "features", "sleep 1; exit 1", "")
    found.close(1)
    found.add_lines(tool_line("Bash", {}), text_line("Done."))
    running = [found.start(json.dumps(found.payload()).encode()) for _ in range(3)]
    answers = [found.finish(process) for process in running]
    assert [answer.blocks for answer in answers] == [True] * 3
    assert found.loop()["iteration"] == 4
    assert not is_closed(found, 1)
    assert len({record["id"] for record in evidence(found)}) == len(evidence(found)) > 0
    assert (found.loop()["state"], found.loop()["current"]) == ("running", "F1")


# What a check may do

NAMES_ITSELF = "echo $$ >> pids; "
HOSTILE = {
    "200 MB of output": "head -c 200000000 /dev/zero; exit 1",
    "a child that outlives it": "sleep 600 & echo $! >> pids; exit 1",
    "a child in a session of its own": "setsid sh -c 'echo $$ >> pids; exec sleep 600' & "
    "while [ ! -s pids ]; do sleep 0.1; done; exit 1",
    "a child that keeps its output open": "(echo $BASHPID; sleep 600) & echo $! >> pids; echo out; exit 1",
    "no heed to being asked to end": "trap '' TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done",
    "no output": "exec >&- 2>&-; exit 1",
    "a closed output and no end": NAMES_ITSELF + "exec >&- 2>&-; exec sleep 600",
    "binary output": "head -c 100000 /dev/urandom; exit 1",
    "half a character and escapes": "printf '\\033]0;x\\007\\303\\000\\377'; exit 1",
    "a read from stdin": "cat; read x; exit 1",
    "an end of its whole group": "kill -9 0",
}


ENDLESS = ("no heed to being asked to end", "a closed output and no end")


@pytest.mark.slow
def test_whatever_a_check_does_the_stop_is_answered_and_nothing_is_left(project: ProjectFactory) -> None:
    """All at once: those without an end last until their time is over."""
    running = {}
    for kind, command in HOSTILE.items():
        limit_s = 4 if kind in ENDLESS else 100
        found = listed(project, feature("F1", verify=command, timeout_s=limit_s), feature("F2"))
        found.close(1)
        found.add_lines(tool_line("Bash", {}), text_line("Done."))
        running[kind] = found, found.fork(json.dumps(found.payload()).encode())
    for kind, (found, process) in running.items():
        survives(found, found.finish(process), kind)


def survives(found: LoopProject, answer: Answer, kind: str) -> None:
    assert answer.blocks, kind
    assert "The claim of task F1 is refused" in answer.reason, kind
    assert not set(map(chr, range(32))) - {"\n", "\t"} & set(answer.reason), kind
    (record,) = evidence(found)
    assert (record["green"], len(record["output_tail"]) <= 64 * 1024) == (False, True), kind
    if kind.startswith("200 MB"):
        assert record["output_bytes"] == 200_000_000
    pids = [int(pid) for pid in lines_of(found.root / "pids")]
    assert bool(pids) is ("pids" in HOSTILE[kind]), kind
    wait_until(lambda: all(gone(pid) for pid in pids))


def test_secrets_that_a_check_prints_are_nowhere(project: ProjectFactory) -> None:
    found = checked(project, "features", "env; echo key=$MY_API_KEY; exit 1", "")
    found.extra_env["MY_API_KEY"] = SECRET
    found.close(1)
    answer = found.turn()
    assert "key=***" in answer.reason
    assert SECRET not in answer.reason + answer.message
    kept = [path for top in (found.root, found.home) for path in top.rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
    assert "key=***" in evidence(found)[0]["output_tail"]


def test_secrets_that_a_check_prints_are_not_shown_by_done(project: ProjectFactory) -> None:
    found = checked(project, "features", "echo key=$MY_API_KEY; exit 1", "")
    said = cli(found, "done", "F1", env={**AGENT, "MY_API_KEY": SECRET})
    assert "key=***" in said.stdout
    assert SECRET not in said.stdout + said.stderr


@pytest.mark.parametrize("kind", ["untracked", "submodule"])
def test_a_repository_below_the_project_does_not_keep_a_check_from_running(
    project: ProjectFactory, kind: str
) -> None:
    found = checked(project, "features", "true", "")
    found.commit_all()
    found.git("init", "--quiet", "vendor")
    found.git("-C", "vendor", "commit", "--quiet", "--allow-empty", "--message=one")
    if kind == "submodule":
        found.git("add", "vendor")
        found.git("commit", "--quiet", "--message=vendor")
        found.git("-C", "vendor", "commit", "--quiet", "--allow-empty", "--message=two")
    found.close(1)
    answer = found.turn()
    assert answer.blocks, answer.message
    assert known(found, "F1")["state"] == "proven"


@pytest.mark.parametrize("deed", ["printf '{' > {}", "rm {}", "git clean -qfdx ."])
def test_a_check_that_damages_the_list_does_not_break_the_stop(project: ProjectFactory, deed: str) -> None:
    found = checked(project, "features", deed.replace("{}", shlex.quote(LIST)), "", armed=False)
    found.commit_all()
    found.git("rm", "-rq", "--cached", ".")
    found.arm()
    found.close(1)
    answer = found.turn()
    assert answer.blocks
    assert json.loads(found.own.read_text())["features"][1]["id"] == "F2"


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_coordinator_that_removes_its_state_at_the_end_completes(
    project: ProjectFactory, layout: str
) -> None:
    """All boxes checked and the state gone is complete (section 4, rule 6), checks or no checks."""
    found = checked(project, layout, "true", "")
    found.close(1)
    assert found.turn().blocks
    found.close(2)
    found.own.unlink()
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"


# Where it runs


def worktree(found: LoopProject) -> Path:
    found.commit_all()
    place = found.base / "a worktree"
    found.git("worktree", "add", "--quiet", "-b", "other", str(place))
    return place


@pytest.mark.parametrize("below", ["", "src/deep"])
def test_a_session_in_a_worktree_has_its_checks_run_there(project: ProjectFactory, below: str) -> None:
    found = checked(project, "features", "test -f only-here && pwd -P", "")
    found.write({".gitignore": ".ralph/\n", "README.md": ""})
    place = worktree(found)
    (place / below).mkdir(parents=True, exist_ok=True)
    found.close(1)
    found.add_lines(tool_line("Bash", {}))
    data = json.dumps(found.payload(cwd=str(place / below))).encode()
    assert "`test -f only-here && pwd -P` exited with 1" in found.run(data, cwd=place / below).reason
    (place / "only-here").write_text("")
    found.close(1)
    found.add_lines(tool_line("Bash", {}))
    found.run(data, cwd=place / below)
    assert known(found, "F1")["state"] == "proven"
    assert [record["cwd"] for record in evidence(found)] == [str(place)] * 2
    assert evidence(found)[1]["output_tail"] == f"{place}\n"
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=place, capture_output=True, text=True)
    assert evidence(found)[0]["head"] == head.stdout.strip()


def test_done_in_a_worktree_runs_the_check_there(project: ProjectFactory) -> None:
    found = checked(project, "features", "pwd -P", "")
    found.write({".gitignore": ".ralph/\n", "sub/README.md": ""})
    place = worktree(found)
    assert cli(found, "done", "F1", env=AGENT, cwd=place / "sub").returncode == 0
    assert evidence(found)[0]["output_tail"] == f"{place}\n"


def test_a_session_in_a_subfolder_has_its_checks_run_at_the_root(project: ProjectFactory) -> None:
    found = checked(project, "features", "pwd -P", "")
    deep = found.root / "src" / "deep"
    deep.mkdir(parents=True)
    found.close(1)
    found.run(json.dumps(found.payload(cwd=str(deep))).encode(), cwd=deep)
    assert evidence(found)[0]["output_tail"] == f"{found.root}\n"


# By command


@every_layout
def test_done_proves_a_task_at_once(project: ProjectFactory, layout: str) -> None:
    ran = project("features").base / "ran"
    found = checked(project, layout, adding_to(ran), "")
    found.turn()
    first = task_id(layout, 1)
    said = cli(found, "done", first, env={**AGENT, "AI_AGENT": "claude-code_2-1-325_agent"})
    assert (said.returncode, said.stderr) == (0, "")
    assert f"$ {adding_to(ran)}\n{first} is proven." in said.stdout
    assert is_closed(found, 1)
    (record,) = evidence(found)
    assert (record["kind"], record["session"], record["client"]) == ("done", OWNER, "claude-code 2.1.325")
    assert known(found, first) == {"state": "proven", "evidence": record["id"]}
    assert found.turn().blocks
    assert lines_of(ran) == ["ran"]


@every_layout
def test_done_refuses_a_task_whose_check_is_red(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, "echo why it is not; exit 6", "")
    before = list_file(found).read_bytes()
    said = cli(found, "done", task_id(layout, 1), env=AGENT)
    assert (said.returncode, said.stderr) == (1, "")
    assert f"{task_id(layout, 1)} is not done: `echo why it is not; exit 6` exited with 6." in said.stdout
    assert "\nwhy it is not\n" in said.stdout
    assert list_file(found).read_bytes() == before
    assert found.loop()["attempts"] == {task_id(layout, 1): 1}
    assert "state" not in known(found, task_id(layout, 1))
    assert [row["task"] for row in events(found, "refused")] == [task_id(layout, 1)]


@every_layout
def test_done_says_when_a_check_is_not_approved(project: ProjectFactory, layout: str) -> None:
    ran = project("features").base / "ran"
    found = checked(project, layout, adding_to(ran), "", armed=False)
    found.arm(approve=False)
    said = cli(found, "done", task_id(layout, 1), env=AGENT)
    assert said.returncode == 0
    assert lines_of(ran) == []
    if layout == "features":
        assert "its check waits for the person's approval" in said.stdout
        assert known(found, "F1")["state"] == "claimed"
        assert "these checks need your approval" in found.turn().message
        assert found.loop()["outcome"] == "needs_approval"
    else:
        assert "its check is not approved and was not run" in said.stdout
        assert known(found, "1.1")["state"] == "unverified"
        assert found.turn().blocks
    assert lines_of(ran) == []


def test_done_as_json_tells_the_same(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "echo no; exit 1", "")
    proven = json.loads(cli(found, "done", "F1", "--json", env=AGENT).stdout)
    assert (proven["state"], proven["done"], proven["next"]) == ("proven", 1, "F2")
    said = cli(found, "done", "F2", "--json", env=AGENT)
    refused = json.loads(said.stdout)
    assert (said.returncode, refused["state"]) == (1, "open")
    assert (refused["refused"], refused["output_tail"]) == ("exited with 1", "no\n")


@every_layout
def test_a_stop_without_a_claim_runs_nothing(project: ProjectFactory, layout: str) -> None:
    ran = project("features").base / "ran"
    found = checked(project, layout, adding_to(ran), "")
    for _ in range(3):
        assert found.turn().blocks
    assert lines_of(ran) == []
    assert not (found.run_folder / "evidence").exists()


def test_done_as_json_is_json_when_criteria_were_put_back(project: ProjectFactory) -> None:
    found = checked(project, "features", "test -f one", "")
    found.own.write_text(found.own.read_text().replace("test -f one", "true"))
    said = cli(found, "done", "F1", "--json", env=AGENT)
    assert said.returncode == 1
    assert json.loads(said.stdout)["refused"] == "exited with 1"


def test_a_refused_claim_of_a_skipped_task_leaves_it_skipped(project: ProjectFactory) -> None:
    found = checked(project, "features", "false", "")
    assert cli(found, "skip", "F1").returncode == 0
    found.close(1)
    answer = found.turn()
    assert "next F2" in answer.message
    assert known(found, "F1")["state"] == "skipped"
