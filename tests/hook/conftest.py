"""Fixtures of the hook's tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hook.harness import LAYOUTS, LoopProject

ProjectFactory = Callable[..., LoopProject]


@pytest.fixture
def project(tmp_path: Path) -> ProjectFactory:
    """Build a scratch project of one layout; without files of its own it has three open tasks."""
    count = 0

    def build(layout: str, files: Mapping[str, str] | None = None) -> LoopProject:
        nonlocal count
        count += 1
        base = tmp_path / str(count)
        base.mkdir()
        return LoopProject(base, layout, files)

    return build


@pytest.fixture
def as_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is one of the registered command: shell, guard, launcher and an interpreter of its own."""
    monkeypatch.setattr(LoopProject, "is_registered", True)


@pytest.fixture(params=LAYOUTS)
def any_project(request: pytest.FixtureRequest, project: ProjectFactory) -> LoopProject:
    """A project of each layout in turn, with three open tasks and no loop."""
    return project(request.param)


@pytest.fixture
def armed(any_project: LoopProject) -> LoopProject:
    """A project of each layout in turn, whose loop the session owns."""
    any_project.arm()
    return any_project


@pytest.fixture
def unarmed(project: ProjectFactory) -> LoopProject:
    """A list of features and no loop."""
    return project("features")


@pytest.fixture
def features(project: ProjectFactory) -> LoopProject:
    """A list of features whose loop the session owns."""
    found = project("features")
    found.arm()
    return found


@pytest.fixture
def spec(project: ProjectFactory) -> LoopProject:
    """A spec whose loop the session owns."""
    found = project("specum")
    found.arm()
    return found
