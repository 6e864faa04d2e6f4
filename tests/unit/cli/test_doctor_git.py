"""Where no git could be started by its path, `doctor` says so and can record the person's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphloop.cli.doctor import machine
from ralphloop.cli.doctor.diagnosis import WARNING
from ralphloop.loops.place import Place
from ralphloop.proof import executable


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A machine whose git lies in a folder of the person's, as conda and nix have it."""
    monkeypatch.setattr(executable, "GIT_PLACES", ("/nowhere",))
    own = tmp_path / "conda/bin/git"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Place(str(tmp_path / "project"), {"HOME": str(tmp_path / "home"), "PATH": str(own.parent)})


def test_a_git_on_the_path_alone_is_told_and_can_be_recorded(place: Place) -> None:
    (found,) = machine.git(place)
    assert (found.name, found.level) == ("git", WARNING)
    assert "only on your PATH" in found.told
    assert found.repair is not None
    found.repair.apply()
    assert list(machine.git(place)) == []


def test_without_any_git_there_is_none_to_record(place: Place) -> None:
    (found,) = machine.git(Place(place.cwd, {**place.env, "PATH": "/nowhere"}))
    assert (found.repair, found.fix) == (None, "Install git")


def test_one_of_the_systems_is_nothing_to_say(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable, "GIT_PLACES", (place.env["PATH"],))
    assert list(machine.git(place)) == []
