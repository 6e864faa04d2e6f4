"""What a person types behind a slash command arrives as it was typed."""

from __future__ import annotations

import pytest

from ralphloop.cli.errors import UserError
from ralphloop.cli.typed import argv

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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n ", []),
        (NASTY, ["--", NASTY]),
        (f"\n {NASTY} \n", ["--", NASTY]),
        (f"--quick {NASTY}", ["--quick", "--", NASTY]),
        (f"{NASTY} --quick", ["--quick", "--", NASTY]),
        (f"--name s {NASTY}\n--quick --size fine", ["--name", "s", "--quick", "--size", "fine", "--", NASTY]),
        ("--name=shop a goal", ["--name=shop", "--", "a goal"]),
        ("explain --quick to me", ["--", "explain --quick to me"]),
        ("a goal --name", ["--", "a goal --name"]),
        ("--quick", ["--quick"]),
        ("--size fine", ["--size", "fine"]),
        ("-- --quick", ["--quick", "--", "--"]),
        ("name --name shop shop", ["--", "name --name shop shop"]),
    ],
)  # fmt: skip
def test_free_text_keeps_every_byte_between_the_options_at_its_ends(text: str, words: list[str]) -> None:
    assert argv(text, OPTIONS) == words
