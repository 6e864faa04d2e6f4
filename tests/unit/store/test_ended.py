"""The loop that a session ended last: found by the session's name, whatever else has ended here."""

from __future__ import annotations

import os

import pytest

from ralphloop.store import ended, files
from ralphloop.store.files import file_name
from ralphloop.store.shelf import ENDED, OWNED


def marks(here) -> dict[str, str]:
    folder = os.path.join(here.folder, "last")
    found = [name for name in files.names(folder) if not name.startswith(".")]
    return {name: files.read_text(os.path.join(folder, name)).strip() for name in found}


def end(project, loop_id: str, session: str | None, *, armed_at: str = "2026-01-01T00:00:00.000Z"):
    record = project.record(loop_id, session=session, armed_at=armed_at)
    with project.shelf.lock():
        project.shelf.put(record, ENDED)
    return record


def found(here, session: str) -> str:
    record = ended.last(here, session)
    return "" if record is None else record.id


def test_an_ended_loop_is_known_by_its_session(project):
    end(project, "L1", "S")
    end(project, "L2", "with space")
    end(project, "L3", None)
    assert marks(project.shelf) == {"S": "L1", file_name("with space"): "L2"}
    assert [found(project.shelf, name) for name in ("S", "with space", "s", "")] == ["L1", "L2", "", ""]
    assert ended.is_known(project.shelf)


def test_of_several_loops_the_one_that_began_last_is_known(project):
    for loop_id, second in (("L1", 1), ("L3", 3), ("L2", 2)):
        end(project, loop_id, "S", armed_at=f"2026-01-01T00:00:0{second}.000Z")
    assert found(project.shelf, "S") == "L3"


def test_a_loop_that_is_taken_up_leaves_no_mark_and_uncovers_the_one_before(project):
    end(project, "L1", "S", armed_at="2026-01-01T00:00:01.000Z")
    again = end(project, "L2", "S", armed_at="2026-01-01T00:00:02.000Z")
    other = end(project, "L3", "T")
    with project.shelf.lock():
        for record in (again, other):
            record.session = "U" + record.id
            project.shelf.put(record, OWNED)
    assert marks(project.shelf) == {"S": "L1"}
    assert (found(project.shelf, "S"), found(project.shelf, "T")) == ("L1", "")
    assert ended.is_known(project.shelf)


def forget(project) -> None:
    """As version 0.3.1 leaves it."""
    folder = os.path.join(project.shelf.folder, "last")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)


def test_what_an_earlier_version_ended_is_found_and_then_marked(project):
    end(project, "L1", "S")
    forget(project)
    assert not ended.is_known(project.shelf)
    assert found(project.shelf, "S") == "L1"
    ended.catch_up(project.shelf)
    assert ended.is_known(project.shelf)
    assert marks(project.shelf) == {"S": "L1"}


def test_the_end_of_another_loop_marks_what_an_earlier_version_ended(project):
    end(project, "L1", "S")
    forget(project)
    end(project, "L2", "T")
    assert marks(project.shelf) == {"S": "L1", "T": "L2"}


def test_an_end_by_an_earlier_version_is_noticed(project):
    end(project, "L1", "S")
    record = project.record("L2", session="T")
    folder = os.path.join(project.shelf.folder, ENDED)
    before = os.stat(folder).st_mtime_ns
    files.write_text(os.path.join(folder, "L2.json"), _text(record))
    os.utime(folder, ns=(before, before + 1))
    assert not ended.is_known(project.shelf)
    assert (found(project.shelf, "S"), found(project.shelf, "T")) == ("L1", "L2")
    ended.catch_up(project.shelf)
    assert marks(project.shelf) == {"S": "L1", "T": "L2"}


def _text(record) -> str:
    from ralphloop.domain import jsontext

    return jsontext.render(record.to_json()) + "\n"


@pytest.mark.parametrize("name", ["rename", "replace", "utime", "unlink"])
def test_a_move_that_is_cut_off_leaves_nothing_that_is_relied_on(project, monkeypatch, name):
    """Whoever comes next reads the records themselves, and the next prompt puts it right."""
    from ralphloop import system

    end(project, "L1", "S")
    record = project.record("L2", session="T")
    with project.shelf.lock():
        project.shelf.put(record, OWNED)

    class CutOffError(Exception):
        pass

    def cut_off(*args, **options):
        raise CutOffError

    real = getattr(system, name)
    monkeypatch.setattr(system, name, cut_off)
    with project.shelf.lock(), pytest.raises(CutOffError):
        project.shelf.put(record, ENDED)
    monkeypatch.setattr(system, name, real)
    is_over = os.path.exists(os.path.join(project.shelf.folder, ENDED, "L2.json"))
    if name in ("rename", "replace"):  # later, all is noted; earlier, nothing has happened
        assert not ended.is_known(project.shelf)
    assert (found(project.shelf, "S"), found(project.shelf, "T")) == ("L1", "L2" if is_over else "")
    ended.catch_up(project.shelf)
    assert marks(project.shelf) == {"S": "L1", **({"T": "L2"} if is_over else {})}


def test_a_disk_that_is_full_does_not_undo_an_end(project, monkeypatch):
    end(project, "L1", "S")

    def refuse(*args, **options):
        raise OSError(28, "no space")

    monkeypatch.setattr(ended, "_mark", refuse)
    end(project, "L2", "T")
    assert not ended.is_known(project.shelf)
    assert found(project.shelf, "T") == "L2"


def test_where_nothing_has_ended_nothing_is_written(project):
    ended.catch_up(project.shelf)
    assert ended.is_known(project.shelf)
    assert not os.path.exists(project.shelf.folder)


def test_a_busy_shelf_is_not_waited_for(project):
    end(project, "L1", "S")
    forget(project)
    with project.shelf.lock():
        ended.catch_up(project.shelf)
    assert not ended.is_known(project.shelf)
