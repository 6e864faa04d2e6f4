"""The parsers of all commands: what their examples say can be parsed, and the table is complete."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphloop.cli import main, run
from ralphloop.cli.output import Parser
from ralphloop.errors import BusyError
from unit.domain.cases import each


def parser(command: str) -> argparse.ArgumentParser:
    return main._parsers(command, main._load(main.COMMANDS[command][0]))[0]


def examples(command: str) -> list[str]:
    sub = argparse.ArgumentParser()
    main._load(main.COMMANDS[command][0]).configure(sub)
    return [line.rpartition("| ")[2] for line in (sub.epilog or "").splitlines() if "ralphloop " in line[:60]]


@each("command", main.COMMANDS)
def test_examples_parse(command: str) -> None:
    lines = [line.strip() for line in examples(command) if line.strip().startswith("ralphloop ")]
    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[1] == command
        parser(command).parse_args(words[1:])


def test_every_module_of_a_command_is_in_the_table() -> None:
    folder = Path(main.__file__).parent
    modules = {
        ".".join(("ralphloop.cli", *file.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        for file in folder.rglob("*.py")
        if "\ndef configure(" in file.read_text(encoding="utf-8")
    }
    assert modules == {module for module, _ in main.COMMANDS.values()}


def test_help_has_every_command_once_under_a_heading() -> None:
    listed = parser("status").format_help().partition("begin:\n")[2].partition("\nexamples:\n")[0]
    rows = [line.split()[0] for line in listed.splitlines() if line.startswith("    ")]
    assert rows == list(main.COMMANDS)
    assert 5 <= len(main.HEADINGS) <= 8


def every_parser() -> Iterator[Parser]:
    """The parser of each command, and those of its actions."""
    for name, (module, _) in main.COMMANDS.items():
        top, own = main._parsers(name, main._load(module))
        yield top
        yield own
        for action in own._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from action.choices.values()


def test_no_help_is_wider_than_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    wide = {line for found in every_parser() for line in found.format_help().splitlines() if len(line) > 80}
    assert wide == set()


@pytest.mark.parametrize("name", ["start", "run"])
def test_doubts_are_refused_where_that_is_asked_for(name: str) -> None:
    assert parser(name).parse_args([name, "shop"]).strict is False
    assert parser(name).parse_args([name, "shop", "--strict"]).strict is True


def test_a_run_begins_as_strict_as_it_was_asked_for() -> None:
    asked = [parser("run").parse_args(["run", *words]) for words in ([], ["--strict"])]
    assert [run._wish(args).strict for args in asked] == [False, True]


def test_who_waits_for_too_long_is_told_to_try_again(capsys: pytest.CaptureFixture[str]) -> None:
    def wait() -> int:
        raise BusyError("/some/lock")

    assert main._guarded(wait) == 1
    said = "ralphloop: other ralphloop processes are at work here; try again in a moment.\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("name", ["cancel", "done", "pause"])
def test_a_command_that_shows_no_loop_imports_no_read_model(name: str) -> None:
    code = f"import sys; from ralphloop.cli import {name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"ralphloop.cli.{name}" in done.stdout.split()
    assert not {"ralphloop.views.snapshot", "shutil"} & set(done.stdout.split())
