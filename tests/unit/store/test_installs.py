"""A settings file that other programs write too: no change of theirs is lost, and no backup overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ralphloop.errors import SettingsChangedError
from ralphloop.store.installs import TRIES, SettingsFile, free_name, settled


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "project/.claude/settings.json"
    found.parent.mkdir(parents=True)
    found.write_text("theirs 0", encoding="utf-8")
    return found


@pytest.fixture
def file(path: Path, tmp_path: Path) -> SettingsFile:
    return SettingsFile(str(path), {"HOME": str(tmp_path)}, root=str(tmp_path / "project"))


Way = Callable[[SettingsFile, "str | None", str], object]
WAYS: dict[str, Way] = {
    "install": lambda file, before, text: file.install(before, text, {}, keep=True),
    "uninstall": lambda file, before, text: file.uninstall(before, text),
    "amend": lambda file, before, text: file.amend(before or "", text, suffix=".kept"),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


@every_way
@pytest.mark.parametrize("changes", [0, 1, TRIES - 1])
def test_what_another_program_wrote_meanwhile_is_kept(
    file: SettingsFile, path: Path, way: Way, changes: int
) -> None:
    left = list(range(changes))

    def work() -> None:
        before = file.read()
        if left:
            path.write_text(f"theirs {left.pop()} again", encoding="utf-8")
        way(file, before, f"{before} + ours")

    settled(work)
    said = path.read_text(encoding="utf-8")
    assert said == ("theirs 0 again + ours" if changes else "theirs 0 + ours")


@every_way
def test_a_file_that_never_holds_still_is_given_up_without_a_trace(
    file: SettingsFile, path: Path, way: Way
) -> None:
    rounds = []

    def work() -> None:
        before = file.read()
        rounds.append(before)
        path.write_text(f"theirs {len(rounds)}", encoding="utf-8")
        way(file, before, "ours")

    with pytest.raises(SettingsChangedError):
        settled(work)
    assert len(rounds) == TRIES
    assert path.read_text(encoding="utf-8") == f"theirs {TRIES}"
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert file.record() is None


@pytest.mark.parametrize("text", [None, "ours"])
def test_a_file_that_came_or_went_meanwhile_has_changed(
    file: SettingsFile, path: Path, text: str | None
) -> None:
    with pytest.raises(SettingsChangedError):
        file.uninstall("another", text)
    path.unlink()
    with pytest.raises(SettingsChangedError):
        file.uninstall("theirs 0", text)
    assert not path.exists()


def test_a_free_name_is_nobodys_not_even_a_broken_links(tmp_path: Path) -> None:
    assert free_name(str(tmp_path / "a")) == str(tmp_path / "a")
    (tmp_path / "a").write_text("", encoding="utf-8")
    (tmp_path / "a-2").symlink_to("nowhere")
    assert free_name(str(tmp_path / "a")) == str(tmp_path / "a-3")
