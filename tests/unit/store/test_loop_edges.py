"""A loop's files where something stands in their place, and words that others left beside them."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from ralphloop.domain.ledger import Ledger
from ralphloop.domain.model import CANCELLED, ENDED, INTERRUPTED, PAUSED, RATE_LIMITED, RUNNING, LoopState
from ralphloop.store import files, pins, repair, supervisor
from ralphloop.store.files import is_locked
from ralphloop.store.loop import CANCEL, PAUSE, LoopFiles, obey

STATE = LoopState(id="L1", layout="features", name="demo", state=RUNNING)
WAITING = LoopState(id="L1", state=PAUSED, outcome=RATE_LIMITED, wake=f"{os.getpid()}.5")


def test_a_loop_folder_that_leads_out_of_the_project_is_refused_or_taken_away(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.makedirs(os.path.join(project.root, ".ralph"))
    os.symlink(tmp_path / "elsewhere", os.path.join(project.root, ".ralph/run"))
    loop = LoopFiles(project.record(), project.shelf)
    with pytest.raises(FileNotFoundError, match="leads out of the project"):
        loop.make()
    with pytest.raises(FileNotFoundError, match="leads out of the project"):
        loop.lock()
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_link_in_the_place_of_the_loop_folder_is_taken_away(project, tmp_path):
    loop = project.loop()
    shutil.rmtree(loop.folder)
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", loop.folder)
    with loop.lock():
        loop.save(STATE)
    assert not os.path.islink(loop.folder)
    assert os.listdir(tmp_path / "elsewhere") == []
    assert loop.load().to_json() == STATE.to_json()


@pytest.mark.parametrize("planted", ["file", "link"])
def test_what_stands_in_the_place_of_a_folder_of_ours_goes_aside(project, tmp_path, planted):
    loop = project.loop()
    if planted == "file":
        files.write_text(loop.path("rejected"), "planted")
    else:
        os.symlink(tmp_path, loop.path("rejected"))
    folder = loop.own_folder("rejected")
    assert os.path.isdir(folder)
    assert not os.path.islink(folder)
    (aside,) = [name for name in os.listdir(loop.folder) if name.endswith(".aside")]
    assert os.path.lexists(loop.path(aside))


def test_a_loop_that_only_looks_writes_nothing(project):
    loop = project.loop()
    before = sorted(os.listdir(loop.folder)), sorted(os.listdir(loop.kept))
    loop.writes = False
    loop.save(STATE)
    loop.rest(LoopState(id="L1", state=ENDED))
    loop.journal("stop")
    loop.log("a line")
    ledger = Ledger()
    ledger.note("F1", state="proven")
    loop.save_ledger(ledger)
    assert loop.load_ledger() is ledger
    assert (sorted(os.listdir(loop.folder)), sorted(os.listdir(loop.kept))) == before


def test_a_project_that_was_cleaned_up_gets_its_loop_folder_again(project):
    loop = project.loop()
    shutil.rmtree(os.path.join(project.root, ".ralph"))
    loop.journal("stop")
    assert '"event": "stop"' in files.read_text(loop.path("journal.jsonl"))
    shutil.rmtree(os.path.join(project.root, ".ralph"))
    loop.save_ledger(Ledger())
    shutil.rmtree(os.path.join(project.root, ".ralph"))
    loop.save(STATE)
    assert loop.load().to_json() == STATE.to_json()


@pytest.mark.parametrize(
    ("request_", "state", "outcome", "detail"),
    [(CANCEL, ENDED, CANCELLED, "cancelled by me"), (PAUSE, PAUSED, INTERRUPTED, "paused by me")],
)
def test_what_somebody_asked_for_is_obeyed_and_signed(request_, state, outcome, detail):
    loop = STATE.copy()
    obey(loop, request_, "me")
    assert (loop.state, loop.outcome, loop.detail) == (state, outcome, detail)


def test_a_loop_is_awaited_only_by_a_process_that_lives(project):
    loop = project.loop()
    assert supervisor.new_token().startswith(f"{os.getpid()}.")
    assert supervisor.waker_of(loop, WAITING) == 0
    with supervisor.waker_lock(loop):
        assert supervisor.waker_of(loop, WAITING) == os.getpid()
        assert supervisor.waker_of(loop, STATE) == 0
        odd = WAITING.copy()
        odd.wake = "²3.5"
        assert supervisor.waker_of(loop, odd) == 0
    assert supervisor.waker_of(loop, WAITING) == 0


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"pid": "7", "phase": 3}'])
def test_what_a_supervisor_left_is_read_whatever_became_of_it(project, text):
    loop = project.loop()
    if text is not None:
        files.write_text(os.path.join(loop.kept, "supervisor.json"), text)
    assert supervisor.last(loop).to_json() == supervisor.Holder().to_json()
    assert supervisor.holder(loop) is None


def test_a_supervisor_is_known_as_long_as_it_holds_its_lock(project):
    loop = project.loop()
    supervisor.say(loop, supervisor.Holder(pid=7, task="F1"))
    with supervisor.lock(loop):
        found = supervisor.holder(loop)
        assert found is not None
        assert (found.pid, found.task) == (7, "F1")
    assert supervisor.holder(loop) is None
    assert (supervisor.last(loop).pid, supervisor.last(loop).task) == (7, "F1")


def test_a_lock_that_nobody_made_is_held_by_nobody(tmp_path):
    assert not is_locked(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("pinned", "now", "edited"),
    [
        (None, '{"features": [{"id": "a", "description": "x", "passes": false}]}', False),
        ("{", '{"features": [{"id": "a", "description": "x", "passes": false}]}', False),
        (
            '{"features": [{"id": "a", "description": "x", "passes": false}]}',
            '{"features": [{"id": "a", "description": "x", "passes": true}]}',
            False,
        ),
        (
            '{"features": [{"id": "a", "description": "x", "passes": false}]}',
            '{"features": [{"id": "a", "description": "y", "passes": false}]}',
            True,
        ),
    ],
)
def test_a_list_has_edits_when_its_criteria_are_others(project, pinned, now, edited):
    loop = project.loop()
    project.write("feature_list.json", now)
    if pinned is not None:
        files.write_text(os.path.join(loop.kept, "pinned"), pinned)
    assert pins.has_edits(loop) is edited


def test_a_copy_that_is_not_there_or_leads_out_restores_nothing(project, tmp_path):
    loop = project.loop()
    with pytest.raises(FileNotFoundError):
        repair.restore(loop)
    files.write_text(os.path.join(loop.kept, "list"), "{}")
    shutil.rmtree(project.root)
    with pytest.raises(FileNotFoundError, match="is gone"):
        repair.restore(loop)


def test_a_link_out_of_the_project_goes_aside_before_its_file_is_restored(project, tmp_path):
    loop = project.loop()
    files.write_text(os.path.join(loop.kept, "list"), "{}")
    (tmp_path / "theirs.json").write_text("theirs")
    os.symlink(tmp_path / "theirs.json", os.path.join(project.root, "feature_list.json"))
    path = repair.restore(loop)
    assert files.read_text(path) == "{}"
    assert not os.path.islink(path)
    assert (tmp_path / "theirs.json").read_text() == "theirs"
    assert len(os.listdir(loop.path("rejected"))) == 1


def test_a_file_of_another_file_system_is_moved_by_copying(project, monkeypatch):
    loop, path = project.loop(), project.write("feature_list.json", "bad")

    def rename(source, target):
        raise OSError(errno.EXDEV, "another file system", source)

    monkeypatch.setattr(repair.os, "rename", rename)
    name = repair.set_aside(loop, path)
    assert files.read_text(os.path.join(loop.path("rejected"), name)) == "bad"
    assert not os.path.exists(path)


def test_any_other_trouble_in_setting_a_file_aside_is_told(project):
    loop = project.loop()
    with pytest.raises(FileNotFoundError):
        repair.set_aside(loop, os.path.join(project.root, "none"))


def test_a_file_that_cannot_be_read_is_set_aside_itself(project):
    loop, path = project.loop(), os.path.join(project.root, "feature_list.json")
    with open(path, "wb") as file:
        file.truncate(files.READ_MAX + 1)
    assert repair.reject(loop, path)
    assert not os.path.exists(path)
    assert repair.reject(loop, path) == ""
