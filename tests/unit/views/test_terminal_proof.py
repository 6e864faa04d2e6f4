"""Doubts and notes in words: how many, the first of them, and nothing too long or that steers a terminal."""

from __future__ import annotations

from typing import Any

from ralphloop.domain.finding import CRITERIA, NOT_TRIED, Finding
from ralphloop.domain.table import BAD, GOOD, WAIT
from ralphloop.proof.proof_record import ProofRecord
from ralphloop.views import report_section, terminal
from ralphloop.views.fold import fold, width_of
from ralphloop.views.snapshot import LoopView
from unit.domain.cases import each
from unit.views.test_terminal import NOW, view


def doubt(number: int = 1, said: str = "") -> Finding:
    return Finding(CRITERIA, said=said or f"F{number} is green only with changes to a.py", task=f"F{number}")


def note(number: int = 1, said: str = "") -> Finding:
    return Finding(NOT_TRIED, said=said or f"F{number} was not tried", task=f"F{number}")


def ended(*findings: Finding, **values: Any) -> LoopView:
    known = {"state": "ended", "outcome": "complete", "proof": ProofRecord(findings), "next": None}
    return view(**{**known, **values})


@each(
    ("findings", "told"),
    [
        ((), "complete"),
        ((note(),), "complete"),
        ((doubt(),), "complete, 1 doubt"),
        ((doubt(), note(), doubt(2)), "complete, 2 doubts"),
    ],
)
def test_a_complete_loop_says_how_many_doubts_there_are(findings: tuple[Finding, ...], told: str) -> None:
    assert terminal.state_told(ended(*findings)) == told
    assert terminal.block(ended(*findings), now=NOW)[0].startswith(f"shop · {told} · iteration ")


@each(
    ("values", "told"),
    [
        ({"outcome": "limit"}, "limit"),
        ({"state": "paused", "outcome": "needs_input"}, "paused (needs_input)"),
        ({"state": "running", "outcome": None}, "running"),
    ],
)
def test_of_any_other_loop_the_headline_says_nothing(values: dict[str, Any], told: str) -> None:
    seen = ended(doubt(), **values)
    assert terminal.state_told(seen) == told
    assert "  doubt: F1 is green only with changes to a.py" in terminal.block(seen, now=NOW)


@each(
    ("findings", "values", "mood"),
    [
        ((), {}, GOOD),
        ((note(),), {}, GOOD),
        ((doubt(),), {}, WAIT),
        ((doubt(),), {"outcome": "failed"}, BAD),
        ((), {"state": "running", "outcome": None}, WAIT),
    ],
)
def test_a_doubt_takes_the_green_away(
    findings: tuple[Finding, ...], values: dict[str, Any], mood: str
) -> None:
    assert ended(*findings, **values).mood == mood


def test_each_doubt_has_a_line_and_all_notes_have_one() -> None:
    seen = ended(doubt(1), note(1), doubt(2), note(2), note(3), note(4), note(5))
    assert terminal.block(seen, now=NOW)[2:] == [
        "  doubt: F1 is green only with changes to a.py",
        "  doubt: F2 is green only with changes to a.py",
        "  noted: F1 was not tried; F2 was not tried; F3 was not tried; and 2 more",
    ]


def test_of_many_doubts_the_first_are_shown_and_where_all_are() -> None:
    told = terminal.proof_lines(ended(*map(doubt, range(1, 1001))), 240)
    assert len(told) == 6
    assert told[4].startswith("doubt: F5 ")
    assert told[5] == "and 995 more doubts: `ralphloop report shop` names all"


@each(
    "name",
    [
        "a" * 4096,
        "d/" * 2048 + "a",
        "測" * 4096,
        "\x1b]52;c;aGk=\x07\x9b31m\u202e\r\n" * 200,
        "`$(id)` " * 500,
    ],
)
def test_a_name_of_a_hostile_repository_stays_a_name(name: str) -> None:
    said = f"F1 is green only with changes to {name}"
    seen = ended(doubt(said=said), note(said=said), note(said=said))
    for line in terminal.block(seen, now=NOW):
        assert width_of(line) <= len("  doubt: ") + 3 * 80 + 2
        assert not [sign for sign in line if sign < " " or "\x7f" <= sign < "\xa0" or sign == "\u202e"]
    plain = ended(doubt(said="F1 is green only with changes to " + "a" * 4096))
    assert all(width_of(row) <= 80 for line in terminal.block(plain, now=NOW) for row in fold(line, 80))


def test_a_doubt_without_a_word_is_told_by_its_kind() -> None:
    assert terminal.proof_lines(ended(doubt(said=" \n")), 240) == ["doubt: criteria"]


@each(
    ("files", "told"),
    [
        ((), ""),
        (("a.py", "b.py"), "a.py, b.py"),
        (tuple("abcdefg"), "a, b, c, d, e and 2 more"),
        (("n" * 4096,), "n" * 118 + " …"),
    ],
)
def test_of_many_files_the_first_five_are_named(files: tuple[str, ...], told: str) -> None:
    assert report_section.names(files) == told
