"""What faults once broke, each in the smallest way that shows it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from faults.test_disk_full import stop_limited
from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OWNER, LoopProject, feature
from hook.lines import user_line
from hook.proven import cli, listed
from ralphloop.store import approvals, files, shelf, tasks
from ralphloop.store.loop import CANCEL, obey


def test_a_line_that_does_not_fit_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "index", os.write
    files.append(str(path), "first\n")
    monkeypatch.setattr(files.os, "write", lambda handle, data: write(handle, data[:3]))
    with pytest.raises(OSError, match="no space for a whole line"):
        files.append(str(path), "second\n")
    monkeypatch.undo()
    files.append(str(path), "third\n")
    assert path.read_text() == "first\nthird\n"


def test_a_new_file_is_whole_and_never_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "0001-F1.json")
    assert files.create(path, b"first")
    assert not files.create(path, b"second")
    assert Path(path).read_bytes() == b"first"
    write = os.write

    def fails(handle: int, data: bytes) -> int:
        write(handle, data[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "write", fails)
    with pytest.raises(OSError, match="No space left"):
        files.create(str(tmp_path / "0002-F1.json"), b"third")
    assert [name.name for name in tmp_path.iterdir()] == ["0001-F1.json"]


def test_without_hard_links_a_new_file_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(source: str, target: str) -> None:
        raise PermissionError(1, "Operation not permitted", source)

    monkeypatch.setattr(files.os, "link", refuses)
    assert files.create(str(tmp_path / "one"), b"first")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("one", b"first")]
    with pytest.raises(PermissionError):
        files.create(str(tmp_path / "one"), b"second")
    assert (tmp_path / "one").read_bytes() == b"first"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_session_that_was_bound_by_half_goes_on(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    loop = found.arm(session=None)
    loop.record.session = OWNER
    with loop.shelf.lock():
        loop.shelf.put(loop.record, shelf.OWNED)  # and the process is killed before the state says so
    found.add_lines(user_line("begin"))
    assert found.turn().blocks
    assert (found.loop()["owner"], found.loop()["state"]) == (OWNER, "running")


def test_a_session_that_lost_its_loop_is_not_answered(features: LoopProject) -> None:
    assert features.turn().blocks
    before = features.loop()["iteration"]
    features.edit_loop(owner="somebody-else")
    loop = features.the_loop()
    loop.record.session = "somebody-else"
    with loop.shelf.lock():
        loop.shelf.put(loop.record, shelf.OWNED)
    assert features.turn().silent
    assert features.loop()["iteration"] == before


def test_commands_work_where_the_machine_folder_was_cleaned_away(features: LoopProject) -> None:
    for words in (["pause"], ["resume"], ["cancel"]):
        shutil.rmtree(features.root / ".ralph" / "run")
        ended = cli(features, *words)
        assert ended.returncode == 0, ended.stderr
    assert features.loop()["outcome"] == "cancelled"


def test_an_approval_that_broke_off_is_finished_by_the_next(project: ProjectFactory) -> None:
    found = listed(project, feature("F1", verify="true"), feature("F2"), armed=False)
    found.arm(approve=False)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "needs_approval"
    approvals.approve(found.shelf(), ["true"], by="terminal")  # and the process is killed before the rest
    shown = cli(found, "approve", "--show")
    assert "it still waits" in shown.stdout
    ended = cli(found, "approve", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert found.turn().blocks


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text("{")], ids=["gone", "damaged"])
def test_a_list_that_cannot_be_put_back_does_not_end_the_loop(features: LoopProject, harm) -> None:
    assert features.turn().blocks
    harm(features.own)
    for _ in range(2):
        answer = stop_limited(features)
        assert "cannot write" in answer.message
        assert not answer.blocks
    assert features.loop()["outcome"] is None
    assert features.turn().blocks
    assert len(json.loads(features.own.read_text())["features"]) == 3


@pytest.mark.parametrize("text", ["", "{", '{"features": []}'], ids=["empty", "damaged", "shorter"])
def test_a_list_that_changed_before_it_is_marked_is_no_bug(features: LoopProject, text: str) -> None:
    """The agent may write it at any instant: the stop is allowed, and the next one judges again."""
    features.own.write_text(text)
    with pytest.raises(OSError, match=r"feature_list\.json"):
        tasks.mark(features.the_loop().record, [1], done=False)
    assert features.own.read_text() == text


def test_a_project_that_is_removed_during_its_check_stays_gone(
    project: ProjectFactory, tmp_path: Path
) -> None:
    found = listed(project, feature("F1", verify=f"rm -rf {shlex.quote(str(tmp_path))}/*/my*"), feature("F2"))
    assert found.turn().blocks
    found.close(1)
    answer = found.turn(cwd=found.home)
    assert not answer.blocks
    assert not found.root.exists()


def test_what_killed_writes_left_goes_when_the_loop_ends(
    features: LoopProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [features.kept(".loop.json.4194304.tmp"), features.folder / ".progress.txt.4194304.tmp"]
    others = [features.folder / ".notes.tmp", features.folder / ".unknown.txt.17.tmp"]
    for path in (*left, *others):
        path.write_text("half")
    loop = features.the_loop()
    state = loop.load()
    assert state is not None
    obey(state, CANCEL, "the person")
    loop.rest(state)
    assert all(path.exists() for path in left), "a young one may be in use"
    monkeypatch.setattr(files, "STALE_S", -60.0)
    loop.rest(state)
    assert [path for path in left if path.exists()] == []
    assert all(path.exists() for path in others)
