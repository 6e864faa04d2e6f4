"""The suite's pages are held to its cases: clauses are explained, reports are shown or given a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ralphloop.lab.conformance import case as cases
from ralphloop.lab.conformance.case import FAILURES, Expect, find

SUITE = Path(__file__).resolve().parents[3] / "conformance"
CASES = find(SUITE)
NAMED = {clause for case in CASES for clause in case.stands_for}
REPORTS = {f"failure {number}" for number in range(1, FAILURES + 1)}


def rows(page: str) -> list[str]:
    """What stands first in each row of the page's tables."""
    return re.findall(r"^\| `([^`]+)` \| \S", (SUITE / page).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_clause_that_a_case_names_is_explained_once() -> None:
    explained = rows("clauses.md")
    assert NAMED - {*explained} == set()
    assert len(explained) == len({*explained})


def test_every_report_is_explained() -> None:
    assert REPORTS - {*rows("clauses.md")} == set()


def test_every_clause_of_a_document_has_a_case() -> None:
    assert {clause for clause in rows("clauses.md") if clause.startswith("document")} - NAMED == set()


def test_every_report_has_either_cases_or_a_reason() -> None:
    excused = {clause for clause in rows("README.md") if clause.startswith("failure")}
    assert REPORTS - NAMED - excused == set(), "neither a case nor a reason"
    assert NAMED & excused == set(), "both a case and a reason"
    assert excused <= REPORTS


@pytest.mark.parametrize("keys", [cases._CASE, cases._STEP, cases._EXPECT], ids=["case", "step", "expect"])
def test_every_key_is_in_the_description_of_the_format(keys: dict[str, object]) -> None:
    told = (SUITE / "README.md").read_text(encoding="utf-8")
    assert [key for key in keys if f"`{key}`" not in told and key != "expect"] == []


def test_no_two_cases_have_the_same_title_in_one_layout() -> None:
    titles = [(case.layout, case.title) for case in CASES]
    assert sorted({each for each in titles if titles.count(each) > 1}) == []


def test_every_case_expects_something() -> None:
    assert [case.file for case in CASES if all(step.expect == Expect() for step in case.steps)] == []


def test_a_folder_named_as_a_layout_has_cases_of_that_layout_only() -> None:
    folders = [(case.file.partition("/")[0], case) for case in CASES]
    layouts = (*cases.LAYOUTS, cases.ANY)
    assert [case.file for folder, case in folders if folder in layouts and folder != case.layout] == []
