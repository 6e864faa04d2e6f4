"""The exit code of a loop: what is left to do is told before what is doubtful, and that before `complete`."""

from __future__ import annotations

from ralphloop.domain.model import OUTCOMES
from ralphloop.domain.table import exit_code, exit_code_table, exit_codes, outcome
from unit.domain.cases import each


@each(
    ("state", "ended", "uncommitted", "doubted", "code"),
    [
        ("ended", "complete", False, False, 0),
        ("ended", "complete", False, True, 19),
        ("ended", "complete", True, False, 20),
        ("ended", "complete", True, True, 20),
        ("running", None, False, True, 18),
        ("ended", "limit", True, True, 10),
        ("paused", None, False, True, 17),
    ],
)
def test_it_tells_how_the_loop_stands(
    state: str, ended: str | None, uncommitted: bool, doubted: bool, code: int
) -> None:
    assert exit_code(state, ended, uncommitted=uncommitted, doubted=doubted) == code


def test_only_what_is_complete_has_a_second_code() -> None:
    assert [name for name in OUTCOMES if outcome(name).doubted_code != outcome(name).code] == ["complete"]


def test_the_help_tells_every_code_once() -> None:
    assert exit_codes()[19] == "complete, with doubts"
    assert exit_codes()[0] == "complete"
    assert exit_code_table().count("\n  19  complete, with doubts\n") == 1
