"""Arming records: where they lie, how they move, and who may find them."""

from __future__ import annotations

import itertools
import os

import pytest

from ralphloop.domain import jsontext
from ralphloop.domain.model import Limits, LoopState
from ralphloop.store import arming, ended, files, shelf
from ralphloop.store.files import file_name
from ralphloop.store.shelf import ARMED, ENDED, OWNED, Record, Shelf, home, mirror
from unit.domain.cases import each


def found(here, kind):
    return [record.id for record in here.records(kind)]


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/ralphloop"),
        ({"HOME": "/h"}, "/h/.local/state/ralphloop"),
        ({"XDG_STATE_HOME": "", "HOME": "/h"}, "/h/.local/state/ralphloop"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/ralphloop"),
    ],
)
def test_the_state_directory_is_the_users(env, folder):
    assert home(env) == folder


def test_a_record_survives_json():
    record = Record(
        "L", layout="specum", name="n", root="/p",
        paths={"state": "/p/.ralph-state.json", "tasks": "/p/tasks.md"},
        limits=Limits(iterations=3), armed_at="t", session="S", continue_with="context",
    )  # fmt: skip
    again = Record.from_json(jsontext.parse_object(jsontext.render(record.to_json())))
    assert again.to_json() == record.to_json()


@each(
    "wrong",
    [
        {"id": 5}, {"layout": "odd"}, {"layout": ["features"]}, {"root": None}, {"paths": []},
        {"session": 5},
        {"name": None}, {"armed_at": 0}, {"paths": {}}, {"paths": {"list": 5}},
        {"paths": {"list": "/etc/passwd"}}, {"paths": {"list": "demo/feature_list.json"}},
        {"id": "a\0b"}, {"id": "../L1"}, {"id": ".."}, {"id": ""},
    ],
)  # fmt: skip
def test_a_record_of_the_wrong_shape_is_refused(project, wrong):
    with pytest.raises(ValueError, match="not an arming record"):
        Record.from_json({**project.record().to_json(), **wrong})


def test_a_record_is_in_one_place_at_a_time(project):
    here, record = project.shelf, project.record()
    here.put(record, ARMED)
    assert (found(here, ARMED), found(here, OWNED), found(here, ENDED)) == (["L1"], [], [])
    record.session = "S"
    here.put(record, OWNED)
    assert (found(here, ARMED), found(here, OWNED), found(here, ENDED)) == ([], ["L1"], [])
    record.session = "T"
    here.put(record, OWNED)
    assert here.owned_by("S") is None
    assert here.owned_by("T").id == "L1"
    here.put(record, ENDED)
    assert (found(here, ARMED), found(here, OWNED), found(here, ENDED)) == ([], [], ["L1"])


def test_each_session_finds_its_own_record_and_nobody_elses(project):
    here = project.shelf
    here.put(project.record("L1", session="S/../T"), OWNED)
    here.put(project.record("L2", session="T"), OWNED)
    here.put(project.record("L3", session=""), OWNED)
    assert here.owned_by("S/../T").id == "L1"
    assert here.owned_by("T").id == "L2"
    assert here.owned_by("").id == "L3"
    assert here.owned_by("t") is None
    assert here.owned_by(None) is not None


def test_a_record_of_another_project_or_a_damaged_one_does_not_count(project, tmp_path):
    here = project.shelf
    here.put(project.record(session="S"), OWNED)
    place = os.path.join(here.folder, OWNED, "S.json")
    good = files.read_text(place)
    for bad in (good[:-20], "", "[]", good.replace(project.root, str(tmp_path / "elsewhere"))):
        files.write_text(place, bad)
        assert here.owned_by("S") is None
        assert found(here, OWNED) == []
    files.write_text(os.path.join(here.folder, OWNED, "notes.txt"), good)
    assert found(here, OWNED) == []


def test_projects_share_no_records(project, tmp_path):
    project.shelf.put(project.record(session="S"), OWNED)
    inner = Shelf(os.path.join(project.root, "sub"), project.env)
    assert inner.owned_by("S") is None
    assert list(Shelf(str(tmp_path), project.env).records(OWNED)) == []


def test_one_session_gets_an_armed_loop_and_only_one_loop(project):
    here = project.shelf
    for name in ("L1", "L2"):
        here.put(project.record(name), ARMED)
    first, second = list(here.records(ARMED))
    assert arming.bind(first, here, session="S").record.id == "L1"
    assert arming.bind(project.record("L1"), here, session="T") is None
    assert arming.bind(second, here, session="S") is None
    assert (found(here, ARMED), found(here, OWNED)) == (["L2"], ["L1"])


def test_of_many_sessions_at_once_exactly_one_is_bound(project):
    project.shelf.put(project.record(), ARMED)
    children = []
    for number in range(12):
        child = os.fork()
        if not child:
            bound = arming.bind(project.record(), Shelf(project.root, project.env), session=f"S{number}")
            os._exit(1 if bound else 0)
        children.append(child)
    assert sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children) == 1
    assert found(project.shelf, OWNED) == ["L1"]


HOSTILE = [
    "", "%", "%25", "%2f", ".", "..", "../x", "..%2fx", "/", "/etc/passwd", "a/b", "a\\b", "a b", "a\nb",
    "a\0b", "~",
    "C:", "con", "é", "e\u0301", "🙂", "\ud83d\ude42", "\ud800", "_", "-", "A", "a", "a.json", "*", "'",
    '"', "a%", "a%25",
]  # fmt: skip


def test_file_names_of_different_ids_differ():
    names = [file_name(text) for text in HOSTILE]
    assert len(set(names)) == len(HOSTILE)
    chars = "a%/.\\2f5é"
    many = ["".join(word) for size in range(4) for word in itertools.product(chars, repeat=size)]
    assert len({file_name(text) for text in many}) == len(many)


@each("text", [*HOSTILE, "x" * 200, "/" * 66], ids=ascii)
def test_a_file_name_has_nothing_that_leads_elsewhere(text):
    name = file_name(text)
    assert name
    assert not set(name) & set("/\\.:\0 ")
    assert len(name) <= 200
    assert name.isascii()


@pytest.mark.parametrize("text", ["x" * 201, "/" * 67, "é" * 40, "a" * 10_000])
def test_an_id_too_long_for_a_file_has_no_name_and_owns_nothing(text, project):
    assert file_name(text) == ""
    assert project.shelf.owned_by(text) is None


def test_a_stamp_has_the_time_of_its_file_to_the_nanosecond(project):
    path = project.features({"id": "a"})
    os.utime(path, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    ended.stamp(project.shelf, path, "2026-01-01T00:00:00.000Z")
    place = mirror(os.path.join(home(project.env), "by-path"), path)
    assert os.stat(place).st_mtime_ns == os.stat(path).st_mtime_ns
    assert ended.ended_at(project.shelf, path) == "2026-01-01T00:00:00.000Z"


def test_a_file_that_is_gone_is_not_stamped(project):
    path = os.path.join(project.root, "none.json")
    ended.stamp(project.shelf, path, "2026")
    assert ended.ended_at(project.shelf, path) == ""


def test_an_ended_loop_moves_to_the_ended_and_stamps_its_file(project):
    path = project.features({"id": "a"})
    loop = project.loop(session="S")
    project.shelf.put(loop.record, OWNED)
    state = arming.LoopState(id="L1", layout="features", state=shelf.ENDED)
    loop.rest(state)
    assert (found(project.shelf, OWNED), found(project.shelf, ENDED)) == ([], ["L1"])
    assert ended.ended_at(project.shelf, path)


@pytest.mark.parametrize(
    "folder", ["plain", 'quo"te', "back\\slash", "umläut 日本", "by\udc80te", "tab\there"]
)
def test_the_loop_over_a_list_is_found_among_others_whatever_its_path(tmp_path, folder):
    here = Shelf(str(tmp_path), {"XDG_STATE_HOME": str(tmp_path / "state")})
    lists = [f"{tmp_path}/{name}/feature_list.json" for name in (folder, folder + "x", "y" + folder)]
    with here.lock():
        for number, path in enumerate(lists):
            record = Record(
                f"L{number}", layout="features", name="n", root=str(tmp_path), paths={"list": path},
                limits=Limits(), armed_at="t", session=f"S{number}",
            )  # fmt: skip
            here.put(record, OWNED)
    assert [arming.holder(record, here).id for record in here.records(OWNED)] == found(here, OWNED)
    record = next(here.records(OWNED))
    with here.lock():
        here.put(record, ENDED)
    assert arming.holder(record, here) is None
    assert len(found(here, OWNED)) == 2


def test_an_end_stands_although_others_keep_the_shelf_busy(project, monkeypatch):
    project.features({"id": "F1"})
    loop = project.loop(session="S")
    with project.shelf.lock():
        project.shelf.put(loop.record, OWNED)
        monkeypatch.setattr(shelf, "WAIT_S", 0.05)
        loop.rest(LoopState(id="L1", state=ENDED))
    assert loop.load().state == ENDED
    assert (found(project.shelf, OWNED), found(project.shelf, ENDED)) == (["L1"], [])
    loop.rest(loop.load())
    assert (found(project.shelf, OWNED), found(project.shelf, ENDED)) == ([], ["L1"])
