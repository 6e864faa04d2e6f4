"""The state of a newer version: it is named, every byte of it stays, and the stop is allowed."""

from __future__ import annotations

import json

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, LoopProject
from hook.proven import cli
from ralphloop.store import shelf

SAID = "was written by a newer version of ralphloop; upgrade this one"


def content(found: LoopProject) -> dict[str, str]:
    """Every file of the loop and its list; a lock and a log of ours are neither."""
    names = ("lock", "hook.log", "request")
    return {path: told[0] for path, told in found.digest().items() if not path.endswith(names)}


@pytest.mark.parametrize("fields", [{"moon": "full"}, {"state": "dreaming"}])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_newer_versions_loop_is_named_and_left_as_it_is(
    project: ProjectFactory, layout: str, fields: dict[str, str]
) -> None:
    found = project(layout)
    found.arm()
    assert found.turn().blocks
    found.edit_loop(**fields)
    before = content(found)
    answer = found.stop()
    assert not answer.blocks
    assert SAID in answer.message
    assert "the stop is allowed" in answer.message
    for event in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
        assert not found.send(event, source="resume", prompt="x").blocks
    claim = {"tool_name": "Bash", "tool_input": {"command": "ralphloop done F1"}}
    assert found.send("PreToolUse", **claim).silent
    status = cli(found, "status")
    assert (status.returncode, SAID in " ".join(status.stdout.split())) == (0, True), status
    for words in (("resume",), ("done", "F1"), ("pause",), ("start", "demo", "--unapproved")):
        done = cli(found, *words)
        assert done.returncode == 1, (words, done)
        assert "Traceback" not in done.stderr
    assert not (found.state_home / "errors.log").exists()
    assert content(found) == before


def test_what_a_newer_version_adds_to_a_record_is_kept(features: LoopProject) -> None:
    (place,) = (features.state_home).rglob("owned/*.json")
    place.write_text(json.dumps({**json.loads(place.read_text()), "moon": "full"}))
    here = features.shelf()
    (record,) = here.records(shelf.OWNED)
    here.put(record, shelf.ENDED)
    (place,) = (features.state_home).rglob("ended/*.json")
    assert json.loads(place.read_text())["moon"] == "full"


def test_unknown_words_in_the_projects_own_copy_change_nothing(features: LoopProject) -> None:
    """Whoever may write there is no newer version."""
    path = features.run_folder / "loop.json"
    path.write_text(json.dumps({**features.loop(), "moon": "full", "state": "dreaming"}))
    assert features.turn().blocks
