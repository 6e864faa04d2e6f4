"""Whose loop it is, section 7: left alone, bound once, found from anywhere in the project."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import FOLDERS, OTHER, OWNER, LoopProject
from hook.lines import now_iso, text_line, tool_line, user_line

EVENTS = ("Stop", "SubagentStop", "SessionStart", "UserPromptSubmit", "StopFailure", "SessionEnd")


def act_as(project: LoopProject, session: str) -> None:
    project.session = session
    project.new_prompt()


# A session that has nothing to do with the loop


@pytest.mark.parametrize("event", EVENTS)
def test_foreign_session_is_left_alone(armed: LoopProject, event: str) -> None:
    armed.turn()
    act_as(armed, OTHER)
    armed.add_lines(user_line("something else"), text_line("done"))
    before = armed.digest()
    fields = {"source": "startup", "prompt": "hello", "reason": "other", "error": "rate_limit"}
    assert armed.send(event, **fields).silent
    assert armed.digest() == before


def test_foreign_session_that_edits_the_list_of_an_owned_loop_is_left_alone(armed: LoopProject) -> None:
    armed.turn()
    act_as(armed, OTHER)
    armed.write_by_tool()
    before = armed.digest()
    assert armed.stop().silent
    assert armed.digest() == before


def test_foreign_session_leaves_an_armed_loop_that_it_is_older_than(any_project: LoopProject) -> None:
    any_project.add_lines(user_line("hello", timestamp=now_iso(-60)))
    any_project.arm(session=None)
    before = any_project.digest()
    assert any_project.stop().silent
    assert any_project.digest() == before


def test_no_loop_means_silence_and_no_file(any_project: LoopProject) -> None:
    any_project.own.unlink()
    before = any_project.digest()
    for event in EVENTS:
        assert any_project.send(event, source="startup", prompt="hello").silent
    assert any_project.digest() == before


def test_an_unowned_loop_is_nobodys(any_project: LoopProject) -> None:
    before = any_project.digest()
    for event in EVENTS:
        assert any_project.send(event, source="startup", prompt="hello").silent
    assert any_project.digest() == before


def test_a_loop_of_another_project_is_not_mine(project: ProjectFactory) -> None:
    mine, other = project("features"), project("features")
    other.home = mine.home
    other.arm()
    before = mine.digest()
    assert mine.stop().silent
    assert mine.digest() == before


def test_a_copied_project_is_nobodys(armed: LoopProject) -> None:
    armed.turn()
    copy = armed.base / "copy"
    shutil.copytree(armed.root, copy, symlinks=True)
    before = armed.digest(copy, armed.home)
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(copy)
    data = {"cwd": str(copy)}
    assert armed.send("Stop", **data, session_id=OTHER).silent
    assert armed.run(_bytes(armed, **data), cwd=copy).silent
    assert armed.digest(copy, armed.home) == before


def _bytes(project: LoopProject, **fields: object) -> bytes:
    import json

    return json.dumps(project.payload(**fields)).encode()


def test_a_cloned_project_is_nobodys(armed: LoopProject) -> None:
    armed.commit_all()
    clone = armed.base / "clone"
    subprocess.run(["git", "clone", "--quiet", str(armed.root), str(clone)], check=True, capture_output=True)
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(clone)
    before = armed.digest(clone, armed.home)
    assert armed.run(_bytes(armed, cwd=str(clone)), cwd=clone).silent
    assert armed.digest(clone, armed.home) == before


# Binding


def test_an_armed_loop_binds_to_the_first_session_begun_after(any_project: LoopProject) -> None:
    any_project.arm(session=None)
    answer = any_project.send("SessionStart", source="startup")
    assert "owns the loop" in answer.message
    assert any_project.loop()["owner"] == OWNER
    act_as(any_project, OTHER)
    assert any_project.send("SessionStart", source="startup").silent
    assert any_project.turn().silent
    act_as(any_project, OWNER)
    assert any_project.turn().blocks


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_an_armed_loop_does_not_bind_to_an_older_session(any_project: LoopProject, source: str) -> None:
    any_project.arm(session=None)
    assert any_project.send("SessionStart", source=source).silent
    assert any_project.loop()["owner"] is None


def test_an_armed_loop_binds_to_the_session_that_submits_its_prompt(project: ProjectFactory) -> None:
    found = project("features")
    found.add_lines(user_line("hello", timestamp=now_iso(-60)))
    found.arm(session=None)
    assert found.send("UserPromptSubmit", prompt="something else").silent
    assert found.loop()["owner"] is None
    bound = found.send("UserPromptSubmit", prompt=" Work through the list.\nOne at   a time.")
    assert "now owns the loop" in bound.said["systemMessage"]
    assert found.loop()["owner"] == OWNER
    assert found.turn().blocks


def test_an_armed_loop_binds_at_the_stop_of_a_session_begun_after(any_project: LoopProject) -> None:
    any_project.arm(session=None)
    any_project.add_lines(user_line("go", timestamp=now_iso(1)))
    assert any_project.turn().blocks
    assert any_project.loop()["owner"] == OWNER


def test_a_bound_loop_binds_no_second_time(any_project: LoopProject) -> None:
    any_project.arm(session=None)
    assert any_project.send("SessionStart", source="startup").message
    act_as(any_project, OTHER)
    any_project.add_lines(user_line("go", timestamp=now_iso(5)))
    assert any_project.stop().silent
    assert any_project.loop()["owner"] == OWNER


def test_one_session_owns_one_loop(project: ProjectFactory) -> None:
    found = project("features")
    found.arm()
    second = {path.replace("/demo/", "/more/"): text for path, text in _files(found).items()}
    found.write(second)
    found.write_by_tool()
    found.add_lines(
        tool_line(
            "Write",
            {
                "file_path": str(found.root / ".ralph/loops/more/feature_list.json"),
                "content": '{"passes": true}',
            },
        )
    )
    assert found.turn().blocks
    assert len(found.runs()) == 1


def _files(project: LoopProject) -> dict[str, str]:
    folder = FOLDERS[project.layout]
    return {f"{folder}/{path.name}": path.read_text() for path in project.folder.iterdir()}


def test_a_payload_without_session_id_is_served_as_the_owners(armed: LoopProject) -> None:
    assert armed.turn(session_id=...).blocks
    assert armed.loop()["owner"] == OWNER


def test_an_empty_owner_does_not_take_every_session(any_project: LoopProject) -> None:
    any_project.arm(session="")
    before = any_project.digest(any_project.root)
    assert any_project.stop().silent
    assert any_project.digest(any_project.root) == before


# Where the session stands


def test_found_from_a_subdirectory(armed: LoopProject) -> None:
    deep = armed.root / "src" / "deep er"
    deep.mkdir(parents=True)
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(deep)
    data = _bytes(armed, cwd=str(deep))
    assert armed.run(data, cwd=deep).blocks


def test_found_through_a_link_to_the_project(armed: LoopProject) -> None:
    link = armed.base / "link"
    link.symlink_to(armed.root)
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(link)
    assert armed.run(_bytes(armed, cwd=str(link)), cwd=link).blocks


@pytest.mark.parametrize("place", [".claude/worktrees/wt1", "../beside"])
def test_found_from_a_worktree(armed: LoopProject, place: str) -> None:
    armed.commit_all()
    tree = Path(os.path.normpath(armed.root / place))
    armed.git("worktree", "add", "--quiet", str(tree), "-b", "side")
    if armed.layout != "features":
        shutil.rmtree(tree / ("specs" if armed.layout == "specum" else ".specify"))
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(tree)
    assert armed.run(_bytes(armed, cwd=str(tree)), cwd=tree).blocks


def test_found_when_the_working_directory_was_removed(armed: LoopProject) -> None:
    gone = armed.root / "gone"
    gone.mkdir()
    data = _bytes(armed, cwd=str(gone))
    command = f"cd gone && rmdir ../gone && {{ {armed.command('Stop')}; }}"
    process = armed.start(data, argv=["/bin/sh", "-c", command])
    assert armed.finish(process).blocks


def test_a_loop_armed_in_a_worktree_stays_there(armed: LoopProject) -> None:
    """The nearest pointer wins: a session in the worktree is not taken for the main checkout's loop."""
    armed.commit_all()
    tree = armed.base / "tree"
    armed.git("worktree", "add", "--quiet", str(tree), "-b", "side")
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(tree)
    before = armed.digest()
    assert armed.run(_bytes(armed, cwd=str(tree), session_id=OTHER), cwd=tree).silent
    assert armed.digest() == before
