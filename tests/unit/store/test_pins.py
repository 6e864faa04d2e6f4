"""Pinned criteria on disk: pinned once, put back where they were changed, and what is said about it."""

from __future__ import annotations

import contextlib
import json
import os

import pytest

from ralphloop.domain.ledger import Ledger
from ralphloop.store import pins, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import traits
from unit.layouts import FEATURES, SPECUM

ONE = {"id": "F1", "description": "one", "verify": "make one"}
TWO = {"id": "F2", "description": "two", "verify": "make two"}
BOXES = "- [ ] 1.1 One\n  **Verify**: `a`\n- [ ] 1.2 Two\n"


def read(loop):
    return tasks.read_source(loop.record)


def guarded(loop, ledger=None):
    listed, texts = read(loop)
    return pins.guard(loop, listed, texts, ledger if ledger is not None else Ledger())


def text_of(loop) -> str:
    with open(loop.record.paths[traits(loop.record.layout).criteria], encoding="utf-8", newline="") as file:
        return file.read()


def rejected(loop) -> list[str]:
    folder = loop.path("rejected")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def journal(loop) -> list[dict]:
    try:
        with open(loop.path("journal.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


@pytest.fixture
def loop(project):
    project.features(ONE, TWO)
    found = project.loop()
    pins.pin(found, read(found)[1])
    return found


@pytest.mark.parametrize(("layout", "role"), [(FEATURES, "list"), (SPECUM, "tasks")])
def test_the_pinned_file_is_the_one_with_the_tasks(layout, role):
    assert traits(layout).criteria == role


def test_the_list_is_pinned_byte_for_byte(project):
    text = '\ufeff{"features" :\r\n [ {"id":1.0, "x": "é\\u00e9"} ]}'
    project.write("feature_list.json", text)
    found = project.loop()
    assert pins.pinned(found) is None
    pins.pin(found, read(found)[1])
    assert pins.pinned(found) == text


def test_a_list_without_pins_gets_them_now(project):
    project.features(ONE)
    found = project.loop()
    assert guarded(found).notes == []
    assert pins.pinned(found) == text_of(found)


def test_a_spec_whose_tasks_are_still_to_be_written_is_not_pinned(project):
    found = project.spec('{"phase": "tasks"}', BOXES)
    guarded(found)
    assert pins.pinned(found) is None
    project.write("s.json", '{"phase": "execution"}')
    guarded(found)
    assert pins.pinned(found) == BOXES


def test_a_list_that_is_as_it_was_is_left_alone(loop):
    before = os.stat(loop.record.paths["list"]).st_mtime_ns
    found = guarded(loop)
    assert (found.notes, found.added, rejected(loop)) == ([], [], [])
    assert os.stat(loop.record.paths["list"]).st_mtime_ns == before


def test_a_claim_is_no_change(project, loop):
    project.features({**ONE, "passes": True}, TWO)
    before = text_of(loop)
    assert guarded(loop).notes == []
    assert (text_of(loop), rejected(loop), journal(loop)) == (before, [], [])


def test_what_was_changed_is_put_back_kept_named_and_journaled(project, loop):
    pinned = text_of(loop)
    project.features({**ONE, "verify": "true"}, TWO)
    changed = text_of(loop)
    found = guarded(loop)
    assert text_of(loop) == pinned
    assert [task.verify for task in found.tasks.tasks] == [("make one",), ("make two",)]
    assert found.texts["list"] == pinned
    (note,) = found.notes
    assert "are back: F1 (verify)." in note
    (name,) = rejected(loop)
    with open(os.path.join(loop.path("rejected"), name), encoding="utf-8") as file:
        assert file.read() == changed
    (row,) = journal(loop)
    assert (row["event"], row["what"], row["rejected"]) == ("restored", [note], name)


def test_added_tasks_are_named_and_stay(project, loop):
    project.features(ONE, TWO, {"id": "F3", "description": "three"}, {"description": "four"})
    before = text_of(loop)
    assert guarded(loop).added == ["F3", "four"]
    assert text_of(loop) == before


def test_of_many_faults_the_first_are_named(project):
    features = [{"id": f"F{n}", "description": "d"} for n in range(20)]
    project.features(*features)
    found = project.loop()
    pins.pin(found, read(found)[1])
    project.features(*({**feature, "description": "x"} for feature in features))
    (note,) = guarded(found).notes
    assert "F7 (description) and 12 more." in note
    assert "F8" not in note


def test_who_only_looks_sees_the_pinned_criteria_and_writes_nothing(project, loop):
    project.features({**ONE, "verify": "true"}, TWO)
    before = text_of(loop)
    found = guarded(LoopFiles(loop.record, loop.shelf, writes=False))
    assert found.tasks.tasks[0].verify == ("make one",)
    assert (text_of(loop), rejected(loop), journal(loop)) == (before, [], [])


def test_a_list_that_leads_out_of_the_project_is_not_written(project, loop, tmp_path):
    path, other = loop.record.paths["list"], tmp_path / "other.json"
    listed, texts = read(loop)
    other.write_text(json.dumps({"features": [{**ONE, "verify": "true"}, TWO]}))
    os.unlink(path)
    os.symlink(other, path)
    texts["list"] = other.read_text()
    with contextlib.suppress(OSError):
        pins.guard(loop, listed, texts, Ledger())
    assert json.loads(other.read_text())["features"][0]["verify"] == "true"


@pytest.mark.parametrize(
    ("features", "differs"),
    [
        ([ONE, TWO], False),
        ([{**ONE, "passes": True, "notes": "x"}, TWO], False),
        ([TWO, ONE], False),
        ([ONE, TWO, {"id": "F3"}], True),
        ([ONE], True),
        ([{**ONE, "description": "x"}, TWO], True),
    ],
)
def test_criteria_differ_when_one_is_changed_removed_or_added(project, loop, features, differs):
    original = pins.pinned(loop)
    project.features(*features)
    assert pins.differs(FEATURES, original, read(loop)[1]) is differs


@pytest.fixture
def spec(project):
    found = project.spec('{"phase": "execution"}', BOXES)
    pins.pin(found, read(found)[1])
    return found


def test_a_split_is_counted_in_the_ledger(project, spec):
    ledger = Ledger()
    project.write("t.md", BOXES + "- [ ] 1.2.1 Half\n- [ ] 1.2.2 Half\n")
    found = guarded(spec, ledger)
    assert (found.added, found.notes) == (["1.2.1", "1.2.2"], [])
    assert ledger.tasks["1.2"]["modified"] == "1"


def test_too_many_fix_tasks_are_taken_out(project, spec):
    fixes = "".join(f"- [ ] 1.1.{n} [FIX 1.1] again\n" for n in range(1, 6))
    project.write("t.md", BOXES + fixes)
    found = guarded(spec)
    assert text_of(spec) == BOXES + fixes[: 3 * len(fixes) // 5]
    assert "a fourth fix task for 1.1; a fourth fix task for 1.1." in found.notes[0]
    assert [task.id for task in found.tasks.tasks] == ["1.1", "1.2", "1.1.1", "1.1.2", "1.1.3"]
    assert len(rejected(spec)) == 1


def test_tampering_and_too_many_tasks_are_told_apart(project, spec):
    fixes = "".join(f"- [ ] 1.1.{n} [FIX 1.1] again\n" for n in range(1, 5))
    project.write("t.md", BOXES.replace("`a`", "`true`") + fixes)
    first, second = guarded(spec).notes
    assert ("1.1 (verify)" in first, "a fourth fix task" in second) == (True, True)
    assert "`a`" in text_of(spec)
    assert len(rejected(spec)) == 1
