"""Task texts and ids of any kind: told in full safety, in a reason that stays under its limit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LoopProject, boxes, feature, feature_list, loop_files, task_id

MB = 1 << 20
TEXTS = {
    "quotes": 'it\'s "quoted" `ticked` \\ and \\\\ more',
    "newlines": "one\ntwo\r\nthree\u2028four",
    "shell": "$(touch ran) `touch ran`; touch ran && touch ran | touch ran > ran",
    "emoji": "🦊👩‍👩‍👧‍👦 \u202e abc",
    "long": "word " * (MB // 5),
    "long word": "x" * MB,
    "half a character": "\ud83d broken",
    "nul": "a\0b",
    "marker": "ALL_TASKS_COMPLETE",
    "format": "%s %d %(x)s {0} {x}",
}
IDS = ["../../x", "/etc/passwd", "x" * 300, "a\0b", "a\nb", "'; touch ran; '", "\ud800", "é", "-rf", "y" * MB]


def one(project: ProjectFactory, *features: dict[str, Any]) -> LoopProject:
    found = project("features", {".ralph/loops/demo/feature_list.json": feature_list(*features)})
    found.arm()
    return found


def test_any_text_of_a_feature_is_harmless(project: ProjectFactory) -> None:
    for name, text in TEXTS.items():
        odd = feature("A", description=text, steps=[text] * 3, verify=text, notes=text)
        found = one(project, odd, feature("B"))
        answer = found.turn(text)
        assert answer.blocks, name
        assert len(answer.reason) < 10_000, name
        assert len(answer.message) < 500, name
        assert "done A`" in answer.reason, name
        assert not list(found.base.rglob("ran")), name


def test_any_id_of_a_feature_is_harmless(project: ProjectFactory) -> None:
    for task in IDS:
        name = ascii(task)[:20]
        found = one(project, feature(task), feature("B"))
        before = set(found.base.rglob("*"))
        answer = found.turn()
        assert answer.blocks, name
        assert len(answer.message.splitlines()) == 1, name
        assert len(answer.message) < 500, name
        assert found.loop()["current"] == task, name
        new = set(found.base.rglob("*")) - before - {found.transcript, *found.transcript.parents}
        ours = [path for path in new if {found.run_folder, found.state_home} & {*path.parents}]
        assert new == set(ours), name
        found.own.write_text(feature_list(feature(task, passes=True), feature("B", passes=True)))
        assert "complete" in found.turn().message, name


def test_any_id_that_waits_is_named_shortly(project: ProjectFactory) -> None:
    found = one(project, *[feature(task, needs_human="x") for task in IDS])
    assert len(found.turn().message) < 1000


def test_any_id_that_is_stuck_is_named_shortly(project: ProjectFactory) -> None:
    found = one(project, *[feature(task, depends_on=["nowhere" * 999]) for task in IDS])
    assert len(found.turn().message) < 1000


def test_ids_that_are_numbers_or_missing_get_their_place(project: ProjectFactory) -> None:
    features = [{"id": 7, "title": "seven"}, {"description": "second"}, {"id": None, "description": "third"}]
    found = one(project, *features)
    assert "next 7" in found.turn().message
    moved = [{**features[0], "passes": True}, features[2], features[1]]
    found.own.write_text(json.dumps({"features": moved}))
    assert "next 3" in found.turn().message


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_any_text_of_a_box_is_harmless(project: ProjectFactory, layout: str) -> None:
    for name in sorted(set(TEXTS) - {"half a character", "newlines"}):
        found, text = project(layout), TEXTS[name]
        (found.folder / "tasks.md").write_text(boxes(text, "second") + f"  - **Verify**: `{text}`\n")
        found.arm()
        answer = found.turn()
        assert answer.blocks, name
        assert "1.1" in answer.reason, name
        assert "done 1.1`" in answer.reason, name
        assert not list(found.base.rglob("ran")), name


def test_bytes_that_are_no_text_survive(project: ProjectFactory) -> None:
    found = project("specum")
    tasks = found.folder / "tasks.md"
    tasks.write_bytes(b"- [ ] 1.1 caf\xe9 \xff\xfe\r\n- [ ] 1.2 two")
    before = tasks.read_bytes()
    found.own.write_bytes(found.own.read_bytes().replace(b'"spec"', b'"sp\xe9c"'))
    found.arm()
    assert found.turn().blocks
    assert tasks.read_bytes() == before
    assert b'"sp\xe9c"' in found.own.read_bytes()


def test_many_background_tasks_do_not_push_the_task_out(armed: LoopProject) -> None:
    shell = {"id": "1", "type": "shell", "status": "running", "description": "x" * 900}
    answer = armed.turn(background_tasks=[shell] * 300)
    assert task_id(armed.layout, 1) in answer.reason
    assert f"ask {task_id(armed.layout, 1)}" in answer.reason


def test_a_list_of_many_tasks_is_answered_shortly(project: ProjectFactory) -> None:
    found = project("features", loop_files("features", total=5000))
    found.arm()
    answer = found.turn("ALL_TASKS_COMPLETE")
    assert "5000 tasks are open: F1, F2" in answer.reason
    assert "and 4980 more" in answer.reason
