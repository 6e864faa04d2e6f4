"""Task files on disk: the cursor, the last good copy, what is kept of a bad file."""

from __future__ import annotations

import json
import os
import time

import pytest

from ralphloop.domain import jsontext
from ralphloop.domain.model import LoopState
from ralphloop.store import files, repair, tasks
from ralphloop.tasklists import features


def a_state() -> LoopState:
    return LoopState(id="L1", layout="features", state="running")


def later() -> float:
    """A clock by which every file here is old enough to be trusted."""
    return time.time() + 60


def refuse(*args, **kwargs):
    raise AssertionError("the list was parsed again")


def test_a_large_list_that_has_not_changed_is_not_parsed_again(project, monkeypatch):
    project.features(*({"id": f"F{n}", "description": "d", "passes": n < 9} for n in range(100_000)))
    loop, state = project.loop(), a_state()
    first = tasks.read_work(loop, state, now=later())
    monkeypatch.setattr(features, "parse", refuse)
    second = tasks.read_work(loop, state, now=later())
    assert second.work.to_json() == first.work.to_json()
    assert (second.work.total, second.work.next[0].id) == (100_000, "F9")
    assert second.claimed == []


def test_a_young_file_is_read_again_however_its_signature_looks(project, monkeypatch):
    path = project.features({"id": "F1"})
    loop, state = project.loop(), a_state()
    tasks.read_work(loop, state, now=later())
    monkeypatch.setattr(files, "signature", lambda path: "the same")
    project.features({"id": "F1", "passes": True})
    assert tasks.read_work(loop, state, now=time.time()).work.complete
    assert files.age_s(path, time.time()) < tasks.YOUNG_S


def test_what_was_read_while_young_is_not_trusted_later(project, monkeypatch):
    project.features({"id": "F1"})
    loop, state = project.loop(), a_state()
    tasks.read_work(loop, state, now=time.time())
    assert not os.path.exists(os.path.join(loop.kept, "cursor.json"))


@pytest.mark.parametrize("change", ["list", "ledger", "cursor", "damage"])
def test_the_cursor_is_dropped_when_what_it_came_from_changes(project, change):
    project.features({"id": "F1"}, {"id": "F2"})
    loop, state = project.loop(), a_state()
    assert tasks.read_work(loop, state, now=later()).work.open_total == 2
    if change == "list":
        project.features({"id": "F1", "passes": True}, {"id": "F2"})
    elif change == "ledger":
        ledger = loop.load_ledger()
        ledger.note("F1", state="skipped")
        loop.save_ledger(ledger)
        state.ledger += 1
    elif change == "cursor":
        os.unlink(os.path.join(loop.kept, "cursor.json"))
    else:
        files.write_text(os.path.join(loop.kept, "cursor.json"), '{"key": 5, "work": {"total"')
    assert tasks.read_work(loop, state, now=later()).work.open_total == (
        2 if change in ("cursor", "damage") else 1
    )


def test_a_claim_is_told_once(project):
    project.features({"id": "F1", "passes": True}, {"id": "F2"})
    loop, state = project.loop(), a_state()
    assert tasks.read_work(loop, state, now=later()).claimed == ["F1"]
    assert tasks.read_work(loop, state, now=later()).claimed == []
    assert state.ledger == 1


def test_a_name_that_was_given_is_remembered(project):
    loop, state = project.loop(), a_state()
    project.features({"description": "a"}, {"description": "b"})
    tasks.read_work(loop, state, now=later())
    project.features({"description": "a"}, {"description": "new"}, {"description": "b"})
    assert tasks.read_work(loop, state, now=later()).work.open_ids == ["1", "3", "2"]
    assert loop.load_ledger().names == {"a": "1", "b": "2", "new": "3"}


def test_a_removed_state_stays_removed_at_the_second_look(project):
    loop, state = project.spec(None, "- [ ] 1.1 a\n"), a_state()
    for _ in range(2):
        reading = tasks.read_work(loop, state, now=later())
        assert reading.fault == tasks.GONE
        assert reading.work.open_total == 1


def test_a_list_that_is_gone_altogether_gives_no_work(project):
    reading = tasks.read_work(project.loop(), a_state(), now=later())
    assert (reading.work, reading.fault) == (None, tasks.GONE)


def test_a_file_in_the_middle_of_a_write_is_waited_for(project, monkeypatch):
    project.features({"id": "F1"})
    loop, state = project.loop(), a_state()
    project.write("feature_list.json", '{"features": [{"id"')
    monkeypatch.setattr(tasks.time, "sleep", lambda _: project.features({"id": "F1"}, {"id": "F2"}))
    reading = tasks.read_work(loop, state, now=time.time())
    assert (reading.work.total, reading.fault, reading.content) == (2, "", "")


@pytest.mark.parametrize("text", ["", "{", '{"features": 5}', "[1]", "\x00"])
def test_a_corrupt_file_says_what_is_wrong_and_which_content_it_was(project, text, monkeypatch):
    monkeypatch.setattr(tasks, "PATIENCE_S", 0.0)
    project.write("feature_list.json", text)
    first = tasks.read_work(project.loop(), a_state(), now=later())
    assert first.work is None
    assert first.fault not in ("", tasks.GONE)
    project.write("feature_list.json", text + "x")
    assert tasks.read_work(project.loop(), a_state(), now=later()).content != first.content


def test_a_good_file_is_kept_and_comes_back_and_the_bad_ones_stay(project, monkeypatch):
    monkeypatch.setattr(tasks, "PATIENCE_S", 0.0)
    path = project.features({"id": "F1"})
    good = files.read_text(path)
    loop, state = project.loop(), a_state()
    assert not tasks.has_copy(loop)
    tasks.read_work(loop, state, now=later())
    assert tasks.has_copy(loop)
    for bad in ("{ one", "{ two", "{ three"):
        project.write("feature_list.json", bad)
        assert tasks.read_work(loop, state, now=later()).work is None
        assert repair.restore(loop) == path
        assert files.read_text(path) == good
    kept = [
        files.read_text(os.path.join(loop.path("rejected"), name))
        for name in os.listdir(loop.path("rejected"))
    ]
    assert sorted(kept) == ["{ one", "{ three", "{ two"]


def test_a_bad_file_is_never_taken_for_the_last_good_one(project, monkeypatch):
    monkeypatch.setattr(tasks, "PATIENCE_S", 0.0)
    project.features({"id": "F1"})
    loop, state = project.loop(), a_state()
    tasks.read_work(loop, state, now=later())
    project.write("feature_list.json", "{")
    tasks.read_work(loop, state, now=later())
    assert json.loads(files.read_text(os.path.join(loop.kept, "list")))["features"] == [{"id": "F1"}]


def test_a_file_that_cannot_be_read_is_moved_aside_and_not_lost(project, monkeypatch):
    path = project.features({"id": "F1"})
    loop = project.loop()
    tasks.read_work(loop, a_state(), now=later())
    project.write("feature_list.json", "secret")
    monkeypatch.setattr(files, "read_quietly", lambda path: None)
    repair.restore(loop)
    (kept,) = os.listdir(loop.path("rejected"))
    assert files.read_text(os.path.join(loop.path("rejected"), kept)) == "secret"
    assert "F1" in files.read_text(path)


def test_restoring_without_a_copy_is_an_error_and_changes_nothing(project):
    project.write("feature_list.json", "{")
    with pytest.raises(OSError, match="list"):
        repair.restore(project.loop())
    assert files.read_text(os.path.join(project.root, "feature_list.json")) == "{"


def test_marking_a_task_changes_its_own_value_only(project):
    path = project.write("feature_list.json", '{"x":1,"features":[{"id":"F1","passes":false}]}')
    loop = project.loop()
    assert tasks.mark(loop.record, [0], done=True)
    assert files.read_text(path) == '{"x":1,"features":[{"id":"F1","passes":true}]}'
    assert not tasks.mark(loop.record, [0], done=True)


def test_a_cursor_is_read_by_the_same_parser_as_everything_else(project):
    project.features({"id": "é"})
    loop, state = project.loop(), a_state()
    tasks.read_work(loop, state, now=later())
    assert jsontext.parse_object(files.read_text(os.path.join(loop.kept, "cursor.json")))["work"][
        "open_ids"
    ] == ["é"]


def test_a_look_finds_what_the_next_stop_would_and_writes_nothing(project):
    project.features({"description": "a", "passes": True}, {"description": "b"})
    loop = project.loop()
    listed, ledger, work = tasks.look(loop)
    assert [task.id for task in listed.tasks] == ["1", "2"]
    assert ledger.tasks["1"]["state"] == "unverified"
    assert (work.closed, work.total, work.next[0].id) == (1, 2, "2")
    assert loop.load_ledger().tasks == {}
    assert not os.path.exists(loop.path("ledger.json"))
