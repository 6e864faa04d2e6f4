"""How long sentences are shown: folded for everybody, and errors on a terminal only."""

from __future__ import annotations

import os
import pty
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial

import pytest

from ralphloop.cli.output import complain, say, show, tell
from ralphloop.loops.result import Quoted, Result
from ralphloop.views.fold import COLUMNS

PATH = "/home/somebody/" + "x" * 90
LONG = (
    "! nothing answers here, so nothing was put in place; " * 2 + "`ralphloop service install` puts it there."
)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


def on_terminal(work: Callable[[], object]) -> list[str]:
    """The lines that a person sees."""
    above, below = pty.openpty()
    with os.fdopen(below, "w", encoding="utf-8") as stream, redirect_stdout(stream), redirect_stderr(stream):
        work()
    shown = b""
    with suppress(OSError):  # so Linux says that nobody is left who writes
        while said := os.read(above, 65536):
            shown += said
    os.close(above)
    return shown.decode("utf-8").splitlines()


def test_a_long_sentence_goes_on_below_its_beginning_on_a_terminal() -> None:
    first, *rest = on_terminal(lambda: show(Result({}, (LONG,))))
    assert rest
    assert all(len(line) <= COLUMNS for line in (first, *rest))
    assert all(line.startswith("  ") and line[2] != " " for line in rest)
    assert " ".join([first, *(line.strip() for line in rest)]) == LONG


def test_a_wide_terminal_gets_as_much_as_it_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(len(LONG)))
    assert on_terminal(lambda: tell(LONG, LONG + " More.")) == [LONG, LONG, "  More."]


def test_what_stands_in_backticks_is_never_broken() -> None:
    command = "`ralphloop resume shop --max-cost 5`"
    for words in range(15, 40):
        assert any(command in line for line in on_terminal(partial(tell, "w " * words + command)))


@pytest.mark.parametrize(
    "line", ["  $ " + "make check " * 20, Quoted("    " + "said " * 40), PATH, "  short"]
)
def test_commands_others_texts_and_paths_stay_whole_on_a_terminal(line: str) -> None:
    assert on_terminal(lambda: tell(line)) == [line]


def test_what_is_shown_as_it_is_stays_so_on_a_terminal() -> None:
    assert on_terminal(lambda: show(Result({}, (LONG,)), as_is=True)) == [LONG]
    assert on_terminal(lambda: say(LONG)) == [LONG]


def test_an_error_is_folded_on_a_terminal_too() -> None:
    shown = on_terminal(lambda: complain(LONG))
    assert len(shown) > 1
    assert " ".join(shown) == "ralphloop: " + LONG


def test_a_pipe_gets_sentences_folded_and_an_error_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    show(Result({}, (LONG, "short\n" + LONG)))
    complain(LONG)
    out, err = capsys.readouterr()
    folded = on_terminal(lambda: tell(LONG))
    assert out.splitlines() == [*folded, "short", *folded]
    assert len(folded) > 1
    assert err == f"ralphloop: {LONG}\n"
