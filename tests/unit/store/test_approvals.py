"""What the person allowed to run: by exact text, in one folder, out of the project's reach."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from ralphloop.domain.model import Task, TaskList
from ralphloop.store import approvals
from ralphloop.store.shelf import Shelf


def place(shelf: Shelf) -> Path:
    return Path(shelf.folder, "approved.json")


def kept(shelf: Shelf) -> dict:
    return json.loads(place(shelf).read_text())["commands"]


def test_nothing_is_approved_from_the_start(project):
    assert approvals.approved(project.shelf) == frozenset()
    assert not os.path.exists(project.shelf.folder)


@pytest.mark.parametrize("other", ["make  test", "make test ", "Make test", "make test;", "make", ""])
def test_an_approval_is_for_the_exact_text(project, other):
    approvals.approve(project.shelf, ["make test"], by="terminal")
    assert "make test" in approvals.approved(project.shelf)
    assert other not in approvals.approved(project.shelf)


def test_approvals_add_up_and_the_first_word_stays(project):
    approvals.approve(project.shelf, ["a"], by="terminal")
    first = kept(project.shelf)["a"]
    approvals.approve(project.shelf, ["b", "a"], by="--yes")
    assert approvals.approved(project.shelf) == {"a", "b"}
    now = kept(project.shelf)
    assert now["a"] == first
    assert (now["a"]["by"], now["b"]["by"]) == ("terminal", "--yes")


def test_what_is_kept_is_the_persons_alone(project):
    approvals.approve(project.shelf, ["a"], by="terminal")
    assert stat.S_IMODE(place(project.shelf).stat().st_mode) == 0o600


def test_another_folder_in_its_place_has_no_approvals(project):
    approvals.approve(project.shelf, ["a"], by="terminal")
    os.rename(project.root, project.root + ".old")
    os.mkdir(project.root)
    assert approvals.approved(project.shelf) == frozenset()
    approvals.approve(project.shelf, ["b"], by="terminal")
    assert approvals.approved(project.shelf) == {"b"}


def test_a_folder_that_was_away_and_is_back_keeps_them(project):
    approvals.approve(project.shelf, ["a"], by="terminal")
    os.rename(project.root, project.root + ".away")
    assert approvals.approved(project.shelf) == frozenset()
    os.rename(project.root + ".away", project.root)
    assert approvals.approved(project.shelf) == {"a"}


def test_what_lies_in_the_project_itself_approves_nothing(project):
    inside = Shelf(project.root, {"HOME": project.env["HOME"], "XDG_STATE_HOME": project.root + "/state"})
    with pytest.raises(OSError, match="do not count"):
        approvals.approve(inside, ["a"], by="terminal")
    assert approvals.approved(inside) == frozenset()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"commands": {"a": {}}}', '{"commands": ["a"]}', '{"folder": 1}', "\udcff"],
)
def test_a_damaged_record_approves_nothing(project, text):
    approvals.approve(project.shelf, ["a"], by="terminal")
    place(project.shelf).write_text(text, encoding="utf-8", errors="surrogateescape")
    assert approvals.approved(project.shelf) == frozenset()
    approvals.approve(project.shelf, ["b"], by="terminal")
    assert approvals.approved(project.shelf) == {"b"}


def test_what_waits_is_in_the_lists_order_and_each_once(project):
    tasks = [Task("1", "", verify=["c", "a"]), Task("2", "", verify=["b", "c"]), Task("3", "")]
    assert approvals.unapproved(project.shelf, TaskList(tasks)) == ["c", "a", "b"]
    approvals.approve(project.shelf, ["a"], by="terminal")
    assert approvals.unapproved(project.shelf, TaskList(tasks)) == ["c", "b"]


def test_a_list_without_checks_waits_for_nothing(project):
    assert approvals.unapproved(project.shelf, TaskList([Task("1", "")])) == []


@pytest.mark.parametrize("command", ["a\nb", "ünï ✓", '"', "\\", "\x7f", "x" * 100_000])
def test_any_text_survives(project, command):
    approvals.approve(project.shelf, [command], by="terminal")
    assert approvals.approved(project.shelf) == {command}


MADE_AT = approvals._made_at


def forgetful(monkeypatch, times: int) -> None:
    """A system that does not tell a folder's time of birth so many times, as seen once under load."""
    left = [times]

    def made_at(path: str) -> str:
        left[0] -= 1
        return "" if left[0] >= 0 else MADE_AT(path)

    monkeypatch.setattr(approvals, "_made_at", made_at)


@pytest.mark.skipif(not approvals._made_at("/"), reason="nothing tells when a folder was made")
def test_a_time_of_birth_that_is_not_told_at_once_makes_no_other_folder(project, monkeypatch):
    forgetful(monkeypatch, 2)
    approvals.approve(project.shelf, ["a"], by="terminal")
    forgetful(monkeypatch, 2)
    assert approvals.approved(project.shelf) == {"a"}
    forgetful(monkeypatch, 1000)
    assert approvals.approved(project.shelf) == frozenset()
    forgetful(monkeypatch, 0)
    assert approvals.approved(project.shelf) == {"a"}


def test_a_file_system_that_tells_no_time_of_birth_is_asked_once(project, monkeypatch):
    forgetful(monkeypatch, 1000)
    approvals.approve(project.shelf, ["a"], by="terminal")
    monkeypatch.setattr(approvals.time, "sleep", lambda seconds: pytest.fail("waited"))
    assert approvals.approved(project.shelf) == {"a"}
