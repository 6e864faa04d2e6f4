"""What a person types behind a slash command arrives as it was typed."""

from __future__ import annotations

import pytest

from ralphloop.errors import UserError
from ralphloop.loops.slash_arguments import argv
from unit.domain.cases import each

OPTIONS = {"--quick": 0, "--name": 1, "--size": 1}
NASTY = "it's \"quoted\" $(id) `id`; a\\b\n\tsecond  line & <b> --not-ours 'x"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  shop  ", ["shop"]),
        ("shop --max-time 4h", ["shop", "--max-time", "4h"]),
        ("'two words' \"a b\"\nc", ["two words", "a b", "c"]),
        ("$(id) `id` a;b", ["$(id)", "`id`", "a;b"]),
    ],
)
def test_plain_arguments_are_split_as_a_shell_would_and_never_run(text: str, words: list[str]) -> None:
    assert argv(text, None) == words


def test_open_quote_is_told() -> None:
    with pytest.raises(UserError, match=r"a quote is not closed in what you typed: it's"):
        argv("it's", None)


@each(
    ("text", "words"),
    [
        ("", []),
        (" \n ", []),
        (NASTY, ["--", NASTY]),
        (f"\n {NASTY} \n", ["--", NASTY]),
        (f"--quick {NASTY}", ["--quick", "--", NASTY]),
        (f"--name=s  --quick\n{NASTY}", ["--name=s", "--quick", "--", NASTY]),
        (f"{NASTY} --quick", ["--", f"{NASTY} --quick"]),
        ("explain --quick to me", ["--", "explain --quick to me"]),
        ("--name", ["--", "--name"]),
        ("--quick", ["--quick"]),
    ],
)
def test_free_text_keeps_every_byte_behind_its_options(text: str, words: list[str]) -> None:
    assert argv(text, OPTIONS) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("cart", ["--", "cart"]),
        (f"cart {NASTY}", ["--", f"cart {NASTY}"]),
        (f"cart --quick {NASTY}", ["--quick", "--", f"cart {NASTY}"]),
        (f"--name s cart {NASTY} --size fine", ["--name", "s", "--size", "fine", "--", f"cart {NASTY}"]),
        ("cart a --quick b", ["--", "cart a --quick b"]),
        ("cart a goal --name", ["--", "cart a goal --name"]),
        ("cart --quick", ["--quick", "--", "cart"]),
    ],
)  # fmt: skip
def test_options_may_also_stand_behind_a_name_and_at_the_end(text: str, words: list[str]) -> None:
    assert argv(text, OPTIONS, loose=True) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [("", []), ("F1", ["--", "F1"]), (f" --name s F1\n {NASTY} ", ["--name", "s", "--", "F1", NASTY])],
)
def test_name_can_be_a_word_of_its_own(text: str, words: list[str]) -> None:
    assert argv(text, OPTIONS, named=True) == words


@each("asked", ["-h", "--help"])
def test_every_action_can_be_asked_for_its_help(asked: str) -> None:
    assert argv(f"{asked} cart", {}) == [asked, "--", "cart"]
    assert argv(f"cart {asked}", {}, loose=True) == [asked, "--", "cart"]
    assert argv(f"cart {asked}", {}) == ["--", f"cart {asked}"]


def test_long_text_takes_no_time() -> None:
    """A million words; looking at every end of them would take hours."""
    text = "x " + "word " * 1_000_000
    assert argv(text, OPTIONS, loose=True) == ["--", text.strip()]
