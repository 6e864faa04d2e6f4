"""How a command with actions is put together: one parser for each, with its help and an example."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Action(NamedTuple):
    told: str
    run: Callable[[argparse.Namespace], int]
    options: Callable[[argparse.ArgumentParser], None]
    examples: tuple[str, ...]


def add_actions(parser: argparse.ArgumentParser, command: str, *, actions: Mapping[str, Action]) -> None:
    found = parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)
    for name, action in actions.items():
        sub = found.add_parser(
            name,
            help=action.told,
            description=action.told[0].upper() + action.told[1:] + ".",
            epilog=_examples(command, name, examples=action.examples),
        )
        action.options(sub)
    parser.epilog = "".join(
        ["examples:\n", *(f"  ralphloop {command} {name} {one.examples[0]}".rstrip() + "\n"
                          for name, one in actions.items())]
    )  # fmt: skip


def _examples(command: str, name: str, *, examples: tuple[str, ...]) -> str:
    return "examples:\n" + "".join(f"  ralphloop {command} {name} {one}".rstrip() + "\n" for one in examples)


def text_option(told: str) -> Callable[[argparse.ArgumentParser], None]:
    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("text", metavar="TEXT", nargs="*", help=told)

    return add


def json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def name_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="which one (default: the current one)")


def target_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="its name, number or ./path")


# Typed in the client, a text is free: these are options wherever they stand at one of its ends.
HELP = {"-h": 0, "--help": 0}
