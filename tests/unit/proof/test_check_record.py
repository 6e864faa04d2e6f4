"""Evidence on disk: added and never written over, and an index that tells when a file is not as it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from ralphloop.proof import check_record
from ralphloop.store.files import Lock
from unit.proof.loops import Checked, task


@pytest.fixture
def loop(tmp_path):
    return Checked(tmp_path).begin(task("F1", "true")).loop


def facts(*tasks: str, **values) -> dict:
    about = {"at": "2026-01-01T00:00:00.000Z", "command": "make", "green": True, "duration_s": 1.5}
    return {**about, "tasks": list(tasks) or ["F1"], "kind": "claim", **values}


def place(loop, evidence_id: str) -> Path:
    return Path(loop.path("evidence"), evidence_id + ".json")


def index(loop) -> Path:
    return Path(loop.kept, "evidence.jsonl")


def test_each_run_has_a_file_and_a_line_of_its_own(loop):
    ids = [check_record.add(loop, facts(note=n), round_no=n) for n in range(3)]
    assert ids == ["0001-F1", "0002-F1", "0003-F1"]
    assert [json.loads(place(loop, name).read_text())["note"] for name in ids] == [0, 1, 2]
    assert [(entry.id, entry.round) for entry in check_record.entries(loop)] == list(
        zip(ids, range(3), strict=True)
    )


def test_files_and_index_are_private(loop):
    place_of = place(loop, check_record.add(loop, facts()))
    assert stat.S_IMODE(place_of.stat().st_mode) == 0o600
    assert stat.S_IMODE(place_of.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(index(loop).stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "folder"])
def test_what_is_in_the_way_is_never_written_over(loop, kind, tmp_path):
    taken, other = place(loop, "0001-F1"), tmp_path / "other"
    taken.parent.mkdir(mode=0o700)
    if kind == "file":
        taken.write_text("mine")
    elif kind == "folder":
        taken.mkdir()
    else:
        if kind == "link":
            other.write_text("theirs")
        taken.symlink_to(other)
    before = len(os.listdir(taken.parent))
    assert check_record.add(loop, facts()) not in ("0001-F1", "")
    assert len(os.listdir(taken.parent)) == before + 1
    assert not (kind == "dangling link" and other.exists())
    assert kind != "file" or taken.read_text() == "mine"
    assert kind != "link" or other.read_text() == "theirs"


@pytest.mark.parametrize(
    ("tasks", "label"),
    [
        (["F1", "F2"], "F1"),
        (["1.2"], "1.2"),
        (["a b/c"], "a-b-c"),
        (["../../x"], "-..-x"),
        (["..."], "task"),
        (["✓"], "-"),
        (["x" * 500], "x" * 40),
        ([""], "task"),
    ],
)
def test_the_id_names_the_first_task_in_plain_letters(loop, tasks, label):
    evidence_id = check_record.add(loop, facts(*tasks))
    assert evidence_id == f"0001-{label}"
    assert os.path.dirname(os.path.realpath(place(loop, evidence_id))) == os.path.realpath(
        loop.path("evidence")
    )


def test_the_index_holds_the_digest_of_the_file(loop):
    data = place(loop, check_record.add(loop, facts(output_tail="é\n"))).read_bytes()
    (entry,) = check_record.entries(loop)
    assert entry.sha256 == hashlib.sha256(data).hexdigest()
    assert (entry.tasks, entry.command, entry.green, entry.duration_s) == (["F1"], "make", True, 1.5)
    assert check_record.state(loop, entry) == check_record.SOUND


def test_a_file_that_was_changed_or_taken_away_is_told(loop):
    first, second = (check_record.add(loop, facts()) for _ in range(2))
    place(loop, first).write_text(place(loop, first).read_text().replace("true", "false"))
    place(loop, second).unlink()
    assert [check_record.state(loop, entry) for entry in check_record.entries(loop)] == [
        check_record.ALTERED,
        check_record.MISSING,
    ]


def test_what_was_recorded_can_be_read_again(loop):
    evidence_id = check_record.add(loop, facts(output_tail='a"b\\c\n\t✓'))
    assert check_record.load(loop, evidence_id)["output_tail"] == 'a"b\\c\n\t✓'


@pytest.mark.parametrize("evidence_id", ["0009-F1", "", "../loop", "../../../feature_list"])
def test_what_is_not_evidence_is_not_read(loop, evidence_id):
    check_record.add(loop, facts())
    assert check_record.load(loop, evidence_id) is None


@pytest.mark.parametrize("line", ["", "{", "[]", "{}", '{"id": "0001-F1"}', "null"])
def test_a_broken_line_of_the_index_is_passed_over(loop, line):
    check_record.add(loop, facts())
    with index(loop).open("a") as file:
        file.write(line + "\n")
    check_record.add(loop, facts())
    assert [entry.id for entry in check_record.entries(loop)] == ["0001-F1", "0002-F1"]


def test_without_an_index_nothing_is_known(loop):
    assert check_record.entries(loop) == []


def test_the_last_run_of_a_command_tells_how_long_it_takes(loop):
    for command, duration_s in (("a", 1.0), ("b", 2.0), ("a", 3.0)):
        check_record.add(loop, facts(command=command, duration_s=duration_s))
    assert check_record.durations(check_record.entries(loop)) == {"a": 3.0, "b": 2.0}


def test_numbers_go_on_from_the_end_of_the_index_without_a_look_at_the_files(loop, monkeypatch):
    for _ in range(3):
        check_record.add(loop, facts())
    monkeypatch.setattr(check_record.files, "names", lambda folder: pytest.fail("the folder was listed"))
    assert check_record.add(loop, facts("F2")) == "0004-F2"


def test_of_a_long_index_only_the_end_is_read(loop):
    check_record.add(loop, facts())
    line = index(loop).read_text()
    many = 3 * check_record.TAIL // len(line)
    index(loop).write_text("".join(line.replace("0001-", f"{n:04d}-") for n in range(1, many + 1)))
    assert check_record.add(loop, facts()) == f"{many + 1:04d}-F1"
    found = check_record.recent(loop)
    assert [found[-2].id, found[-1].id] == [f"{many:04d}-F1", f"{many + 1:04d}-F1"]
    assert check_record.TAIL // 2 < len(found) * len(line) <= check_record.TAIL
    assert len(check_record.recent(loop, suffices=lambda found: len(found) > many // 2)) > many // 2
    assert check_record.recent(loop, suffices=lambda found: False) == check_record.entries(loop)


def test_numbers_never_go_back(loop):
    """Whatever is lost of the files or of the index."""
    for name in ("F1", "F2", "F3"):
        check_record.add(loop, facts(name))
    shutil.rmtree(loop.path("evidence"))
    assert check_record.add(loop, facts("F4")) == "0004-F4"
    text = index(loop).read_text()
    index(loop).write_text(text[: -len(text.splitlines()[-1]) // 2])  # a torn line is still a number
    assert check_record.add(loop, facts("F5")) == "0005-F5"
    index(loop).unlink()
    assert check_record.add(loop, facts("F6")) == "0006-F6"


def test_of_many_at_once_each_has_a_number_of_its_own(loop):
    children = []
    for worker in range(6):
        child = os.fork()
        if not child:
            for _ in range(5):
                check_record.add(loop, facts(f"F{worker}"))
            os._exit(0)
        children.append(child)
    assert not any(os.waitpid(child, 0)[1] for child in children)
    numbers = [int(entry.id.partition("-")[0]) for entry in check_record.entries(loop)]
    assert numbers == list(range(1, 31))


def test_an_index_that_somebody_holds_is_not_waited_for_long(loop, monkeypatch):
    check_record.add(loop, facts())
    monkeypatch.setattr(check_record, "WAIT_S", 0.05)
    with Lock(str(index(loop))):
        assert check_record.add(loop, facts()) == "0002-F1"
