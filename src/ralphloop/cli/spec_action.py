"""What the commands of the spec plugins share: how their actions are put together, and those of both."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ralphloop import loops
from ralphloop.cli.output import show, tell, value
from ralphloop.config import keys
from ralphloop.loops.spec import course, execution, wording
from ralphloop.loops.spec.catalogue import Kind, specs_here

Option = tuple[str, dict[str, Any]]


class Action(NamedTuple):
    told: str
    run: Callable[[argparse.Namespace], int]
    options: tuple[Option, ...]
    examples: tuple[str, ...]


def add_actions(parser: argparse.ArgumentParser, kind: Kind, *, actions: Mapping[str, Action]) -> None:
    """One parser for each action, with its help and examples; `run` gets the action and the kind."""
    found = parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)
    for name, action in actions.items():
        sub = found.add_parser(
            name,
            help=action.told,
            description=action.told[0].upper() + action.told[1:] + ".",
            epilog=_examples(kind, ((name, example) for example in action.examples)),
        )
        for option, terms in action.options:
            sub.add_argument(option, **terms)
        sub.set_defaults(kind=kind, act=action.run)
    parser.epilog = _examples(kind, ((name, action.examples[0]) for name, action in actions.items()))


def _examples(kind: Kind, calls: Iterable[tuple[str, str]]) -> str:
    rows = (f"  ralphloop {kind.layout} {name} {example}".rstrip() for name, example in calls)
    return "\n".join(["examples:", *rows, ""])


def run(args: argparse.Namespace) -> int:
    code: int = args.act(args)
    return code


def option(name: str, told: str, **terms: Any) -> Option:
    return name, {"help": told, **terms}


def text(told: str) -> Option:
    return option("text", told, metavar="TEXT", nargs="*")


ADDS = (text("what you want to say about it"),)
JSON = (option("--json", "print JSON", action="store_true"),)
NAME = (option("name", "which one (default: the current one)", metavar="NAME", nargs="?"),)
TARGET = (option("name", "its name, number or ./path", metavar="NAME"),)
LIMITS = (
    option("--max-task-iterations", "attempts at one task (default: 5)", metavar="N", type=value(keys.count)),
    option("--max-global-iterations", "turns at most (default: 100)", metavar="N", type=value(keys.count)),
    option("--recovery-mode", "let the agent add fix tasks for a task that fails", action="store_true"),
)


def phase(args: argparse.Namespace) -> int:
    """Begin the step that is called as the action is."""
    place, said = loops.here(), wording.whole(args.text)
    return show(course.begin(place, specs_here(args.kind, place), action=args.action, text=said))


def implement(args: argparse.Namespace) -> int:
    place = loops.here()
    spec = specs_here(args.kind, place).must_have_current()
    wish = execution.Wish(args.max_task_iterations, args.max_global_iterations, args.recovery_mode)
    return show(execution.implement(place, spec, wish=wish, told=tell))


def status(args: argparse.Namespace) -> int:
    return show(course.status(args.kind, loops.here(writes=False)), as_json=args.json)


def switch(args: argparse.Namespace) -> int:
    place = loops.here()
    return show(execution.switch(place, specs_here(args.kind, place), name=args.name))


def cancel(args: argparse.Namespace) -> int:
    place = loops.here()
    return show(execution.cancel(place, specs_here(args.kind, place), name=args.name, told=tell))
