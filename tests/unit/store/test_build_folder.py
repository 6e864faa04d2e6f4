"""A folder that is built beside its place is whole, or not there at all."""

from __future__ import annotations

import pytest

from ralphloop.store import files


def test_a_folder_is_moved_to_its_place_with_its_files(tmp_path):
    folder = tmp_path / "loops" / "shop"
    files.build_folder(str(folder), {"a": "one\n", "b": ""}, beside=str(tmp_path))
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"a": "one\n", "b": ""}
    assert [path.name for path in tmp_path.iterdir()] == ["loops"]


def test_a_folder_that_exists_is_left_alone_and_nothing_stays_beside_it(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    with pytest.raises(OSError, match="not empty"):
        files.build_folder(str(folder), {"a": "one\n"}, beside=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["shop"]
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="gone"):
        files.build_folder(str(tmp_path / "shop"), {"a": "one\n", "gone/b": "two\n"}, beside=str(tmp_path))
    assert list(tmp_path.iterdir()) == []
