"""The scene of a case: placeholders, files, times, and what a session's transcript begins with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphloop.errors import SceneError
from ralphloop.lab.conformance.case import Case, parse
from ralphloop.lab.conformance.scene import Scene, since

CASE: dict[str, Any] = {"title": "It holds", "stands_for": ["spec 1"], "layout": "features", "step": [{}]}
LIST = ".ralph/loops/demo/feature_list.json"


def case(**fields: Any) -> Case:
    return parse({**CASE, **fields}, file="a.toml")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "scene")


def test_placeholders_are_filled_and_blanked_again(scene: Scene) -> None:
    text = "@ROOT@/x @HOME@/y @A@ @B@ @LOGS@/@A@.jsonl @a@"
    filled = scene.fill(text)
    assert filled.split(" @a@")[0].endswith(f"{scene.session('A').id}.jsonl")
    assert str(scene.session("A").log.path) in filled
    assert "@a@" in filled
    assert scene.blank(filled) == text
    assert scene.fill_all({"@A@": ["@B@", 1]}) == {scene.session("A").id: [scene.session("B").id, 1]}


def test_files_of_the_project_and_the_home_are_laid(scene: Scene) -> None:
    raw = {"a/b.txt": "@ROOT@", "raw": "base64:/wA="}
    scene.lay(case(files=raw, home={".x/y": "text"}, links={"a/link": "b.txt"}))
    assert (scene.root / "a/b.txt").read_text() == str(scene.root)
    assert (scene.root / "raw").read_bytes() == b"\xff\x00"
    assert (scene.home / ".x/y").read_text() == "text"
    seen = scene.look()
    assert {path: each.kind for path, each in seen.items()} == {
        "a": "folder", "a/b.txt": "file", "a/link": "link", "raw": "file", "@HOME@/.x": "folder",
        "@HOME@/.x/y": "file",
    }  # fmt: skip
    assert scene.name("@HOME@/.x/*") == "@HOME@/.x/*"
    assert scene.name("@ROOT@/a/b.txt") == "a/b.txt"


@pytest.mark.parametrize("path", ["../x", "/etc/hostname", "@HOME@/../x", "a/../../x"])
def test_nothing_is_written_outside_the_scene(scene: Scene, path: str) -> None:
    with pytest.raises(SceneError, match="outside the project and the home"):
        scene.write({path: "text"})


def test_no_link_of_a_case_leads_a_change_out_of_the_scene(scene: Scene, tmp_path: Path) -> None:
    """A suite may be anybody's; a hook may be led out, what lays the files may not."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("mine")
    scene.lay(case(links={"folder": str(outside), "file": str(outside / "a"), "home": "@HOME@"}))
    for path in ("folder/a", "folder/b", "file"):
        with pytest.raises(SceneError, match="leads outside"):
            scene.write({path: "theirs"})
    with pytest.raises(SceneError, match="leads outside"):
        scene.remove("folder/a")
    with pytest.raises(SceneError, match="leads outside"):
        scene.replace("file", "mine", "theirs")
    scene.write({"home/x": "fine"})
    scene.remove("file")
    assert [path.name for path in outside.iterdir()] == ["a"]
    assert (outside / "a").read_text() == "mine"


def test_a_project_can_be_a_repository_with_everything_committed(scene: Scene) -> None:
    scene.lay(case(files={"a.txt": "text"}, git=True))
    scene.git("diff", "--exit-code", "HEAD", "--", "a.txt")
    (scene.root / "a.txt").write_text("other")
    with pytest.raises(SceneError, match="git diff failed"):
        scene.git("diff", "--exit-code", "HEAD", "--", "a.txt")


def test_a_text_to_replace_must_be_there(scene: Scene) -> None:
    scene.write({"a": "one one"})
    scene.replace("a", "one", "two")
    assert (scene.root / "a").read_text() == "two two"
    with pytest.raises(SceneError, match="does not have the text"):
        scene.replace("a", "one", "two")


def test_files_links_and_folders_are_removed(scene: Scene) -> None:
    scene.lay(case(files={"a/b/c": "", "d": "", "e/f": ""}, links={"l": "e"}))
    for path in ("a", "d", "l"):
        scene.remove(path)
    assert set(scene.look()) == {"e", "e/f"}


def test_times_of_a_recorded_case_move_and_ids_stay(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "scene", shift_s=3600.0)
    text = (
        '{"id": "demo-20261115T220326Z", "at": "2026-11-15T23:30:00Z", '
        '"started_at": 1794782106.5, "n": 1794782106}'
    )
    moved = json.loads(scene.moved(text))
    assert moved["at"] == "2026-11-16T00:30:00.000Z"
    assert moved["started_at"] == 1794785706.5
    assert (moved["id"], moved["n"]) == ("demo-20261115T220326Z", 1794782106)
    assert Scene(tmp_path / "other").moved(text) == text
    assert since("") == 0.0
    assert since("2026-01-01T00:00:00Z") > 0


def transcript(scene: Scene, name: str) -> list[Any]:
    return [json.loads(line) for line in scene.session(name).log.path.read_text().splitlines()]


def test_the_owners_transcript_shows_that_it_made_the_list(scene: Scene) -> None:
    scene.write({LIST: '{"features": []}', ".ralph/loops/demo/RALPH_PROMPT.md": "Go.\n"})
    (owned,) = set(scene.lists("features", {}))
    scene.begin(scene.session("A"), owned)
    asked, write, _, marked, _, taken_back, _ = transcript(scene, "A")
    assert asked["message"]["content"] == "Go.\n"
    assert write["message"]["content"][0]["input"] == {"file_path": str(owned), "content": '{"features": []}'}
    closed, opened = (line["message"]["content"][0] for line in (marked, taken_back))
    assert (closed["name"], closed["input"]["new_string"]) == ("Edit", '"passes": true')
    assert (opened["name"], opened["input"]["new_string"]) == ("Edit", '"passes": false')


def test_another_sessions_transcript_is_about_something_else(scene: Scene) -> None:
    scene.write({LIST: '{"features": []}', ".ralph/loops/demo/RALPH_PROMPT.md": "Go.\n"})
    scene.begin(scene.session("B"), None)
    (asked,) = transcript(scene, "B")
    assert asked["message"]["content"] not in ("", "Go.\n")


def test_a_raw_line_is_a_table_with_a_time_or_a_text_as_it_is(scene: Scene) -> None:
    session = scene.session("A")
    scene.add_line(session, {"type": "user"})
    scene.add_line(session, "{broken")
    scene.add_line(session, "base64:/w==")
    first, *others = session.log.path.read_bytes().splitlines()
    assert set(json.loads(first)) == {"type", "timestamp"}
    assert others == [b"{broken", b"\xff"]
