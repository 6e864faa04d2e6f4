"""Every lie of the catalogue comes out as its file says, and because of the clauses that it names."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from e2e.catalogues import SUITE, entries, families, played, told
from e2e.test_conformance_command import conformance
from ralphloop.lab.catalogue.crew import Part
from ralphloop.lab.catalogue.item import HELD, LIES, TOLD, UNTOLD, Turn, find

LIED = entries(LIES)
FAMILIES = families(LIED)
ONE = "undone-or-elsewhere/only-claimed"
of_each_family = pytest.mark.parametrize("family", FAMILIES)
long = [pytest.mark.slow, pytest.mark.timeout(900)]


def marked(test: Any) -> Any:
    for mark in long:
        test = mark(test)
    return test


def test_there_are_more_than_80_lies_in_12_families_and_few_are_believed() -> None:
    assert len(LIED) >= 80
    assert len(FAMILIES) >= 12
    assert sum(item.expect == UNTOLD for item in LIED) <= len(LIED) * 0.05
    assert sum(len(item.layouts) == 3 for item in LIED) >= 12


def test_every_title_is_a_sentence_of_its_own() -> None:
    titles = [item.title for item in LIED]
    assert len(set(titles)) == len(titles)
    assert [title for title in titles if title.endswith(".")] == []


@marked
@of_each_family
def test_lies_come_out_as_their_files_say(family: str) -> None:
    parts = [Part(item, layout) for item in LIED if item.family == family for layout in item.layouts]
    wrong = [each for each in played(parts) if not each.as_said]
    assert not wrong, told(wrong)


@marked
@of_each_family
def test_without_its_clauses_no_lie_is_told(family: str) -> None:
    mine = [item for item in LIED if (item.family, item.expect) == (family, TOLD)]
    wrong = [each for each in played([Part(item, item.layouts[0], item.told_by) for item in mine])
             if each.came != UNTOLD]  # fmt: skip
    assert not wrong, told(wrong)


@marked
@of_each_family
def test_without_its_clauses_no_lie_is_held(family: str) -> None:
    mine = [item for item in LIED if (item.family, item.expect) == (family, HELD) and item.held_by]
    wrong = [each for each in played([Part(item, item.layouts[0], item.held_by) for item in mine])
             if each.came not in (TOLD, UNTOLD)]  # fmt: skip
    assert not wrong, told(wrong)


@marked
@of_each_family
def test_without_the_lie_the_claim_is_refused(family: str) -> None:
    """Or it would be no lie that turns the check; a weak one is green all along."""
    mine = [item for item in LIED if item.family == family != "weak-checks"]
    bare = [
        dataclasses.replace(item, turns=(Turn(claims=tuple(task.id for task in item.tasks)),), expect=HELD)
        for item in mine
        if any(task.verify for task in item.tasks)
    ]
    wrong = [each for each in played([Part(item, item.layouts[0]) for item in bare]) if each.came != HELD]
    assert not wrong, told(wrong)


def test_the_table_has_a_row_for_each_family(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--lies", "--only", ONE, "--only", "state/journal-written")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "family                   held     told   untold    total",
        "state                       1        0        0        1",
        "undone-or-elsewhere         3        0        0        3",
        "all                         4        0        0        4",
    ]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_json_has_every_play(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--lies", "--only", ONE, "--layout", "specum", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["held"], data["total"], data["as_said"]) == (0, 1, 1, 1)
    assert data["families"] == {"undone-or-elsewhere": {"held": 1, "told": 0, "untold": 0}}
    (row,) = data["lies"]
    assert (row["file"], row["layout"], row["came"]) == (f"{ONE}.toml", "specum", HELD)
    assert row["as_said"] is True


def copied(folder: Path, *, changed: tuple[str, str]) -> Path:
    """A suite of one lie, otherwise than in ours."""
    place = folder / "suite/lies/family/one.toml"
    place.parent.mkdir(parents=True)
    text = (SUITE / f"lies/{ONE}.toml").read_text(encoding="utf-8")
    base = (SUITE / "bases/python.toml").read_text(encoding="utf-8")
    assert changed[0] in text
    place.write_text(text.replace(*changed), encoding="utf-8")
    (folder / "suite/bases").mkdir()
    (folder / "suite/bases/python.toml").write_text(base, encoding="utf-8")
    return folder / "suite"


def test_what_is_otherwise_than_its_file_says_is_told_and_fails(tmp_path: Path) -> None:
    other = 'expect = "untold"\nwhy = "nobody runs the check"'
    suite = copied(tmp_path, changed=('expect = "held"', other))
    done = conformance(tmp_path, "--lies", "--cases", str(suite), "--layout", "features")
    assert done.returncode == 1
    assert "NOT AS ITS FILE SAYS lies/family/one.toml (features)" in done.stdout
    assert "expected untold, and it is held" in done.stdout


def test_a_bad_file_is_named_with_its_line(tmp_path: Path) -> None:
    suite = copied(tmp_path, changed=('held_by = ["run"]', 'held_by = ["magic"]'))
    line = (
        (suite / "lies/family/one.toml").read_text(encoding="utf-8").splitlines().index('held_by = ["magic"]')
    )
    done = conformance(tmp_path, "--lies", "--cases", str(suite))
    assert done.returncode == 2
    assert f"family/one.toml:{line + 1}: `held_by` names 'magic'" in done.stderr


@pytest.mark.parametrize("words", [("--hook", "true"), ("--tool", "x"), ("--junit", "x.xml")])
def test_what_is_for_the_cases_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = conformance(tmp_path, "--lies", *words)
    assert done.returncode == 2
    assert f"{words[0]} is for the cases" in done.stderr


def test_the_list_names_all_and_plays_none(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--lies", "--list", "--json")
    assert json.loads(done.stdout)["total"] == len(find(SUITE, LIES))
    assert list((tmp_path / "temporary").iterdir()) == []
