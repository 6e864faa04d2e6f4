"""Wrong usage in words of ours, whichever Python's argparse finds it out."""

from __future__ import annotations

import argparse
import shlex

import pytest

from ralphloop.cli import main
from ralphloop.cli.output import Parser
from ralphloop.errors import UsageError


def told(line: str) -> str:
    with pytest.raises(UsageError) as refused:
        main.run(shlex.split(line))
    return str(refused.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("stauts", "there is no command `stauts`; did you mean `ralphloop status`?"),
        ("stop", "did you mean `ralphloop pause`?"),
        ("frobnicate", "there is no command `frobnicate`; `ralphloop --help` lists them all."),
        ("--bogus", "`ralphloop` has no option `--bogus`; `ralphloop --help` shows those that it has."),
        ("--json", "type `ralphloop status --json`."),
        ("--max-cost=5 run", "type `ralphloop run --max-cost=5`."),
        ("--max-cost 5 run shop", "type `ralphloop run --max-cost 5 shop`."),
        ("--loop 'my shop' done F1", "type `ralphloop done --loop 'my shop' F1`."),
        ("-f log", "the option `-f` belongs to a command and stands behind it; type `ralphloop log -f`."),
        ("--bogus run", "`ralphloop` has no option `--bogus`"),
        ("-x", "`ralphloop` has no option `-x`; `ralphloop --help` shows those that it has."),
        ("-v", "`ralphloop` has no option `-v`; did you mean `--version`?"),
        ("-- run", "`ralphloop` needs a command in front of `--`; `ralphloop --help` lists them all."),
        ("--", "`ralphloop` needs a command in front of `--`"),
        ("-5", "`ralphloop` has no option `-5`"),
        ("-", "`ralphloop` has no option `-`"),
        ("done -x", "`ralphloop done` has no option `-x`; `ralphloop done --help`"),
        ("answer --lop shop", "`ralphloop answer` has no option `--lop`; did you mean `--loop`?"),
        ("run -x", "`ralphloop run` has no option `-x`"),
        ("start -y", "did you mean `--yes`?"),
        ("specum new a --quik", "`ralphloop specum new` has no option `--quik`; did you mean `--quick`?"),
        ("record lst", "`ralphloop record` has no action `lst`; did you mean `ralphloop record list`?"),
        ("verify --all=yes", "`--all` of `ralphloop verify` takes no value; type `--all` alone."),
        ("start --max-iterations", "needs a value behind it, such as `--max-iterations 20`."),
        ("install --scope projet", "is none of local, project, user; did you mean `--scope project`?"),
        ("start --continue-with force", "type for example `--continue-with block`."),
        ("start --permission-mode pln", "dontAsk, plan; did you mean `--permission-mode plan`?"),
        ("run --permission-mode edits", "dontAsk; did you mean `--permission-mode acceptEdits`?"),
        ("run --permission-mode plan", "changes nothing; take acceptEdits; type for example"),
        ("done", "needs ID behind it (ID is the task's id as `ralphloop status` shows it)"),
        ("done", "type for example `ralphloop done F2`."),
        (f"run --{'x' * 500}", "xxx…`; "),
        ("conformance --json --junit x", "not allowed with argument --json"),
    ],
)
def test_wrong_usage_is_one_sentence_with_a_hint(line: str, words: str) -> None:
    said = told(line)
    assert words in said
    assert "usage" not in said
    assert len(said) < 400


def test_a_text_that_looks_like_an_option_is_none_behind_two_dashes() -> None:
    parser, _ = main._parsers("plan", main._load(main.COMMANDS["plan"][0]))
    assert parser.parse_args(["plan", "--name", "shop", "--", "--json is a goal"]).goal == [
        "--json is a goal"
    ]
    assert parser.parse_args(["plan", "--json is a goal"]).goal == ["--json is a goal"]


def test_newer_pythons_raise_what_older_ones_print() -> None:
    """From 3.12 on a missing argument is an ArgumentError without a name."""
    parser = Parser(prog="ralphloop x", epilog="examples:\n  ralphloop x F1\n")
    parser.add_argument("id", metavar="ID", help="the task's id")
    missing = argparse.ArgumentError(None, "the following arguments are required: ID")
    for way in (
        lambda: parser._refuse(missing),
        lambda: parser.error(missing.message),
        lambda: parser.parse_args([]),
    ):
        with pytest.raises(UsageError, match=r"needs ID behind it .*type for example `ralphloop x F1`\."):
            way()
    with pytest.raises(UsageError, match="`ralphloop x`: whatever it is; `ralphloop x --help` shows"):
        parser.error("whatever it is")
