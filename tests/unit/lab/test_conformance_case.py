"""Cases are read strictly: whatever is not known or not of its type is named with its file."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ralphloop.errors import CaseError
from ralphloop.lab.conformance.case import REGISTRATIONS, TOOL, find, load, parse
from unit.domain.cases import each

CASE: dict[str, Any] = {"title": "It holds", "stands_for": ["spec 4.1"], "layout": "none", "step": [{}]}


def refused(**changes: Any) -> str:
    with pytest.raises(CaseError) as caught:
        parse({**CASE, **changes}, file="a.toml")
    return str(caught.value)


def test_a_case_has_defaults_for_all_but_its_name_and_place() -> None:
    case = parse(CASE, file="a.toml")
    assert (case.owner, case.needs, case.git) == ("A", (), False)
    (step,) = case.steps
    assert (step.session, step.event, step.times, step.calls, step.says) == ("A", "Stop", 1, None, None)


@each(
    ("changes", "told"),
    [
        ({"titel": "x"}, "a.toml: unknown key `titel`"),
        ({"title": 3}, "a.toml: `title` is not a text"),
        ({"title": ""}, "a.toml: `title` is missing"),
        ({"stands_for": "spec 1"}, "a.toml: `stands_for` is not a list of texts"),
        ({"stands_for": []}, "a.toml: `stands_for` is missing"),
        ({"git": "yes"}, "a.toml: `git` is not true or false"),
        ({"files": {"a": 1}}, "a.toml: `files` is not a table of texts"),
        ({"step": []}, "a.toml: it has no [[step]]"),
        ({"step": [{}, {"sez": "x"}]}, "a.toml: step 2: unknown key `sez`"),
        ({"step": [{"times": True}]}, "a.toml: step 1: `times` is not a number"),
        ({"step": [{"times": 0}]}, "a.toml: step 1: `times` and `at_once` are at least 1"),
        ({"step": [{"at_once": 10**6}]}, "a.toml: step 1: `times` and `at_once` are at least 1, at most"),
        ({"step": [{"payload": {"a": [date(2026, 1, 1)]}}]}, "a.toml: step 1: `payload` is not a table of"),
        ({"step": [{"transcript": [date(2026, 1, 1)]}]}, "a.toml: step 1: `transcript` is not a list of"),
        ({"step": [{"calls": [{}]}]}, "a.toml: step 1: `calls` is not a list of tables with a `name`"),
        ({"step": [{"calls": [{"name": "Bash", "input": 1}]}]}, "a.toml: step 1: `calls` is not a list of"),
        ({"step": [{"by": "nobody"}]}, 'a.toml: step 1: `by` is \'nobody\'; "person" or "agent"'),
        ({"step": [{"session": "bob"}]}, "a.toml: step 1: `session` is 'bob'; it is one capital letter"),
        ({"step": [{"replaces": {"a": ["x"]}}]}, "a.toml: step 1: `replaces` has the old and the new text"),
        ({"step": [{"expect": {"anser": "block"}}]}, "a.toml: step 1: expect: unknown key `anser`"),
        ({"step": [{"expect": {"answer": "blok"}}]}, "a.toml: step 1: an answer is one of block, context"),
        ({"step": [{"expect": {"exit": 7}}]}, "a.toml: step 1: `exit` is not for a step without `run`"),
        ({"step": [{"run": ["x"], "expect": {"said": {}}}]}, "a.toml: step 1: `said` is not for a step with"),
        ({"step": [{"registration": "x; touch y"}]}, "a.toml: step 1: `registration` is 'x; touch y'"),
        ({"step": [{"registration": "\\g<9>"}]}, "a.toml: step 1: `registration` is"),
        ({"step": [{"expect": {"answers": {"blok": 1}}}]}, "a.toml: step 1: an answer is one of block"),
        ({"layout": "other"}, "a.toml: `layout` is 'other'; one of features"),
        ({"project": "nowhere"}, "a.toml: there is no project 'nowhere'"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(changes: dict[str, Any], told: str) -> None:
    assert refused(**changes).startswith(told)


@pytest.mark.parametrize(
    "clause", ["failure 0", "failure 77", "failure", "spec", "spec x", "document 4: x", "x"]
)
def test_a_clause_that_does_not_exist_is_refused(clause: str) -> None:
    assert "which is no clause" in refused(stands_for=[clause])


@pytest.mark.parametrize("clause", ["failure 76", "spec 3", "spec 4.14", "document 2: US-1 AC-2"])
def test_a_clause_is_a_report_a_section_or_a_line_of_a_document(clause: str) -> None:
    assert parse({**CASE, "stands_for": [clause]}, file="a.toml").stands_for == (clause,)


@pytest.mark.parametrize(
    ("step", "need"),
    [
        ({"run": ["status"]}, TOOL),
        ({"expect": {"outcome": "complete"}}, TOOL),
        ({"expect": {"state": "ended"}}, TOOL),
        ({"event": "SessionStart"}, "SessionStart"),
        ({"registration": "settings"}, REGISTRATIONS),
    ],
)
def test_what_a_step_uses_need_not_be_declared(step: dict[str, Any], need: str) -> None:
    assert parse({**CASE, "needs": ["X"], "step": [step, step]}, file="a.toml").needs == ("X", need)


def test_an_owner_is_a_session_or_a_table_of_lists() -> None:
    assert parse({**CASE, "owner": ""}, file="a.toml").owner == ""
    several = parse({**CASE, "owner": {"A": "one", "B": "two"}}, file="a.toml")
    assert (several.owner, several.owners) == ("", {"A": "one", "B": "two"})
    assert "`owner` is not a session" in refused(owner={"A": 1})


def test_a_text_of_a_file_loses_its_first_line_break_only() -> None:
    assert parse({**CASE, "files": {"a": "\n\ntext\n"}}, file="a.toml").files == {"a": "\ntext\n"}


def test_cases_are_found_by_their_path_below_the_suite(tmp_path: Path) -> None:
    text = 'title = "It holds"\nstands_for = ["spec 1"]\nlayout = "none"\nproject = "p"\n[[step]]\n'
    (tmp_path / "projects" / "p").mkdir(parents=True)
    for name in ("b/two.toml", "a/one.toml", "a/notes.md"):
        (tmp_path / "cases" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cases" / name).write_text(text)
    assert [case.file for case in find(tmp_path)] == ["a/one.toml", "b/two.toml"]
    assert load(tmp_path / "cases" / "a" / "one.toml").file == "a/one.toml"


def test_a_file_that_is_no_toml_and_a_folder_without_cases_are_errors(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("title = \n")
    with pytest.raises(CaseError, match=r"^bad\.toml: "):
        load(bad)
    with pytest.raises(CaseError, match="has no folder `cases`"):
        find(tmp_path / "nothing")
