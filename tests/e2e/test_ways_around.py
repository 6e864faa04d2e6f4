"""Ways around the approval of the person, and around the pinned criteria, that lead nowhere."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from e2e.checking import Asked, begin, change, task, write_list
from e2e.checking import leaving as leaving_in
from e2e.checking import mark as mark_of
from e2e.cli_project import SESSION, Project
from hook.attack import (
    checked_files,
    checked_list,
    commands_run,
    forge,
    leaving,
    mark,
    needs_approval,
    outcome,
    process,
)
from hook.harness import OWN_FILES, LoopProject
from hook.lines import now_iso, tool_line
from ralphloop.engine import checks
from ralphloop.engine.find import Call
from ralphloop.hook.main import stop
from ralphloop.proof import approval, protect, prove
from ralphloop.proof.checker import Origin
from ralphloop.store import pins, repair, tasks
from ralphloop.store.shelf import Shelf

LIST = OWN_FILES["features"]


@pytest.fixture
def found(tmp_path: Path) -> LoopProject:
    made = LoopProject(tmp_path, "features")
    made.is_registered = True  # a way may lead past the guard, or past the interpreter that it chooses
    return made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def stop_here(found: LoopProject) -> None:
    """A stop in this process, so that a test can step in between two of its reads."""
    found.add_lines(tool_line("Bash", {"command": "true"}))
    call = Call(registration="x", layouts=("features", "specum"), env=found.env(), cwd=str(found.root))
    stop(found.payload(), call)


# Where the approval lies


@pytest.mark.parametrize("named", ["{root}/.home", "/proc/self/cwd/.home", ".home"])
def test_a_home_in_the_project_approves_nothing(found: LoopProject, named: str) -> None:
    """The `env` of the project's settings reaches the hook, HOME included."""
    command = leaving(mark(found))
    found.write(checked_files("features", command))
    real = found.root / ".home"
    found.extra_env["HOME"] = str(real)
    found.arm(approve=False)
    forge(Shelf(str(found.root), {"HOME": str(real)}), command)
    found.close(1)
    found.extra_env["HOME"] = named.format(root=found.root)
    found.turn()
    assert not mark(found).exists()


def test_a_state_directory_in_the_repository_above_approves_nothing(found: LoopProject) -> None:
    """The loop lies in a folder of the repository, the state directory that came with it in another."""
    command = leaving(mark(found))
    repository = found.root
    found.git("init", "--quiet")
    found.root = repository / "app"
    found.write(checked_files("features", command))
    state = {"XDG_STATE_HOME": str(repository / "state")}
    found.extra_env.update(state)
    found.arm(approve=False)
    forge(Shelf(str(found.root), state), command)
    found.close(1)
    found.turn()
    assert not mark(found).exists()


@pytest.mark.parametrize("named", ["{root}/.state", "/proc/self/cwd/.state"])
def test_a_state_directory_in_the_project_names_no_interpreter(found: LoopProject, named: str) -> None:
    script = found.root / ".state/run"
    found.write(
        {
            ".state/run": f"#!/bin/sh\n{leaving(mark(found))}\n",
            ".state/ralphloop/python": str(script) + "\n",
        }
    )
    script.chmod(0o755)
    found.extra_env["XDG_STATE_HOME"] = named.format(root=found.root)
    found.stop()
    assert not mark(found).exists()


def test_a_new_folder_with_the_number_of_the_removed_one_is_not_approved(found: LoopProject) -> None:
    """`rm -rf project && git clone …`: file systems give a freed inode to the next who asks."""
    found.write({**checked_files("features", "sh check.sh"), "check.sh": "true\n"})
    found.arm()
    number = os.stat(found.root).st_ino
    shutil.rmtree(found.root)
    for count in range(2000):
        made = found.base / f"new{count}"
        made.mkdir()
        if os.stat(made).st_ino == number:
            made.rename(found.root)
            break
    else:
        pytest.skip("this file system does not use an inode again")
    found.write({**checked_files("features", "sh check.sh"), "check.sh": leaving(mark(found)) + "\n"})
    found.close(1)
    found.turn()
    assert not mark(found).exists()


def test_a_folder_that_only_says_that_it_is_a_worktree_runs_no_check(found: LoopProject) -> None:
    """Its `.git` points at the approved project, and git there knows nothing of it."""
    found.write({**checked_files("features", "sh check.sh"), "check.sh": "true\n"})
    found.commit_all()
    found.arm()
    found.close(1)
    hostile = found.base / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: {found.root}/.git/worktrees/none\n")
    (hostile / "check.sh").write_text(leaving(mark(found)) + "\n")
    found.extra_env["CLAUDE_PROJECT_DIR"] = str(hostile)
    found.add_lines(tool_line("Bash", {"command": "true"}))
    data = json.dumps(found.payload(cwd=str(hostile))).encode()
    found.run(data, cwd=hostile)
    assert not mark(found).exists()


def test_a_filter_of_the_repository_does_not_run_for_a_look_at_the_tree(found: LoopProject) -> None:
    found.write(
        {**checked_files("features", "true"), "data.txt": "one\n", ".gitattributes": "*.txt filter=evil\n"}
    )
    found.commit_all()
    found.arm()
    found.git("config", "filter.evil.clean", leaving(mark(found)) + "; cat")
    found.write({"data.txt": "two\n"})
    found.close(1)
    found.turn()
    assert commands_run(found) == ["true"]
    assert not mark(found).exists()


# Between one read of the list and the next


def test_tasks_that_are_named_are_judged_by_what_was_read_of_them(found: LoopProject) -> None:
    """`verify` and `done` take the command from one reading, and whether it may run from another."""
    found.write(checked_files("features", leaving(mark(found))))
    loop = found.arm(approve=False)
    chosen = tasks.parse_source(loop.record).tasks[:1]
    found.write({LIST: checked_list()})
    state = loop.load()
    assert state is not None
    prover = prove.Prover(loop, cwd=str(found.root), env=found.env(), origin=Origin("manual"))
    assert prover.plan_tasks(chosen, state) == ["F1"]
    prover.run()
    assert not mark(found).exists()


@pytest.mark.parametrize("layout", ["features", "specum"])
def test_a_claim_is_judged_by_the_pinned_check_whatever_the_list_says_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    """Both commands are approved, and one is never red: a list flipped at the right moment takes that."""
    found = LoopProject(tmp_path, layout, checked_files(layout, "exit 1", "true"))
    found.arm()
    easy = checked_files(layout, "true", "true")
    real, name = checks.prover, "F1" if layout == "features" else "1.1"

    def flipped(*args: Any) -> prove.Prover:
        found.write({path: text for path, text in easy.items() if path.endswith(("tasks.md", "list.json"))})
        found.close(1)
        return real(*args)

    found.close(1)
    monkeypatch.setattr(checks, "prover", flipped)
    stop_here(found)
    assert found.the_loop().load_ledger().tasks.get(name, {}).get("state") != "proven"


def test_a_pinned_check_of_a_spec_is_not_lost_to_a_list_that_flips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an unapproved command in its place for a moment, the task is unverified for good."""
    found = LoopProject(tmp_path, "specum", checked_files("specum", "exit 1"))
    found.arm()
    path = found.folder / "tasks.md"
    real = checks.prover

    def flipped(*args: Any) -> prove.Prover:
        path.write_text(path.read_text().replace("`exit 1`", "`exit 2`"))
        return real(*args)

    found.close(1)
    with monkeypatch.context() as patched:
        patched.setattr(checks, "prover", flipped)
        stop_here(found)
    found.close(1)
    found.turn()
    assert found.the_loop().load_ledger().tasks.get("1.1", {}).get("state") != "unverified"


def test_criteria_are_not_put_back_through_a_link_out_of_the_project(
    found: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the list leads out is asked first, and it is written later."""
    found.write(checked_files("features", "true"))
    found.arm()
    outside = found.base / "somebody else's"
    outside.write_text("precious\n")
    real = repair.reject

    def swapped(*args: Any) -> str:
        name = real(*args)
        found.own.rename(found.own.with_name("before.json"))
        found.own.symlink_to(outside)
        return name

    found.write({LIST: checked_list("exit 1")})
    monkeypatch.setattr(pins.repair, "reject", swapped)
    stop_here(found)
    assert outside.read_text() == "precious\n"


@pytest.mark.parametrize("harm", ["printf '{' > {list}", "rm {list}"])
def test_a_list_that_breaks_while_its_check_runs_does_not_break_the_hook(
    found: LoopProject, harm: str
) -> None:
    found.write(checked_files("features", harm.replace("{list}", LIST) + "; exit 1"))
    found.arm()
    found.close(1)
    found.turn()  # its answer says that nothing was reported as a bug


def test_a_list_with_an_unapproved_check_on_a_task_that_was_done_before_is_not_complete(
    found: LoopProject,
) -> None:
    """The final run is one of everything: what may not run has not been green."""
    found.write({LIST: checked_list(leaving(mark(found)), done=1)})
    found.arm(approve=False)
    for number in (2, 3):
        found.close(number)
        found.turn()
    assert not mark(found).exists()
    assert found.loop()["outcome"] == "needs_approval"


# What the person is shown


@pytest.mark.parametrize("words", [["start", "shop"], ["approve", "shop"]])
def test_nobody_is_asked_about_commands_that_were_not_shown(project: Project, words: list[str]) -> None:
    write_list(project, task("F1", "echo unseen"))
    if words[0] == "approve":
        project.fine("start", "shop", "--unapproved")
    with Asked(project, *words, "--json") as asked:
        said = asked.wait_for("}") if words[0] == "approve" else asked.wait_for("nothing is approved")
        assert "[y/N] " not in said


def test_what_is_typed_after_a_refused_start_in_the_client_approves(project: Project) -> None:
    """The refusal says: type this, then start again."""
    write_list(project, task("F1", "echo one"))
    told = project.run("start", "shop", env={"CLAUDECODE": "1"}).err
    typed = told.partition("type `")[2].partition("`")[0]
    assert typed.startswith("/ralphloop:approve ")
    project.stop(hook_event_name="UserPromptSubmit", prompt=typed)
    project.fine("start", "shop", env={"CLAUDECODE": "1"})


def test_the_terminal_that_a_refused_start_names_can_approve(project: Project) -> None:
    write_list(project, task("F1", "echo one"))
    told = project.run("start", "shop", env={"CLAUDECODE": "1"}).err
    assert "or run `ralphloop approve` in a terminal of their own" in told
    project.fine("approve", "--yes")


def test_the_end_of_a_long_command_is_not_kept_from_who_is_to_type_the_digest(found: LoopProject) -> None:
    command = "echo " + "x" * 200 + "; " + leaving(mark(found), "hidden")
    found.write(checked_files("features", command))
    found.arm(approve=False)
    found.close(1)
    told = found.turn().message
    assert command in told or "--show" in told


def test_protected_files_are_adopted_only_as_they_were_shown(project: Project) -> None:
    project.write("check.sh", "true\n")
    begin(project, task("F1", "sh check.sh"), task("F2"), protect=["check.sh"])
    change(project, "F2", description="Do F2 better")
    with Asked(project, "approve") as asked:
        said = asked.wait_for("[y/N] ")
        assert "check.sh" not in said.partition("@@")[0]
        project.write("check.sh", leaving_in(project, "hostile") + "\n")
        asked.answer("y\n")
    project.run("verify", "F1")
    assert not mark_of(project).exists()


# The agent as the person


def test_the_agent_that_feeds_the_hook_by_hand_is_not_the_person(found: LoopProject) -> None:
    """Fact 79: a hook runs as `…_harness`, the agent's shell as `…_agent`."""
    command = leaving(mark(found))
    found.write(checked_files("features", command))
    found.arm(approve=False)
    found.close(1)
    needs_approval(found, command)
    with process("sleep", "60", env={"PATH": "/usr/bin:/bin"}) as client:
        found.extra_env.update(
            CLAUDECODE="1", AI_AGENT="claude-code_2-1-325_agent", CLAUDE_PID=str(client.pid)
        )
        found.send("UserPromptSubmit", prompt=f"/ralphloop:approve {approval.digest([command])}")
    found.extra_env.clear()
    found.turn()
    assert outcome(found) == "needs_approval"
    assert not mark(found).exists()


def test_a_prompt_that_the_agent_scheduled_is_not_typed(found: LoopProject) -> None:
    """CronCreate with such a prompt: 2.1.325 submits it with the very payload of a typed one. Its transcript
    ends with these lines then, and only a typed one is followed by UserPromptExpansion (run)."""
    command = leaving(mark(found))
    found.write(checked_files("features", command))
    found.arm(approve=False)
    found.close(1)
    needs_approval(found, command)
    said = f"/ralphloop:approve {approval.digest([command])}"
    found.turn(session_crons=[{"id": "1", "schedule": "1 1 16 11 *", "recurring": False, "prompt": said}])
    found.add_lines(
        {"type": "queue-operation", "operation": "enqueue", "content": said, "timestamp": now_iso()},
        {"type": "queue-operation", "operation": "dequeue", "timestamp": now_iso()},
        {"type": "system", "subtype": "scheduled_task_fire", "prompt": said, "timestamp": now_iso()},
    )
    found.new_prompt()
    found.send("UserPromptSubmit", prompt=said)
    found.turn()
    assert outcome(found) == "needs_approval"
    assert not mark(found).exists()


# Protected files


def test_what_a_protected_link_leads_to_is_protected(found: LoopProject) -> None:
    files = {"check.sh": "", "scripts/real.sh": "exit 1\n"}
    found.write({**checked_files("features", "sh check.sh", protect=["check.sh"]), **files})
    (found.root / "check.sh").unlink()
    (found.root / "check.sh").symlink_to("scripts/real.sh")
    protect.pin(found.arm(), str(found.root))
    found.write({"scripts/real.sh": "true\n"})
    found.close(1)
    found.turn()
    assert found.the_loop().load_ledger().tasks.get("F1", {}).get("state") != "proven"


def test_a_run_folder_swapped_for_a_link_is_not_followed_out_of_the_project(found: LoopProject) -> None:
    found.write(checked_files("features", "true"))
    found.arm()
    outside = found.base / "outside"
    outside.mkdir()
    place = found.run_folder
    place.rename(found.base / "before")
    place.symlink_to(outside)
    found.close(1)
    found.turn()
    assert list(outside.iterdir()) == []


# Texts


def test_a_check_that_no_terminal_can_show_does_not_break_the_hook(found: LoopProject) -> None:
    listed = checked_list("echo X").replace("echo X", "echo \\ud800")
    found.write({**checked_files("features"), LIST: listed})
    found.arm(approve=False)
    found.close(1)
    needs_approval(found)


def test_a_number_of_tokens_beyond_every_number_is_wrong_usage(project: Project) -> None:
    project.new()
    assert project.run("start", "shop", "--max-tokens", "9" * 400).code == 2


# Begin anew


def test_an_agent_that_cancels_and_starts_again_has_used_what_it_used(project: Project) -> None:
    agent = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}
    project.begin("shop", "--max-iterations", "20")
    for turn in range(3):
        assert project.stop(last_assistant_message=f"turn {turn}", prompt_id="p") is not None
    used = project.status()["iteration"]
    project.fine("cancel", env=agent)
    assert "a higher limit" in project.refused("start", "shop", "--max-iterations", "21", env=agent)
    project.fine("start", "shop", env=agent)
    (loop,) = [
        one for one in json.loads(project.fine("status", "--json"))["loops"] if one["state"] == "running"
    ]
    assert loop["iteration"] == used > 1
    project.fine("cancel", "shop")
    project.fine("start", "shop", "--session", SESSION, "--max-iterations", "30")
