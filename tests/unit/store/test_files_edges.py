"""Files whose place is taken, full, planted or on a disk without links; settings that come and go."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ralphloop.store import files
from ralphloop.store.files import try_lock
from ralphloop.store.installs import SettingsFile


def leftovers(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


@pytest.mark.parametrize("write", [files.write_bytes, files.create])
def test_what_was_planted_under_the_spare_name_is_never_written_to(tmp_path, write):
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    os.symlink(theirs, tmp_path / f".x.{os.getpid()}.tmp")
    write(str(tmp_path / "x"), b"ours")
    assert (tmp_path / "x").read_bytes() == b"ours"
    assert theirs.read_text() == "theirs"
    assert leftovers(tmp_path) == []


def test_two_threads_may_write_one_file(tmp_path):
    path = str(tmp_path / "x")
    texts = [letter * 100_000 for letter in "abcd"]

    def write(text):
        for _ in range(100):
            files.write_text(path, text)

    with ThreadPoolExecutor(len(texts)) as threads:
        for done in [threads.submit(write, text) for text in texts]:
            done.result()
    assert files.read_text(path) in texts
    assert leftovers(tmp_path) == []


def test_a_new_file_is_made_once(tmp_path):
    path = str(tmp_path / "x")
    assert files.create(path, b"first")
    assert not files.create(path, b"second")
    assert files.read_text(path) == "first"
    assert (os.stat(path).st_mode & 0o777, leftovers(tmp_path)) == (0o600, [])


@pytest.mark.parametrize("taken", [False, True])
def test_a_disk_without_links_gets_a_new_file_by_renaming(tmp_path, monkeypatch, taken):
    def link(source, target):
        raise OSError(errno.EPERM, "no links here", source)

    monkeypatch.setattr(files.os, "link", link)
    path = tmp_path / "x"
    if not taken:
        assert files.create(str(path), b"ours")
        assert path.read_bytes() == b"ours"
    else:
        path.write_text("theirs")
        with pytest.raises(PermissionError):
            files.create(str(path), b"ours")
        assert path.read_text() == "theirs"
    assert leftovers(tmp_path) == []


def test_a_file_that_is_too_large_is_refused(tmp_path):
    with (tmp_path / "x").open("wb") as file:
        file.truncate(files.READ_MAX + 1)
    with pytest.raises(OSError, match="too large"):
        files.read_text(str(tmp_path / "x"))
    assert files.read_quietly(str(tmp_path / "x")) is None


@pytest.mark.parametrize("path", ["x", "x/y"])
def test_a_folder_cannot_be_made_where_a_file_stands(tmp_path, path):
    (tmp_path / "x").write_text("")
    with pytest.raises(OSError, match="x"):
        files.make_folder(str(tmp_path / path))


def test_a_folder_without_a_place_is_an_error():
    with pytest.raises(FileNotFoundError):
        files.make_folder("")


def test_a_file_that_is_not_there_is_as_old_as_can_be(tmp_path):
    assert files.age_s(str(tmp_path / "none"), 5.0) == 5.0
    assert files.age_s("\0", 5.0) == 5.0
    assert files.signature("\0") == ""


def test_a_long_file_moves_aside_unless_somebody_else_moves_it(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_text("old\n")
    ours, theirs = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
    try:
        assert try_lock(theirs)
        files.rotate(str(path), ours)
        assert path.exists()
    finally:
        os.close(theirs)
    try:
        path.unlink()
        files.rotate(str(path), ours)
        path.write_text("new\n")
        files.rotate(str(path), ours)
        assert os.listdir(tmp_path) == ["j.jsonl"]
        assert path.read_text() == "new\n"
    finally:
        os.close(ours)


@pytest.fixture
def settings(tmp_path: Path) -> SettingsFile:
    place = tmp_path / "project/.claude/settings.json"
    (tmp_path / "project").mkdir()
    return SettingsFile(str(place), {"HOME": str(tmp_path)}, root=str(tmp_path / "project"))


def test_a_first_installation_leaves_nothing_behind_when_it_goes(settings):
    with settings.lock():
        assert settings.install(None, "{}", {"ours": 1}, keep=False) == ""
    record = settings.record()
    assert record is not None
    assert (record["ours"], settings.backup_of(record)) == (1, "")
    assert settings.uninstall("{}", None) == ""
    assert not os.path.exists(os.path.dirname(settings.path))
    assert settings.record() is None


@pytest.mark.parametrize(("left", "stays"), [("theirs", False), ("theirs and more", True)])
def test_a_backup_goes_when_the_file_is_again_what_it_was(settings, left, stays):
    os.makedirs(os.path.dirname(settings.path))
    Path(settings.path).write_text("theirs")
    backup = settings.install("theirs", "theirs and ours", {}, keep=True)
    assert Path(backup).read_text() == "theirs"
    assert settings.uninstall("theirs and ours", left) == (backup if stays else "")
    assert os.path.exists(backup) is stays
    assert Path(settings.path).read_text() == left


@pytest.mark.parametrize("installed", [False, True])
def test_an_installation_that_fails_leaves_everything_as_it_was(settings, monkeypatch, installed):
    if installed:
        settings.install(None, "{}", {"ours": 1}, keep=False)
    before, known = settings.read(), settings.record()

    def replace(source, target, real=os.replace):
        if target == settings.place:
            raise OSError(errno.EIO, "the disk is ill", target)
        real(source, target)

    monkeypatch.setattr(files.os, "replace", replace)
    with pytest.raises(OSError, match="the disk is ill"):
        settings.install(before, "[]", {"ours": 2}, keep=True)
    assert (settings.read(), settings.record()) == (before, known)
    folder = os.path.dirname(settings.path)
    assert (os.listdir(folder) if os.path.isdir(folder) else []) == (["settings.json"] if installed else [])


def test_a_settings_file_that_leads_out_of_its_project_is_known(settings, tmp_path):
    assert not settings.leads_out
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", os.path.dirname(settings.path))
    assert settings.leads_out


def test_a_folder_is_never_made_without_the_one_it_belongs_in(tmp_path: Path) -> None:
    root = tmp_path / "project"
    with pytest.raises(FileNotFoundError):
        files.make_folder(str(root / ".ralph" / "run"), below=str(root))
    assert not root.exists()
    root.mkdir()
    files.make_folder(str(root / ".ralph" / "run"), below=str(root))
    assert (root / ".ralph" / "run").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("write", [files.write_text, files.append])
def test_a_full_disk_says_of_which_file(tmp_path, monkeypatch, write):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "write", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(str(tmp_path / "x"), "text")
    assert caught.value.filename == str(tmp_path / "x")
