"""A loop's own files: the last good copy, the ids, the requests."""

from __future__ import annotations

import os

import pytest

from ralphloop.domain import jsontext
from ralphloop.domain.ledger import Ledger
from ralphloop.domain.model import CANCELLED, INTERRUPTED, RUNNING, LoopState
from ralphloop.store import files
from ralphloop.store.loop import CANCEL, PAUSE, LoopFiles, iso, new_id
from unit.domain.cases import each

STATE = LoopState(id="L1", layout="features", name="demo", state=RUNNING, iteration=7)
DAMAGE = [
    "",
    "{",
    "[]",
    "null",
    '{"id": "L1"}',
    '{"id": "other", "state": "running"}',
    '{"id": "L1", "state": 5}',
    "\x00",
]


@pytest.mark.parametrize("damage", [None, *DAMAGE])
def test_a_loop_that_is_damaged_or_gone_is_read_from_its_last_good_copy(project, damage):
    loop = project.loop()
    loop.save(STATE)
    if damage is None:
        os.unlink(loop.path("loop.json"))
    else:
        files.write_text(loop.path("loop.json"), damage)
    assert loop.load().to_json() == STATE.to_json()


def test_a_folder_in_the_place_of_the_loop_is_no_loop_but_the_copy_is(project):
    loop = project.loop()
    loop.save(STATE)
    os.unlink(loop.path("loop.json"))
    os.mkdir(loop.path("loop.json"))
    assert loop.load().iteration == 7


@pytest.mark.parametrize("damage", DAMAGE)
def test_without_any_good_copy_there_is_no_loop(project, damage):
    loop = project.loop()
    loop.save(STATE)
    for folder in (loop.folder, loop.kept):
        files.write_text(os.path.join(folder, "loop.json"), damage)
    assert loop.load() is None


def edited(loop, **values):
    data = {**jsontext.parse_object(files.read_text(loop.path("loop.json"))), **values}
    files.write_text(loop.path("loop.json"), jsontext.render(data))
    return loop.load()


@pytest.mark.parametrize(
    "values",
    [
        {"iteration": 1},
        {"state": "ended", "outcome": "complete"},
        {"attempts": {"F1": 0}},
        {"layout": "specum"},
    ],
)
def test_an_edit_in_the_project_moves_neither_counters_nor_the_outcome(project, values):
    loop = project.loop()
    loop.save(STATE)
    before = loop.load().to_json()
    assert edited(loop, **values).to_json() == before


@pytest.mark.parametrize(
    ("state", "outcome", "becomes"),
    [
        ("paused", None, INTERRUPTED),
        ("paused", "needs_input", "needs_input"),
        ("ended", "cancelled", CANCELLED),
    ],
)
def test_a_loop_paused_or_cancelled_by_hand_rests(project, state, outcome, becomes):
    loop = project.loop()
    loop.save(STATE)
    found = edited(loop, state=state, outcome=outcome)
    assert (found.state, found.outcome) == (state, becomes)


def test_a_whole_run_folder_that_was_deleted_comes_back(project):
    loop = project.loop()
    loop.save(STATE)
    for name in os.listdir(loop.folder):
        os.unlink(loop.path(name))
    os.rmdir(loop.folder)
    loop.save(loop.load())
    assert files.read_text(loop.path("loop.json"))
    assert files.read_text(os.path.join(project.root, ".ralph", "run", ".gitignore")) == "*\n"


def test_a_damaged_ledger_is_read_from_its_copy(project):
    loop = project.loop()
    ledger = Ledger()
    ledger.note("F1", state="skipped")
    loop.save_ledger(ledger)
    files.write_text(loop.path("ledger.json"), '{"tasks": {"F1"')
    assert loop.load_ledger().to_json() == ledger.to_json()


def test_with_writes_off_nothing_is_touched(project):
    record = project.record()
    loop = LoopFiles(record, project.shelf, writes=False)
    loop.save(STATE)
    loop.save_ledger(Ledger())
    assert os.listdir(project.root) == []
    assert not os.path.exists(project.shelf.folder)


@pytest.mark.parametrize(("asked", "heard"), [(CANCEL, CANCEL), (PAUSE, PAUSE), ("odd", ""), ("", "")])
def test_a_request_is_heard_until_it_is_cleared(project, asked, heard):
    loop = project.loop()
    assert loop.request() == ""
    loop.ask_for(asked)
    assert loop.request() == heard
    loop.clear_request()
    loop.clear_request()
    assert loop.request() == ""


def test_journal_lines_are_one_line_each_whatever_they_say(project):
    loop = project.loop()
    loop.journal("stop", detail='a\nb"\ud800\x00', session=None)
    loop.journal("stop", count=2)
    lines = files.read_text(loop.path("journal.jsonl")).split("\n")
    assert len(lines) == 3
    assert lines[2] == ""


def test_the_log_keeps_one_line_per_entry(project):
    loop = project.loop()
    loop.log("one\ntwo \ud800")
    loop.log("three")
    assert len(files.read_text(loop.path("hook.log")).splitlines()) == 2


def test_ids_are_layout_name_and_time_and_never_taken(project):
    taken: set[str] = set()
    for _ in range(50):
        taken.add(new_id("features", "demo", now=0.0, is_taken=taken.__contains__))
    assert len(taken) == 50
    assert "features-demo-19700101T000000Z" in taken


@each("name", ["../../etc", "a/b", "", "...", "é", "x" * 500, "a b\n", "$(x)", "\ud800", "-rf"])
def test_an_id_is_one_plain_file_name_whatever_the_loop_is_called(name):
    loop_id = new_id("features", name, now=0.0, is_taken=lambda _: False)
    assert os.path.basename(loop_id) == loop_id
    assert loop_id.isascii()
    assert loop_id.startswith("features-")
    assert len(loop_id) < 120
    assert not set(loop_id) & set(" $()\n\\")


def test_times_sort_as_texts():
    moments = [0.0, 0.001, 0.999, 1.0, 59.9999, 60.0, 1_800_000_000.25, 1_800_000_000.5]
    texts = [iso(moment) for moment in moments]
    assert texts == sorted(texts)
    assert texts[0] == "1970-01-01T00:00:00.000Z"
    assert texts[-1] == "2027-01-15T08:00:00.500Z"


def test_a_durable_save_forces_the_copy_that_decides_to_disk(project, monkeypatch):
    loop = project.loop()
    loop.save(STATE)
    forced = []
    write = files.write_text

    def note(path, text, **how):
        forced.append((os.path.dirname(path), how.get("durable", False)))
        write(path, text, **how)

    monkeypatch.setattr(files, "write_text", note)
    loop.save(STATE, durable=True)
    assert forced == [(loop.folder, False), (loop.kept, True)]


def test_no_text_in_the_log_speaks_to_a_terminal(project):
    loop = project.loop()
    loop.log("continue with F\x1b[2J\x9b31m\u202e1")
    assert files.read_text(loop.path("hook.log")).endswith("] continue with F\ufffd[2J\ufffd31m\ufffd1\n")
