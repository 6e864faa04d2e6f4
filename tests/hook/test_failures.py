"""Reports from the field, group A: ownership. Numbers as in the facts; B and C are in files of their own.

Left out, because a hook cannot show them: 5 (orphans: `status` and `resume --adopt`), 8 (two starts: the
command line refuses, the store's half is in test_ownership).
"""

from __future__ import annotations

import pytest

from hook.conftest import ProjectFactory
from hook.harness import OTHER, OWNER, LoopProject


def test_f1_an_empty_owner_does_not_hijack_any_session(project: ProjectFactory) -> None:
    found = project("specum")
    found.arm(session="")
    before = found.digest(found.root)
    for session in (OWNER, OTHER):
        assert found.stop(session_id=session).silent
    assert found.digest(found.root) == before


def test_f2_a_parallel_session_is_not_blocked(features: LoopProject) -> None:
    features.turn()
    before = features.digest()
    assert features.stop(session_id=OTHER).silent
    assert features.digest() == before


def test_f3_no_loop_no_block_no_file(project: ProjectFactory) -> None:
    found = project("features", {"README.md": "x"})
    before = found.digest()
    assert found.stop().silent
    assert found.digest() == before


def test_f4_state_of_another_project_does_not_count(project: ProjectFactory) -> None:
    found, other = project("features"), project("features")
    other.home = found.home
    other.arm()
    assert found.stop().silent


@pytest.mark.parametrize("fields", [{"agent_id": "a1"}, {"hook_event_name": "SubagentStop"}])
def test_f6_subagents_are_not_kept_running(features: LoopProject, fields: dict[str, str]) -> None:
    before = features.digest()
    assert features.stop(**fields).silent
    assert features.digest() == before


def test_f7_a_session_outside_the_loop_changes_no_counter(features: LoopProject) -> None:
    features.turn()
    before = (features.run_folder / "loop.json").read_bytes()
    for _ in range(5):
        assert features.stop(session_id=OTHER).silent
    assert (features.run_folder / "loop.json").read_bytes() == before


def test_f9_clear_does_not_hand_the_loop_to_the_new_session(features: LoopProject) -> None:
    """Amended (section 7): resume and compaction keep the owner, /clear pauses until `resume --adopt`."""
    features.turn()
    features.send("SessionEnd", reason="clear")
    features.session = OTHER
    features.send("SessionStart", source="clear")
    assert features.turn().silent
    assert features.loop()["owner"] == OWNER
    assert features.loop()["state"] == "paused"
