"""Who answers a stop: one of two registrations, only the plugin of the layout, never another client's."""

from __future__ import annotations

import itertools

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OWN_FILES, OWNER, SEQUENTIAL, LoopProject, loop_files

CLIENTS = {
    "copilot": {"COPILOT_CLI": "1", "COPILOT_PROJECT_DIR": "/x"},
    "qwen": {"QWEN_PROJECT_DIR": "/x", "QWEN_CODE_SESSION_ID": "q", "GEMINI_PROJECT_DIR": "/x"},
    "gemini": {"GEMINI_SESSION_ID": "g", "GEMINI_PROJECT_DIR": "/x", "GEMINI_CWD": "/x"},
    "droid": {"DROID_PROJECT_DIR": "/x", "FACTORY_PROJECT_DIR": "/x"},
}


@pytest.mark.parametrize("order", list(itertools.permutations(["plugin", "settings"])))
def test_two_registrations_give_one_answer_per_stop(features: LoopProject, order: tuple[str, ...]) -> None:
    for _ in range(3):
        said = [features.stop(registration=name, last_assistant_message=None).blocks for name in order]
        assert said == [True, False]
    assert features.loop()["iteration"] == 4


def test_the_registration_that_served_the_prompt_serves_it_in_any_order(features: LoopProject) -> None:
    assert features.turn(registration="plugin").blocks
    assert features.turn(registration="settings").silent
    assert features.turn(registration="plugin").blocks


def test_the_next_prompt_may_be_served_by_the_other(features: LoopProject) -> None:
    for number in (1, 2, 3):
        features.close(number)
    assert not features.turn(registration="plugin").blocks
    loop = features.the_loop()
    state = loop.load()
    assert state is not None
    features.close(1, done=False)
    state.state, state.outcome = "running", None
    features.edit_loop(state="running", outcome=None)
    from ralphloop.store import shelf

    features.shelf().put(loop.record, shelf.OWNED)
    features.new_prompt()
    assert features.turn(registration="settings").blocks
    assert features.turn(registration="plugin").silent


def test_without_a_prompt_id_one_registration_serves_the_session(features: LoopProject) -> None:
    assert features.turn(registration="plugin", prompt_id=...).blocks
    assert features.turn(registration="settings", prompt_id=...).silent
    assert features.turn(registration="plugin", prompt_id=...).blocks


def test_at_the_end_of_a_loop_only_one_registration_speaks(project: ProjectFactory) -> None:
    found = project("features", loop_files("features", done=3))
    found.arm()
    assert "complete" in found.turn(registration="plugin").message
    assert found.stop(registration="settings").silent


@pytest.mark.usefixtures("as_registered")
@pytest.mark.parametrize("served", LAYOUTS)
def test_each_plugin_serves_its_own_layout_only(project: ProjectFactory, served: str) -> None:
    for other in LAYOUTS:
        found = project(served)
        found.arm()
        stranger = project(other, {})
        found.plugin, found.layout = stranger.plugin, other
        before = found.digest()
        answer = found.stop()
        if served == other:
            assert answer.blocks
        else:
            assert answer.silent, other
            assert found.digest() == before, other


def test_three_layouts_in_one_project_do_not_disturb_each_other(project: ProjectFactory) -> None:
    found = project("features")
    for layout in ("specum", "speckit"):
        found.write(loop_files(layout))
    found.arm()
    before = {layout: (found.root / name).read_bytes() for layout, name in _own_files().items()}
    assert found.turn().blocks
    for layout in ("specum", "speckit"):
        found.layout = layout
        found.plugin = found.plugin.parent / f"ralph-{layout}"
        assert found.stop().silent
        assert (found.root / _own_files()[layout]).read_bytes() == before[layout]


def _own_files() -> dict[str, str]:
    return {layout: OWN_FILES[layout] for layout in SEQUENTIAL}


def test_another_client_is_left_alone(features: LoopProject) -> None:
    before = features.digest()
    for client, variables in CLIENTS.items():
        features.extra_env = dict(variables)
        for event in ("Stop", "SessionStart", "SessionEnd", "UserPromptSubmit", "StopFailure"):
            assert features.send(event, source="startup", prompt="x").silent, (client, event)
            assert features.digest() == before, (client, event)


def test_codex_is_left_alone(features: LoopProject) -> None:
    before = features.digest()
    assert features.stop(turn_id="t1", prompt_id=...).silent
    assert features.digest() == before


def test_codex_neither_binds_nor_pauses_a_loop(project: ProjectFactory) -> None:
    """Where a session of it begins or ends, it names no turn; facts on other clients, 2.1."""
    marks = {"transcript_path": "/home/me/.codex/sessions/2026/11/15/rollout-2026-11-15T12-00-00-x.jsonl"}
    for session in (None, OWNER):
        found = project("features")
        found.arm(session=session)
        before = found.digest()
        for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
            assert found.send(event, source="startup", prompt="x", prompt_id=..., **marks).silent, event
            assert found.digest() == before, event


def test_an_event_that_copilot_names_in_its_own_words_is_no_stop(features: LoopProject) -> None:
    before = features.digest()
    fields = {"hook_event_name": ..., "session_id": ..., "hookName": "permissionRequest", "sessionId": OWNER}
    assert features.send("Stop", **fields).silent
    assert features.digest() == before


def test_claude_code_started_by_another_client_is_served(features: LoopProject) -> None:
    features.extra_env.update({"GEMINI_SESSION_ID": "g", "CLAUDE_CODE_SESSION_ID": OWNER})
    assert features.turn().blocks


def test_a_disabled_plugin_leaves_its_own_loop_alone(project: ProjectFactory) -> None:
    for layout in ("specum", "speckit"):
        found = project(layout)
        found.arm()
        found.write({f".claude/ralph-{layout}.local.md": "---\nenabled: false\n---\n"})
        before = found.digest()
        assert found.stop().silent
        assert found.digest() == before
        found.write({f".claude/ralph-{layout}.local.md": "---\nenabled: true\n---\n"})
        assert found.stop().blocks


def test_a_subagents_stop_is_left_alone(features: LoopProject) -> None:
    before = features.digest()
    fields = {"agent_id": "a1", "agent_type": "general", "agent_transcript_path": "/x"}
    assert features.send("SubagentStop", **fields).silent
    assert features.send("Stop", **fields).silent
    assert features.digest() == before
