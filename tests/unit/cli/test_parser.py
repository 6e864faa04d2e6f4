"""The parsers of all commands: what their examples say can be parsed, and the table is complete."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest

from ralphloop.cli import main


def parser(command: str) -> argparse.ArgumentParser:
    return main._parsers(command, main._load(main.COMMANDS[command][0]))[0]


def examples(command: str) -> list[str]:
    sub = argparse.ArgumentParser()
    main._load(main.COMMANDS[command][0]).configure(sub)
    return [line.rpartition("| ")[2] for line in (sub.epilog or "").splitlines() if "ralphloop " in line[:60]]


@pytest.mark.parametrize("command", main.COMMANDS)
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
        f"ralphloop.cli.{file.stem}"
        for file in folder.glob("*.py")
        if "\ndef configure(" in file.read_text(encoding="utf-8")
    }
    assert modules == {module for module, _ in main.COMMANDS.values()}
