"""`new` and `plan` in a project whose folders are links: nothing is written through one out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.cli_project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("link", [".ralph", ".ralph/loops"])
@pytest.mark.parametrize(
    "words", [("new", "a-shop"), ("plan", "--name", "a-shop", "A shop"), ("plan", "A shop")]
)
def test_a_link_out_of_the_project_is_refused(project: Project, link: str, words: tuple[str, ...]) -> None:
    outside = project.folder / "outside"
    outside.mkdir()
    place = project.root / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)
    assert "shop would lie outside of the project, because of a link" in project.refused(*words)
    assert list(outside.iterdir()) == []


def test_a_link_in_the_place_of_the_folder_itself_is_named(project: Project) -> None:
    (project.root / ".ralph" / "loops").mkdir(parents=True)
    (project.root / ".ralph" / "loops" / "shop").symlink_to(project.folder)
    assert ".ralph/loops/shop would lie outside" in project.refused("new", "shop")


def test_nor_is_anything_built_where_only_the_way_leads_out(project: Project) -> None:
    outside = project.folder / "outside"
    outside.mkdir()
    (project.root / "back").mkdir()
    (outside / "loops").symlink_to(project.root / "back")
    (project.root / ".ralph").symlink_to(outside)
    assert "outside of the project" in project.refused("new", "shop")


def test_a_link_that_stays_in_the_project_is_the_persons_own_way(project: Project) -> None:
    (project.root / "loops").mkdir()
    (project.root / ".ralph").mkdir()
    (project.root / ".ralph" / "loops").symlink_to(project.root / "loops")
    project.fine("new", "shop")
    assert (project.root / "loops" / "shop" / "feature_list.json").is_file()
