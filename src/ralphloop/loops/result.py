"""What an action on a loop gives back, to a command line, a page or a program alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ralphloop.domain.table import exit_code_table as exit_code_table

Tell = Callable[[str], None]  # hears a line while the work goes on


class Quoted(str):
    """A line of others' text, which is shown as it is."""


class Result(NamedTuple):
    """What came of it: facts for a program, lines for a person, and the exit code that tells both."""

    data: Mapping[str, Any]
    messages: tuple[str, ...] = ()
    code: int = 0


def quiet(_: str) -> None:
    """For whoever wants to hear nothing until the end."""
