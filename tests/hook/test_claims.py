"""Loop files that nobody armed, section 7: claimed only by the session whose transcript shows its work."""

from __future__ import annotations

from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import OTHER, OWNER, LoopProject, loop_files
from hook.lines import feedback_line, interrupt_line, now_iso, text_line, tool_line, user_line

PASSED = '"id": "F1", "passes": true'


def call_for(project: LoopProject, kind: str) -> dict[str, Any]:
    path = str(project.own)
    near = f"{project.folder.name}/{project.own.name}"
    calls: dict[str, dict[str, Any]] = {
        "Write": {"file_path": path, "content": "{" + PASSED + "}"},
        "Edit": {"file_path": path, "old_string": '"passes": false', "new_string": '"passes": true'},
        "relative Write": {"file_path": str(project.own.relative_to(project.root)), "content": PASSED},
        "Bash redirect": {"command": f"echo '{{{PASSED}}}' > {near}"},
        "Bash append": {"command": f"echo '{PASSED}'>>{near}"},
        "Bash jq and mv": {"command": f"jq '.x|={{{PASSED}}}' a > /tmp/t && mv /tmp/t {near}"},
        "Bash sed": {"command": f'sed -i \'s/"passes": false/"passes": true/\' {near}'},
        "Bash tee": {"command": f"echo '{{{PASSED}}}' | tee {near}"},
        "Bash heredoc": {"command": f"cat > {near} << EOF\n{{{PASSED}}}\nEOF"},
    }
    return calls[kind]


KINDS = (
    "Write", "Edit", "relative Write", "Bash redirect", "Bash append", "Bash jq and mv", "Bash sed",
    "Bash tee", "Bash heredoc",
)  # fmt: skip


@pytest.mark.parametrize("layout", ["features", "specum"])
def test_claimed_by_a_tool_call_that_wrote_the_state(project: ProjectFactory, layout: str) -> None:
    for kind in KINDS:
        found = project(layout)
        found.add_lines(user_line("go"), tool_line(kind.split()[0], call_for(found, kind)), text_line("ok"))
        assert found.stop().blocks, kind
        assert found.loop()["owner"] == OWNER, kind


def test_claimed_although_the_last_reply_never_reaches_the_transcript(unarmed: LoopProject) -> None:
    """It is waited for, and not for long."""
    unarmed.add_lines(user_line("go"), tool_line("Write", call_for(unarmed, "Write")))
    assert unarmed.stop(last_assistant_message="Nobody has written this down.").blocks
    assert unarmed.loop()["owner"] == OWNER


def test_claimed_by_a_tool_call_of_a_subagent(any_project: LoopProject) -> None:
    path = any_project.transcript.with_suffix("") / "subagents" / "agent-1.jsonl"
    any_project.add_lines(user_line("go"), text_line("ok"))
    any_project.add_lines(tool_line("Write", call_for(any_project, "Write"), isSidechain=True), path=path)
    assert any_project.stop().blocks


def test_claimed_by_a_first_prompt_equal_to_the_prompt_file(project: ProjectFactory) -> None:
    found = project("features")
    found.add_lines(user_line("Work through   the list of this project.\nOne at a time.\n"), text_line("ok"))
    assert found.stop().blocks


@pytest.mark.parametrize(
    "lines",
    [
        [user_line("hello"), user_line("Work through the list of this project.\n\nOne at a time.\n")],
        [user_line("Work through the list of this project. One at a time. And more.")],
        [user_line("Work through the list of this project. One at a time.", isMeta=True)],
    ],
)
def test_not_claimed_by_another_prompt(project: ProjectFactory, lines: list[dict[str, Any]]) -> None:
    found = project("features")
    found.add_lines(*lines)
    assert found.stop().silent


def reads(project: LoopProject) -> list[dict[str, Any]]:
    path, name = str(project.own), project.own.name
    near = f"{project.folder.name}/{name}"
    return [
        {"command": f"cat {near}"},
        {"command": f"grep passes {near} > /tmp/out"},
        {"command": f"jq . {near} > /tmp/out"},
        {"command": f"cp {near} /tmp/there"},
        {"command": f"git add {near} && git commit -m {name}"},
        {"file_path": str(project.base / "elsewhere" / name), "content": PASSED},
        {"command": f"sed -n 's/a/b/p' {near}"},
        {"command": f"echo 1 > /elsewhere/{near}"},
        {"file_path": path + ".bak", "content": PASSED},
        {"command": f"grep -rn '{PASSED} > {near}' docs/"},
        {"command": f"cd /tmp/other && echo '{{{PASSED}}}' > {name}"},
        {"command": f"cat > notes.md <<'EOF'\necho '{PASSED}' > {near}\nEOF"},
        {"pattern": name},
        {"file_path": 3, "command": ["x", name]},
    ]


def test_not_claimed_by_a_mere_read(any_project: LoopProject) -> None:
    calls = [tool_line("Bash", given) for given in reads(any_project)]
    any_project.add_lines(user_line("look"), *calls, text_line(f"I read {any_project.own}"))
    before = any_project.digest()
    assert any_project.stop().silent
    assert any_project.digest() == before


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_not_claimed_by_the_read_tool(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.add_lines(user_line("look"), tool_line("Read", {"file_path": str(found.own)}))
    assert found.stop().silent


def test_not_claimed_by_prose_that_names_the_file(any_project: LoopProject) -> None:
    said = f'> {any_project.own} {{"type": "tool_use", {PASSED}}}'
    any_project.add_lines(user_line("look"), user_line(said), feedback_line(said), text_line(said))
    assert any_project.stop().silent


def test_a_planned_list_without_a_passed_task_is_not_claimed(project: ProjectFactory) -> None:
    found = project("features")
    found.add_lines(user_line("plan"), tool_line("Write", {"file_path": str(found.own), "content": "[]"}))
    assert found.stop().silent


def test_not_claimed_while_another_hook_drives(unarmed: LoopProject) -> None:
    unarmed.add_lines(user_line("go"), tool_line("Write", call_for(unarmed, "Write")))
    before = unarmed.digest()
    assert unarmed.stop(stop_hook_active=True).silent
    assert unarmed.digest() == before
    assert unarmed.stop(stop_hook_active=False).blocks


def test_not_claimed_by_the_file_of_another_session(unarmed: LoopProject) -> None:
    unarmed.add_lines(
        user_line("go"),
        tool_line("Write", call_for(unarmed, "Write")),
        path=unarmed.transcript_of(OTHER),
    )
    unarmed.add_lines(user_line("hello"), text_line("hi"))
    assert unarmed.stop().silent


def test_not_claimed_without_a_transcript(unarmed: LoopProject) -> None:
    assert unarmed.stop().silent
    assert not unarmed.runs()


def test_not_claimed_again_by_work_from_before_the_end(any_project: LoopProject) -> None:
    any_project.add_lines(user_line("go"), tool_line("Write", call_for(any_project, "Write")))
    assert any_project.stop().blocks
    for number in (1, 2, 3):
        any_project.close(number)
    any_project.turn()
    assert any_project.loop()["outcome"] == "complete"
    any_project.close(1, done=False)
    any_project.new_prompt()
    assert any_project.turn().silent
    assert len(any_project.runs()) == 1


def test_claimed_anew_by_work_after_the_end(project: ProjectFactory) -> None:
    found = project("specum", loop_files("specum", done=3))
    found.arm()
    found.turn()
    assert found.loop()["outcome"] == "complete"
    found.close(1, done=False)
    found.new_prompt()
    found.edit_state(taskIndex=0)
    found.add_lines(tool_line("Write", call_for(found, "Write"), timestamp=now_iso(2)))
    assert found.stop().blocks
    assert len(found.runs()) == 2


def test_a_claimed_loop_takes_the_count_of_its_state(project: ProjectFactory) -> None:
    found = project("specum", loop_files("specum", globalIteration=6))
    found.write_by_tool()
    assert "iteration 7" in found.stop().message


def test_an_interrupt_before_the_claim_is_not_forgotten(project: ProjectFactory) -> None:
    found = project("specum")
    found.write_by_tool()
    found.add_lines(interrupt_line())
    answer = found.stop()
    assert not answer.blocks
    assert found.loop()["outcome"] == "interrupted"


def test_nothing_is_claimed_while_the_plugin_is_disabled(project: ProjectFactory) -> None:
    found = project("specum")
    found.write_by_tool()
    found.write({".claude/ralph-specum.local.md": "---\nenabled: false\n---\n"})
    before = found.digest()
    assert found.stop().silent
    assert found.digest() == before
