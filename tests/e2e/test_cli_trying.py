"""While checks are tried before any work, whoever waits at a terminal sees which; nothing of it stays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from e2e.checking import Asked, begin, change, task, write_list
from e2e.cli_project import SESSION, Project
from security.life import CLIENT

CLEARED = "\r\033[K"
CHECK = "test -f made-1"
TRIED = f"{CLEARED}trying {CHECK}{CLEARED}"


class Trying(Project):
    """A project whose checks are tried when a loop begins."""

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**super().env(extra), "RALPHLOOP_TRY_S": "60"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Trying(tmp_path)
    found.program("claude", CLIENT)
    return found


def test_start_names_each_check_in_a_row_that_is_cleared(project: Project) -> None:
    long = "test -f " + "made-2" * 40
    write_list(project, task("F1", CHECK), task("F2", long))
    with Asked(project, "start", "shop", "--session", SESSION, "--yes") as asked:
        code, out = asked.end()
    assert code == 0, out
    rows = f"{CLEARED}trying {CHECK}{CLEARED}trying {long}"[: -len(long)]
    shown, _, after = out.partition(rows)[2].partition(CLEARED)
    assert (len("trying " + shown), shown.endswith(" …")) == (79, True)
    assert after.startswith("Loop features-shop-")


def test_run_names_it_between_what_it_begins_and_its_first_session(project: Project) -> None:
    write_list(project, task("F1", CHECK))
    with Asked(project, "run", "shop", "--yes", "--plain") as asked:
        asked.wait_for("Loop features-shop-")
        asked.wait_for(TRIED)
        asked.wait_for("session 1")


def test_approve_names_what_is_new(project: Project) -> None:
    begin(project, task("F1", "test -f made-0"))
    project.fine("pause", "shop")
    change(project, "F1", verify=[CHECK])
    with Asked(project, "approve", "shop") as asked:
        code, out = asked.answer("y\n")
    assert code == 0, out
    assert TRIED in out


def test_nothing_of_it_is_said_where_there_is_no_terminal(project: Project) -> None:
    write_list(project, task("F1", CHECK))
    assert "trying" not in project.fine("start", "shop", "--session", SESSION, "--yes")


def test_what_the_person_does_not_want_tried_apart_is_not_run_at_the_start(project: Project) -> None:
    outside = project.folder / "ran"
    check = f"date >> {outside}; exit 1"
    write_list(project, task("F1", f"{check} # one", apart=False), task("F2", f"{check} # two", timeout_s=7))
    told = project.fine("start", "shop", "--session", SESSION, "--yes")
    assert len(outside.read_text().splitlines()) == 1
    assert "F1 was not tried apart from the work: `apart` is false" in " ".join(told.split())
