"""Whole files: replaced at once or not at all, and nothing of them lost on the way."""

from __future__ import annotations

import os
import random
import signal
import stat
import time
from itertools import product

import pytest

from ralphloop.store import files
from unit.domain.cases import each


def mode_of(path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@each(
    ("mode", "umask"),
    product([0o600, 0o644, 0o664, 0o666, 0o755, 0o777, 0o444], [0o022, 0o077, 0o000]),
    ids=lambda value: "{:o} under {:o}".format(*value),
)
def test_a_replaced_file_keeps_its_mode_whatever_the_umask(tmp_path, mode, umask):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(mode)
    before = os.umask(umask)
    try:
        files.write_text(str(path), "new")
    finally:
        os.umask(before)
    assert (path.read_text(), mode_of(path)) == ("new", mode)


def test_a_new_file_is_private_unless_it_is_for_people(tmp_path):
    before = os.umask(0o022)
    try:
        files.write_text(str(tmp_path / "f"), "x")
        files.write_shared(str(tmp_path / "g"), "x", root=str(tmp_path))
    finally:
        os.umask(before)
    assert (mode_of(tmp_path / "f"), mode_of(tmp_path / "g")) == (0o600, 0o644)


def test_a_link_that_leads_out_is_not_written_through(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "outside").write_text("precious")
    (tmp_path / "project" / "link").symlink_to("../outside")
    with pytest.raises(OSError, match="leads out"):
        files.write_shared(str(tmp_path / "project" / "link"), "x", root=str(tmp_path / "project"))
    assert (tmp_path / "outside").read_text() == "precious"


def test_a_link_keeps_pointing_at_the_file_that_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "f"
    target.write_text("old")
    (tmp_path / "link").symlink_to("real/f")
    (tmp_path / "link to link").symlink_to("link")
    files.write_shared(str(tmp_path / "link to link"), "new", root=str(tmp_path))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "link to link").is_symlink()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path / "real") == ["f"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("old")

    def full(handle, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "write", full)
    with pytest.raises(OSError, match="No space"):
        files.write_text(str(path), "new")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["f"]
    assert path.read_text() == "old"


def test_a_write_that_is_cut_short_by_the_system_goes_on(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data[:7])))
    files.write_text(str(tmp_path / "f"), "0123456789" * 10)
    monkeypatch.undo()
    assert (tmp_path / "f").read_text() == "0123456789" * 10


def test_a_killed_writer_never_leaves_half_a_file(tmp_path):
    path = str(tmp_path / "f")
    texts = [str(digit) * 300_000 for digit in range(10)]
    files.write_text(path, texts[0])
    dice = random.Random(3)
    for _ in range(40):
        child = os.fork()
        if not child:
            try:
                while True:
                    for text in texts:
                        files.write_text(path, text)
            finally:
                os._exit(1)
        time.sleep(dice.random() * 0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert files.read_text(path) in texts
    # What a killed process leaves behind is hidden, and never the file itself.
    assert all(name == "f" or name.startswith(".f.") for name in os.listdir(tmp_path))


@pytest.mark.parametrize(
    "data", [b"", b"plain\r\n", "é🙂".encode(), b"\xff\xfe\x00bad\x80", b"a\xed\xa0\x80b"]
)
def test_bytes_that_are_not_utf_8_survive_a_rewrite(tmp_path, data):
    path = tmp_path / "f"
    path.write_bytes(data)
    files.write_text(str(path), files.read_text(str(path)))
    assert path.read_bytes() == data


def test_what_is_not_there_reads_as_none(tmp_path):
    (tmp_path / "f").write_text("x")
    for path in (tmp_path / "none", tmp_path / "none" / "f", tmp_path / "f" / "below"):
        assert files.read_text(str(path)) is None
    assert files.read_text("a\0b") is None


def test_a_folder_in_a_files_place_is_an_error_or_quietly_none(tmp_path):
    with pytest.raises(OSError, match="not a regular file"):
        files.read_text(str(tmp_path))
    assert files.read_quietly(str(tmp_path)) is None


@pytest.mark.timeout(20)
def test_a_pipe_in_a_files_place_does_not_hold_anybody_up(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not files.read_quietly(str(tmp_path / "pipe"))


def test_lines_appended_by_many_processes_do_not_mix(tmp_path):
    path = str(tmp_path / "log")
    children = []
    for digit in range(8):
        child = os.fork()
        if not child:
            for _ in range(100):
                files.append(path, str(digit) * 2000 + "\n")
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    lines = files.read_text(path).splitlines()
    assert sorted(lines) == sorted(str(digit) * 2000 for digit in range(8) for _ in range(100))


def test_a_signature_changes_when_the_file_does(tmp_path):
    path = tmp_path / "f"
    assert files.signature(str(path)) == ""
    path.write_text("one")
    first = files.signature(str(path))
    assert first == files.signature(str(path))
    stat_before = path.stat()
    files.write_text(str(path), "two")
    os.utime(path, ns=(stat_before.st_mtime_ns, stat_before.st_mtime_ns))
    assert files.signature(str(path)) != first  # same size, same mtime


def test_an_old_mtime_does_not_make_a_new_file_old(tmp_path):
    path = tmp_path / "f"
    path.write_text("x")
    os.utime(path, (1, 1))
    assert files.age_s(str(path), time.time()) < 60


@pytest.mark.parametrize(
    ("path", "is_inside"),
    [("a/f", True), (".", True), ("../other/f", False), ("link/f", False), ("/", False)],
)
def test_inside_follows_links_and_dots(tmp_path, path, is_inside):
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (tmp_path / "root2").mkdir()
    (root / "link").symlink_to(tmp_path / "root2")
    top = os.path.realpath(root)
    assert files.inside(os.path.join(top, path), top) is is_inside
    assert not files.inside(os.path.realpath(tmp_path / "root2"), top)


@pytest.mark.parametrize(
    ("target", "leads_out"),
    [(None, False), ("root/a/g", False), ("root/b/g", False), ("outside", True), ("root", False)],
)
def test_a_link_leads_out_unless_it_stays_in_the_project(tmp_path, target, leads_out):
    for name in ("root/a", "root/b"):
        (tmp_path / name).mkdir(parents=True)
    path = tmp_path / "root" / "a" / "f"
    if target is None:
        path.write_text("x")
    else:
        path.symlink_to(tmp_path / target)
    assert files.leads_out(str(path), os.path.realpath(tmp_path / "root")) is leads_out


def test_a_folder_on_the_way_can_lead_out_of_the_project(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "f").write_text("x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "current").symlink_to(tmp_path / "store")
    assert files.leads_out(str(tmp_path / "root" / "current" / "f"), os.path.realpath(tmp_path / "root"))


def test_a_list_that_lies_elsewhere_stays_in_its_own_folder(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "f").write_text("x")
    (tmp_path / "store" / "near").symlink_to("f")
    (tmp_path / "store" / "far").symlink_to("/dev/null")
    root = str(tmp_path / "root")
    assert not files.leads_out(str(tmp_path / "store" / "near"), root)
    assert files.leads_out(str(tmp_path / "store" / "far"), root)


@pytest.mark.parametrize("place", ["/dev/null", "pipe"])
def test_what_is_no_file_is_neither_read_nor_added_to(tmp_path, place):
    path = str(tmp_path / "f")
    if place == "pipe":
        os.mkfifo(path)
    else:
        os.symlink(place, path)
    assert files.read_quietly(path) is None
    with pytest.raises(OSError, match="f"):
        files.append(path, "line")


def test_a_file_of_ours_that_became_a_link_is_replaced_itself(tmp_path):
    (tmp_path / "target").write_text("untouched")
    (tmp_path / "ours").symlink_to("target")
    files.write_text(str(tmp_path / "ours"), "new")
    assert not (tmp_path / "ours").is_symlink()
    assert (tmp_path / "target").read_text() == "untouched"


@pytest.mark.parametrize(
    ("text", "is_path"),
    [("/a", True), ("a\0b", False), ("/" + "x" * 4095, True), ("/" + "x" * 4096, False), ("\ud800", False)],
)
def test_a_path_is_what_the_system_can_be_asked_about(text, is_path):
    assert files.is_path(text) is is_path
