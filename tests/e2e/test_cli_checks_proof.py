"""`done`, `verify` and `evidence`: a check run at once, by hand, and what is kept of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from e2e.checking import LIST, begin, change, claim, leaving, mark, states, task, write_list
from e2e.cli_project import OTHER, SESSION, WIDE, Project
from unit.domain.cases import each

RED = "echo first; echo second >&2; exit 3"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def running(project: Project) -> Project:
    """A loop with a green check, a red one, and a task without any."""
    begin(project, task("F1", leaving(project)), task("F2", RED), task("F3"))
    return project


@pytest.fixture
def unapproved(project: Project) -> Project:
    write_list(project, task("F1", leaving(project)), task("F2"))
    project.fine("start", "shop", "--session", SESSION, "--unapproved")
    return project


def evidence_files(project: Project) -> list[Path]:
    return sorted(project.root.glob(".ralph/run/*/evidence/*.json"))


# done


def test_done_with_a_green_check_proves_the_task(running: Project) -> None:
    said = running.fine("done", "F1")
    assert said == f"$ {leaving(running)}\nF1 is proven. 1/3 done, next F2.\n"
    assert states(running)["F1"] == "proven"
    assert running.fine("done", "F1") == "F1 is done already (proven). 1/3 done, next F2.\n"
    assert mark(running).read_text() == "run\n"


def test_done_with_a_red_check_leaves_the_task_open(running: Project) -> None:
    done = running.run("done", "F2")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith(f"$ {RED}\nF2 is not done: `{RED}` exited with 3.\nfirst\nsecond\n")
    assert states(running)["F2"] == "open"
    (found,) = [one for one in running.status()["tasks"] if one["id"] == "F2"]
    assert found["attempts"] == 1


def test_done_with_an_unapproved_check_is_claimed_and_waits(unapproved: Project) -> None:
    said = unapproved.fine("done", "F1")
    assert "F1 is claimed (claimed: its check waits for the person's approval" in said
    assert states(unapproved)["F1"] == "claimed"
    assert not mark(unapproved).exists()
    unapproved.stop()
    assert unapproved.status()["outcome"] == "needs_approval"


def test_done_of_a_spec_with_an_unapproved_check_is_unverified(project: Project) -> None:
    boxes = f"- [ ] 1.1 Form\n  - **Verify**: `{leaving(project)}`\n- [ ] 1.2 More\n- [ ] 1.3 Rest\n"
    project.spec(tasks=boxes)
    project.fine("start", "login", "--session", SESSION, "--unapproved")
    said = project.fine("done", "1.1")
    assert "1.1 is marked done (unverified: its check is not approved and was not run)" in said
    assert not mark(project).exists()


def test_done_without_a_check_is_unverified(running: Project) -> None:
    assert "F3 is marked done (unverified: it has no check" in running.fine("done", "F3")


@pytest.mark.parametrize(
    ("name", "code", "state", "changed"),
    [("F1", 0, "proven", True), ("F2", 1, "open", False), ("F3", 0, "unverified", True)],
)
def test_done_in_json(running: Project, name: str, code: int, state: str, changed: bool) -> None:
    done = running.run("done", name, "--json")
    assert (done.code, done.err) == (code, "")
    told = done.data
    assert (told["task"], told["state"], told["changed"], told["total"]) == (name, state, changed, 3)
    if name == "F2":
        assert (told["refused"], told["output_tail"]) == ("exited with 3", "first\nsecond\n")


def test_done_of_an_unapproved_check_in_json(unapproved: Project) -> None:
    told = json.loads(unapproved.fine("done", "F1", "--json"))
    assert (told["state"], told["changed"]) == ("claimed", True)


def test_done_puts_the_pinned_check_back_first(running: Project) -> None:
    change(running, "F2", verify=["true"])
    done = running.run("done", "F2")
    assert done.code == 1
    assert "The criteria were pinned at the start and are back: F2 (verify)" in done.out
    assert states(running)["F2"] == "open"


def test_done_is_for_the_sessions_own_loop(running: Project) -> None:
    told = running.refused("done", "F1", env={"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OTHER})
    assert f"belongs to session {SESSION}" in told
    assert not mark(running).exists()


def test_a_check_runs_at_the_root_of_the_project_without_stdin(project: Project) -> None:
    begin(project, task("F1", "pwd; cat; test -t 0 || echo none; echo $RALPHLOOP_CHECK; exit 1"), task("F2"))
    below = project.root / "src"
    below.mkdir()
    done = project.run("done", "F1", cwd=below, stdin=b"typed\n")
    assert f"{project.root}\nnone\n1\n" in done.out


# verify


def test_verify_a_green_check(running: Project) -> None:
    before = states(running)
    assert running.fine("verify", "F1") == f"$ {leaving(running)}\n✓ F1: green\n"
    assert states(running) == before


def test_verify_a_red_check(running: Project) -> None:
    done = running.run("verify", "F2")
    assert (done.code, done.err) == (1, "")
    assert done.out == f"$ {RED}\n✗ F2: exited with 3\n    first\n    second\n"


def test_verify_all_runs_each_command_once(project: Project) -> None:
    begin(project, task("F1", leaving(project)), task("F2", leaving(project), "true"), task("F3"))
    said = project.fine("verify", "--all")
    assert said.count(f"$ {leaving(project)}\n") == 1
    assert said.endswith("✓ F1: green\n✓ F2: green\n")
    assert mark(project).read_text() == "run\n"


def test_verify_all_is_red_if_one_is(running: Project) -> None:
    done = running.run("verify", "--all")
    assert done.code == 1
    assert "✓ F1: green\n" in done.out
    assert "✗ F2: exited with 3\n" in done.out


def test_verify_in_json(running: Project) -> None:
    done = running.run("verify", "--all", "--json")
    assert (done.code, done.err) == (1, "")
    told = done.data["tasks"]
    assert {name: found["state"] for name, found in told.items()} == {"F1": "green", "F2": "red"}
    assert (told["F2"]["command"], told["F2"]["why"], told["F2"]["tail"]) == (
        RED,
        "exited with 3",
        "first\nsecond\n",
    )
    assert done.data["protected"] == []


@each(
    ("words", "told"),
    [
        ([], "name one task, or --all of them"),
        (["F1", "--all"], "name one task, or --all of them"),
        (["F9"], "shop has no task F9; did you mean"),
        (["F3"], "F3 has no check"),
        (["F1", "--loop", "cart"], "there is no loop cart here"),
    ],
)
def test_verify_refuses_what_it_cannot_run(running: Project, words: list[str], told: str) -> None:
    assert told in running.refused("verify", *words)


def test_verify_all_of_a_list_without_checks_is_refused(project: Project) -> None:
    project.begin()
    assert "the tasks have no check" in project.refused("verify", "--all")


def test_verify_does_not_run_an_unapproved_check(unapproved: Project) -> None:
    told = unapproved.refused("verify", "F1")
    assert "the checks of F1 are not approved; `ralphloop approve` shows them." in told
    done = unapproved.run("verify", "--all")
    assert done.code == 1
    assert "- F1: not approved, not run" in done.out
    assert not mark(unapproved).exists()


def test_verify_of_a_command_that_was_changed_does_not_run_it(running: Project) -> None:
    change(running, "F2", verify=[leaving(running, "hostile")])
    running.run("verify", "F2")
    assert not mark(running).exists()


def test_verify_names_a_protected_file_that_was_touched(project: Project) -> None:
    project.write("check.sh", "true\n")
    begin(project, task("F1", "sh check.sh"), task("F2"), protect=["check.sh"])
    project.write("check.sh", leaving(project) + "\n")
    done = project.run("verify", "F1")
    assert done.code == 1
    assert "check.sh (changed)" in done.out
    assert not mark(project).exists()
    assert project.fine("verify", "F1").endswith("✓ F1: green\n")


# evidence


def test_without_a_check_there_is_no_evidence(running: Project) -> None:
    assert running.fine("evidence") == "Nothing was checked in shop yet.\n"
    told = running.refused("evidence", "F1")
    assert "there is no evidence for F1 in shop: its check was not run yet; `ralphloop verify F1`" in told
    assert "shop has no task F9; did you mean" in running.refused("evidence", "F9")


def test_evidence_lists_every_run(running: Project) -> None:
    running.fine("done", "F1")
    running.run("verify", "F2")
    claim(running, "F2")
    running.stop()
    first, second, third = running.fine("evidence", env=WIDE).splitlines()
    assert first.startswith("✓ 0001-F1 ")
    assert second.startswith("✗ 0002-F2 ")
    assert [line.split()[3] for line in (first, second, third)] == ["done", "manual", "claim"]
    assert len(running.fine("evidence", "F2", env=WIDE).splitlines()) == 2


def test_one_piece_of_evidence_is_told_in_full(running: Project) -> None:
    running.run("done", "F2")
    for name in ("F2", "0001-F2"):
        said = running.fine("evidence", name)
        assert f"command        {RED}\n" in said
        assert "exit_code      3\n" in said
        assert "the end of its output:\n  first\n  second\n" in said


def test_evidence_in_json(running: Project) -> None:
    running.run("done", "F2")
    (found,) = json.loads(running.fine("evidence", "--json"))["evidence"]
    wanted = {
        "id": "0001-F2", "tasks": ["F2"], "command": RED, "green": False, "exit_code": 3, "file": "sound",
        "kind": "done", "cwd": str(running.root), "output_tail": "first\nsecond\n", "timed_out": False,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


def test_altered_and_missing_files_are_named(running: Project) -> None:
    running.fine("done", "F1")
    running.run("done", "F2")
    altered, missing = evidence_files(running)
    altered.write_text(altered.read_text(encoding="utf-8").replace("exit 0", "exit 1"), encoding="utf-8")
    missing.rename(running.folder / "gone.json")
    before = running.digest()
    first, second = running.fine("evidence", env=WIDE).splitlines()
    assert first.endswith("(its file is altered)")
    assert second.endswith("(its file is missing)")
    told = json.loads(running.fine("evidence", "--json"))["evidence"]
    assert [found["file"] for found in told] == ["altered", "missing"]
    assert all("output_tail" not in found for found in told)
    assert [found["green"] for found in told] == [True, False]
    assert running.digest() == before


def test_a_forged_file_is_no_evidence(running: Project) -> None:
    running.fine("done", "F1")
    (real,) = evidence_files(running)
    forged = {**json.loads(real.read_text(encoding="utf-8")), "id": "0002-F2", "tasks": ["F2"]}
    real.with_name("0002-F2.json").write_text(json.dumps(forged), encoding="utf-8")
    assert len(running.fine("evidence", env=WIDE).splitlines()) == 1
    assert "there is no evidence for F2" in running.refused("evidence", "F2")


def test_the_next_evidence_never_writes_over_a_file(running: Project) -> None:
    running.fine("verify", "F1")
    (first,) = evidence_files(running)
    squatting = first.with_name("0003-F1.json")
    squatting.write_text("mine\n", encoding="utf-8")
    running.fine("verify", "F1")
    assert squatting.read_text(encoding="utf-8") == "mine\n"
    assert len(evidence_files(running)) == 3


def test_evidence_keeps_no_secret_of_the_environment(project: Project) -> None:
    begin(project, task("F1", "echo token $MY_API_TOKEN; exit 1"), task("F2"))
    secret = "s3cr3t-0123456789-abcdefghijklmnop"
    done = project.run("done", "F1", env={"MY_API_TOKEN": secret})
    assert secret not in done.out
    assert all(secret not in file.read_text(encoding="utf-8") for file in evidence_files(project))


def test_evidence_is_private(running: Project) -> None:
    running.fine("done", "F1")
    (file,) = evidence_files(running)
    assert os.stat(file).st_mode & 0o077 == 0


def test_the_list_is_not_touched_by_looking(running: Project) -> None:
    running.fine("verify", "F1")
    before = (running.root / LIST).read_bytes(), running.digest()
    running.fine("evidence", "F1")
    assert ((running.root / LIST).read_bytes(), running.digest()) == before
