"""What an action on a loop gives back, to a command line, a page or a program alike, with its exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ralphloop.domain import model
from ralphloop.domain.table import OUTCOMES, outcome

Tell = Callable[[str], None]  # hears a line while the work goes on

UNDER_WAY, UNCOMMITTED = 18, 20


class Quoted(str):
    """A line of others' text, which is shown as it is."""


class Result(NamedTuple):
    """What came of it: facts for a program, lines for a person, and the exit code that tells both."""

    data: Mapping[str, Any]
    messages: tuple[str, ...] = ()
    code: int = 0


def quiet(_: str) -> None:
    """For whoever wants to hear nothing until the end."""


def exit_code(state: str, ended: str | None, *, uncommitted: bool = False) -> int:
    """The code that tells how a loop ended or rests, for every command that has one to tell of."""
    if state not in (model.PAUSED, model.ENDED):
        return UNDER_WAY
    return UNCOMMITTED if ended == model.COMPLETE and uncommitted else outcome(ended).code


def exit_codes() -> dict[int, str]:
    """What each code tells."""
    found: dict[int, str] = {}
    for row in OUTCOMES.values():
        joint = "" if row.code not in found or row.exit[:1] in (",", "") else " "
        found[row.code] = found.get(row.code, "") + joint + row.exit
    found[UNDER_WAY] = "still under way: armed, running or waiting"
    found[UNCOMMITTED] = "complete, but not all of it is committed"
    return found


def exit_code_table() -> str:
    """The same for `--help`."""
    rows = (f"  {code:>2}  {told}\n" for code, told in sorted(exit_codes().items()))
    return "exit codes:\n" + "".join(rows)
