"""The short ways out of a loop, and out of the project: edits of machine files, links, a lost project."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import OWN_FILES, OWNER, LoopProject, loop_files
from hook.lines import error_line, interrupt_line, user_line
from ralphloop.domain.model import SET_ASIDE
from ralphloop.engine import find
from ralphloop.store import arming


def edit(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_editing_loop_json_neither_completes_nor_resets_a_loop(features: LoopProject) -> None:
    features.turn()
    edit(features.run_folder / "loop.json", state="ended", outcome="complete")
    assert features.turn().blocks
    edit(features.run_folder / "loop.json", iteration=1)
    features.turn()
    assert features.loop()["iteration"] == 4


def test_editing_the_ledger_in_the_project_closes_no_task(armed: LoopProject) -> None:
    armed.turn()
    vouched = {str(number): {"state": "vouched"} for number in ("1.1", "1.2", "1.3", "F1", "F2", "F3")}
    (armed.run_folder / "ledger.json").write_text(json.dumps({"tasks": vouched, "names": {}}))
    os.utime(armed.own)
    assert armed.turn().blocks
    assert armed.loop()["state"] == "running"


@pytest.mark.parametrize("name", ["journal.jsonl", "hook.log"])
@pytest.mark.parametrize("place", ["pipe", "link"])
def test_a_pipe_or_link_in_a_logs_place_neither_hangs_nor_is_followed(
    features: LoopProject, name: str, place: str
) -> None:
    features.turn()
    path, victim = features.run_folder / name, features.base / "victim"
    path.unlink()
    victim.write_text("untouched")
    if place == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(victim)
    assert features.turn().blocks
    assert path.is_file()
    assert not path.is_symlink()
    assert victim.read_text() == "untouched"


def test_a_loop_folder_replaced_by_a_link_is_not_written_through(project: ProjectFactory) -> None:
    found = project("features")
    found.arm()
    found.turn()
    victim = found.base / "victim"
    shutil.copytree(found.folder, victim)
    (victim / "feature_list.json").write_text("somebody else's")
    before = found.digest(victim)
    shutil.rmtree(found.folder)
    found.folder.symlink_to(victim)
    assert "cannot be restored" in found.turn().message
    assert not found.turn().blocks
    assert found.digest(victim) == before


@pytest.mark.usefixtures("as_registered")
def test_a_project_that_was_moved_is_not_built_anew(features: LoopProject) -> None:
    features.turn()
    shutil.move(features.root, features.base / "moved")
    answer = features.stop(cwd=features.base)
    assert answer.silent
    assert not features.root.exists()


def test_a_run_folder_that_leads_out_is_not_used(project: ProjectFactory) -> None:
    found = project("features")
    victim = found.base / "victim"
    victim.mkdir()
    (found.root / ".ralph" / "run").symlink_to(victim)
    with pytest.raises(FileNotFoundError, match="leads out"):
        found.arm()
    assert list(victim.iterdir()) == []


def test_a_tasks_file_that_leads_out_is_not_read(project: ProjectFactory) -> None:
    found = project("specum")
    found.arm()
    found.turn()
    secret = found.base / "secret.md"
    secret.write_text("- [ ] 1.1 SECRET\n")
    tasks = found.folder / "tasks.md"
    tasks.unlink()
    tasks.symlink_to(secret)
    answer = found.turn()
    assert "SECRET" not in answer.reason + answer.message


def test_names_of_phases_that_keep_changing_do_not_keep_quick_mode_going(project: ProjectFactory) -> None:
    found = project("specum", loop_files("specum", phase="research", quickMode=True))
    found.arm()
    said = []
    for number in range(62):
        found.edit_state(phase=f"phase-{number}")
        said.append(found.turn().blocks)
    assert said == [True] * 60 + [False] * 2
    assert found.loop()["outcome"] == "limit"


def test_a_session_owns_one_loop_whatever_its_layout(project: ProjectFactory) -> None:
    found = project("features")
    found.arm()
    below = found.root / "below"
    for path, text in loop_files("speckit").items():
        (below / path).parent.mkdir(parents=True, exist_ok=True)
        (below / path).write_text(text)
    found.write_by_tool(path=below / OWN_FILES["speckit"])
    found.layout, found.plugin = "speckit", found.plugin.parent / "ralph-speckit"
    payload = {**found.payload(), "cwd": str(below), "stop_hook_active": False}
    assert found.run(json.dumps(payload).encode(), cwd=below).silent
    assert len(found.runs()) == 1
    assert not (below / ".ralph").exists()


def test_two_waiting_loops_are_told_apart_by_the_prompt(project: ProjectFactory) -> None:
    files = loop_files("features")
    second = {path.replace("/demo/", "/second/"): text for path, text in files.items()}
    second[".ralph/loops/second/RALPH_PROMPT.md"] = "Work through the second list, please.\n"
    found = project("features", {**files, **second})
    for source in find.locate("features", str(found.root), found.env()):
        arming.arm(source, found.shelf(), session=None, started=True)
    told = found.send("SessionStart", source="startup").message
    assert "several loops wait" in told
    found.send("UserPromptSubmit", prompt="Work through the second list, please.")
    record = found.shelf().owned_by(OWNER)
    assert record is not None
    assert record.name == "second"


def test_two_waiting_loops_do_not_capture_a_session_with_another_prompt(project: ProjectFactory) -> None:
    files = loop_files("features")
    second = {path.replace("/demo/", "/second/"): text for path, text in files.items()}
    found = project("features", {**files, **second})
    for source in find.locate("features", str(found.root), found.env()):
        arming.arm(source, found.shelf(), session=None, started=True)
    found.send("SessionStart", source="startup")
    found.send("UserPromptSubmit", prompt="what is 2 + 2?")
    found.add_lines(user_line("what is 2 + 2?"))
    assert found.stop().silent
    assert found.shelf().owned_by(OWNER) is None


def test_an_interrupt_pauses_at_the_next_message_already(features: LoopProject) -> None:
    features.turn()
    features.add_lines(interrupt_line())
    features.new_prompt()
    answer = features.send("UserPromptSubmit", prompt="what was that?")
    assert "paused (interrupted)" in answer.message
    assert features.loop()["outcome"] == "interrupted"
    assert features.stop().silent


def test_a_message_without_an_interrupt_changes_nothing(features: LoopProject) -> None:
    features.turn()
    before = features.digest(features.root)
    assert features.send("UserPromptSubmit", prompt="by the way").silent
    assert features.digest(features.root) == before


def test_resume_gives_a_task_that_was_set_aside_another_try(project: ProjectFactory) -> None:
    found = project("features", loop_files("features", total=1))
    loop = found.arm()
    ledger = loop.load_ledger()
    ledger.note("F1", state=SET_ASIDE, why="tried 5 times")
    loop.save_ledger(ledger)
    found.edit_loop(ledger=7)
    found.turn()
    assert found.loop()["outcome"] == "failed"
    state = loop.load()
    assert state is not None
    arming.take_up(loop, state)
    found.new_prompt()
    assert found.turn().blocks


def test_a_rate_limit_seen_in_the_transcript_keeps_its_reset(features: LoopProject) -> None:
    features.turn()
    features.add_lines(error_line("API Error: 429 rate limit reached, resets 7pm (Asia/Tokyo)"))
    features.new_prompt()
    features.stop()
    assert features.loop()["outcome"] == "rate_limited"
    assert features.loop()["resume_at"] > features.loop()["seen_at"]


def test_a_refused_claim_of_completion_is_journaled(features: LoopProject) -> None:
    features.turn("ALL_TASKS_COMPLETE")
    assert features.journal()[-1]["refused"] == "ALL_TASKS_COMPLETE"


def test_terminal_escapes_in_a_task_reach_neither_message_nor_reason(project: ProjectFactory) -> None:
    files = {".ralph/loops/demo/feature_list.json": json.dumps([{"id": "F\x1b[2J", "description": "a\x07b"}])}
    found = project("features", files)
    found.arm()
    answer = found.turn()
    assert answer.blocks
    assert not set("\x1b\x07") & set(answer.reason + answer.message)


@pytest.mark.usefixtures("as_registered")
def test_a_pointer_that_names_another_spec_does_not_end_the_first(project: ProjectFactory) -> None:
    found = project("specum")
    found.arm()
    assert found.turn().blocks
    (found.root / "specs/.current-spec").write_text("another\n")
    assert found.turn().blocks
    (found.root / "specs/.current-spec").write_text("demo\n")
    assert found.turn().blocks
