"""What stands for which path in a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphloop.domain.model import StopEvent
from ralphloop.engine.find import Call, locate
from ralphloop.hook.stop_files import StopFiles, blank, marks
from ralphloop.store import approvals, arming, ended
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from unit.domain.cases import each

PAIRS = [("/home/me/work", "@ROOT@"), ("/home/me", "@HOME@")]


@each(
    ("text", "blanked"),
    [
        ("/home/me/work", "@ROOT@"),
        ("/home/me/work/a/b", "@ROOT@/a/b"),
        ("see /home/me/work. Then", "see @ROOT@. Then"),
        ("/home/me/work.old/a", "@HOME@/work.old/a"),
        ("/home/me/work-2", "@HOME@/work-2"),
        ("/home/me/works", "@HOME@/works"),
        ("/home/meow", "/home/meow"),
        ('{"cwd":"/home/me/work","x":"a\\n/home/me/x"}', '{"cwd":"@ROOT@","x":"a\\n@HOME@/x"}'),
        ("by-path/home/me/work/@ralph", "by-path@ROOT@/@ralph"),
        ("", ""),
    ],
)
def test_paths_become_marks_and_other_names_stay(text: str, blanked: str) -> None:
    assert blank(text, PAIRS) == blanked


def test_a_link_to_the_project_and_a_moved_state_directory_have_marks_as_well(tmp_path: Path) -> None:
    root = tmp_path / "real" / "project"
    (root / "sub").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(root)
    here = Shelf(str(root), {"HOME": "/home/me", "XDG_STATE_HOME": "/var/state"})
    known = dict(marks(here, "/home/me", [str(link / "sub"), "/elsewhere", "relative"]))
    assert known[str(root)] == known[str(link)] == "@ROOT@"
    assert known["/var/state/ralphloop"] == "@HOME@/.local/state/ralphloop"
    assert known["/home/me"] == "@HOME@"
    assert "/elsewhere" not in known


def test_a_project_at_the_top_of_everything_has_no_mark(tmp_path: Path) -> None:
    here = Shelf("/", {"HOME": "/"})
    assert "/" not in dict(marks(here, "/", ["/"]))


def loop_at(folder: Path, **env: str) -> tuple[LoopFiles, Call]:
    """A loop over the list in this folder, begun by a session in the project `tmp/project`."""
    home = folder.parent / "home"
    project = folder.parent / "project"
    for made in (home, project, folder):
        made.mkdir(exist_ok=True)
    (folder / "feature_list.json").write_text('{"features": [{"id": "1", "verify": "true"}]}')
    known = {"HOME": str(home), "RALPH_LOOP_DIR": str(folder), **env}
    call = Call(registration="r", layouts=("features",), env=known, cwd=str(project))
    (source,) = locate("features", str(project), known)
    return arming.arm(source, Shelf(str(project), known), session="S", started=True), call


def stop_files(loop: LoopFiles, call: Call) -> StopFiles:
    found = StopFiles(loop.shelf, StopEvent(session="S", cwd=call.cwd), call)
    found.add_loop(loop)
    return found


def test_a_list_outside_of_the_project_and_the_home_is_named_and_left_out(tmp_path: Path) -> None:
    loop, call = loop_at(tmp_path / "elsewhere")
    found = stop_files(loop, call)
    path = str(tmp_path / "elsewhere" / "feature_list.json")
    assert found.left_out == {path: "outside of the project and the home"}
    assert path not in found.files


def test_what_is_no_file_is_named_as_unreadable(tmp_path: Path) -> None:
    loop, call = loop_at(tmp_path / "home")
    (Path(loop.kept) / "request").mkdir()
    (left,) = stop_files(loop, call).left_out.items()
    assert left[0].endswith("/request")
    assert left[1] == "cannot be read"


def test_only_approved_commands_of_a_list_with_checks_are_kept(tmp_path: Path) -> None:
    loop, call = loop_at(tmp_path / "home")
    assert stop_files(loop, call).approved() == []
    approvals.approve(loop.shelf, ["true"], by="terminal")
    assert stop_files(loop, call).approved() == ["true"]


def test_what_does_not_fit_any_more_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralphloop.hook.stop_files.ALL_MOST", 1500)
    loop, call = loop_at(tmp_path / "home")
    found = stop_files(loop, call)
    assert found.left_out
    assert sum(map(len, [*found.files.values(), *found.home.values()])) <= 1500


def test_a_list_that_ended_once_has_its_stamp_beside_it(tmp_path: Path) -> None:
    loop, call = loop_at(tmp_path / "home")
    ended.stamp(loop.shelf, loop.record.paths["list"], "2026-01-01T00:00:00.000Z")
    stamps = [
        text
        for path, text in stop_files(loop, call).home.items()
        if "by-path" in path and "@ralph" not in path
    ]
    assert stamps == ["2026-01-01T00:00:00.000Z\n"]
