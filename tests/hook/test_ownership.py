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


def test_foreign_session_is_left_alone(features: LoopProject) -> None:
    features.turn()
    act_as(features, OTHER)
    features.add_lines(user_line("something else"), text_line("done"))
    before = features.digest()
    fields = {"source": "startup", "prompt": "hello", "reason": "other", "error": "rate_limit"}
    for event in EVENTS:
        assert features.send(event, **fields).silent, event
        assert features.digest() == before, event


def test_foreign_session_that_edits_the_list_of_an_owned_loop_is_left_alone(features: LoopProject) -> None:
    features.turn()
    act_as(features, OTHER)
    features.write_by_tool()
    before = features.digest()
    assert features.stop().silent
    assert features.digest() == before


def test_foreign_session_leaves_an_armed_loop_that_it_is_older_than(unarmed: LoopProject) -> None:
    unarmed.add_lines(user_line("hello", timestamp=now_iso(-60)))
    unarmed.arm(session=None)
    before = unarmed.digest()
    assert unarmed.stop().silent
    assert unarmed.digest() == before


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


@pytest.mark.usefixtures("as_registered")
def test_a_copied_project_is_nobodys(features: LoopProject) -> None:
    features.turn()
    copy = features.base / "copy"
    shutil.copytree(features.root, copy, symlinks=True)
    before = features.digest(copy, features.home)
    features.extra_env["CLAUDE_PROJECT_DIR"] = str(copy)
    data = {"cwd": str(copy)}
    assert features.send("Stop", **data, session_id=OTHER).silent
    assert features.run(_bytes(features, **data), cwd=copy).silent
    assert features.digest(copy, features.home) == before


def _bytes(project: LoopProject, **fields: object) -> bytes:
    import json

    return json.dumps(project.payload(**fields)).encode()


@pytest.mark.usefixtures("as_registered")
def test_a_cloned_project_is_nobodys(features: LoopProject) -> None:
    features.commit_all()
    clone = features.base / "clone"
    subprocess.run(
        ["git", "clone", "--quiet", str(features.root), str(clone)], check=True, capture_output=True
    )
    features.extra_env["CLAUDE_PROJECT_DIR"] = str(clone)
    before = features.digest(clone, features.home)
    assert features.run(_bytes(features, cwd=str(clone)), cwd=clone).silent
    assert features.digest(clone, features.home) == before


# Binding


def test_an_armed_loop_binds_to_the_first_session_begun_after(unarmed: LoopProject) -> None:
    unarmed.arm(session=None)
    answer = unarmed.send("SessionStart", source="startup")
    assert "owns the loop" in answer.message
    assert unarmed.loop()["owner"] == OWNER
    act_as(unarmed, OTHER)
    assert unarmed.send("SessionStart", source="startup").silent
    assert unarmed.turn().silent
    act_as(unarmed, OWNER)
    assert unarmed.turn().blocks


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_an_armed_loop_does_not_bind_to_an_older_session(unarmed: LoopProject, source: str) -> None:
    unarmed.arm(session=None)
    assert unarmed.send("SessionStart", source=source).silent
    assert unarmed.loop()["owner"] is None


def test_an_armed_loop_binds_to_the_session_that_submits_its_prompt(project: ProjectFactory) -> None:
    found = project("features")
    found.add_lines(user_line("hello", timestamp=now_iso(-60)))
    found.arm(session=None)
    assert found.send("UserPromptSubmit", prompt="something else").silent
    assert found.loop()["owner"] is None
    bound = found.send("UserPromptSubmit", prompt=" Work through the list of this\nproject. One at   a time.")
    assert "now owns the loop" in bound.said["systemMessage"]
    assert found.loop()["owner"] == OWNER
    assert found.turn().blocks


def test_an_armed_loop_binds_at_the_stop_of_a_session_begun_after(unarmed: LoopProject) -> None:
    unarmed.arm(session=None)
    unarmed.add_lines(user_line("go", timestamp=now_iso(1)))
    assert unarmed.turn().blocks
    assert unarmed.loop()["owner"] == OWNER


def test_a_bound_loop_binds_no_second_time(unarmed: LoopProject) -> None:
    unarmed.arm(session=None)
    assert unarmed.send("SessionStart", source="startup").message
    act_as(unarmed, OTHER)
    unarmed.add_lines(user_line("go", timestamp=now_iso(5)))
    assert unarmed.stop().silent
    assert unarmed.loop()["owner"] == OWNER


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


def test_a_payload_without_session_id_is_served_as_the_owners(features: LoopProject) -> None:
    assert features.turn(session_id=...).blocks
    assert features.loop()["owner"] == OWNER


def test_an_empty_owner_does_not_take_every_session(unarmed: LoopProject) -> None:
    unarmed.arm(session="")
    before = unarmed.digest(unarmed.root)
    assert unarmed.stop().silent
    assert unarmed.digest(unarmed.root) == before


# Where the session stands


@pytest.mark.usefixtures("as_registered")
def test_found_from_a_subdirectory(armed: LoopProject) -> None:
    deep = armed.root / "src" / "deep er"
    deep.mkdir(parents=True)
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(deep)
    data = _bytes(armed, cwd=str(deep))
    assert armed.run(data, cwd=deep).blocks


@pytest.mark.usefixtures("as_registered")
def test_found_through_a_link_to_the_project(armed: LoopProject) -> None:
    link = armed.base / "link"
    link.symlink_to(armed.root)
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(link)
    assert armed.run(_bytes(armed, cwd=str(link)), cwd=link).blocks


@pytest.mark.usefixtures("as_registered")
@pytest.mark.parametrize("place", [".claude/worktrees/wt1", "../beside"])
def test_found_from_a_worktree(armed: LoopProject, place: str) -> None:
    armed.commit_all()
    tree = Path(os.path.normpath(armed.root / place))
    armed.git("worktree", "add", "--quiet", str(tree), "-b", "side")
    if armed.layout != "features":
        shutil.rmtree(tree / ("specs" if armed.layout == "specum" else ".specify"))
    armed.extra_env["CLAUDE_PROJECT_DIR"] = str(tree)
    assert armed.run(_bytes(armed, cwd=str(tree)), cwd=tree).blocks


def test_found_when_the_working_directory_was_removed(features: LoopProject) -> None:
    gone = features.root / "gone"
    gone.mkdir()
    data = _bytes(features, cwd=str(gone))
    command = f"cd gone && rmdir ../gone && {{ {features.command('Stop')}; }}"
    process = features.start(data, argv=["/bin/sh", "-c", command])
    assert features.finish(process).blocks


@pytest.mark.usefixtures("as_registered")
def test_a_loop_armed_in_a_worktree_stays_there(features: LoopProject) -> None:
    """The nearest pointer wins: a session in the worktree is not taken for the main checkout's loop."""
    features.commit_all()
    tree = features.base / "tree"
    features.git("worktree", "add", "--quiet", str(tree), "-b", "side")
    features.extra_env["CLAUDE_PROJECT_DIR"] = str(tree)
    before = features.digest()
    assert features.run(_bytes(features, cwd=str(tree), session_id=OTHER), cwd=tree).silent
    assert features.digest() == before
