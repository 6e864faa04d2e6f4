"""What the commands of the spec plugins share: how their actions are put together, and those of both."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ralphloop import loops
from ralphloop.cli import allowance
from ralphloop.cli.output import show, tell
from ralphloop.loops.spec import ending, execution, overview, step, wording
from ralphloop.loops.spec.catalogue import Kind, specs_here


class Action(NamedTuple):
    told: str
    run: Callable[[argparse.Namespace], int]
    options: Callable[[argparse.ArgumentParser], None]
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
        action.options(sub)
        sub.set_defaults(kind=kind, act=action.run)
    parser.epilog = _examples(kind, ((name, action.examples[0]) for name, action in actions.items()))


def _examples(kind: Kind, calls: Iterable[tuple[str, str]]) -> str:
    rows = (f"  ralphloop {kind.layout} {name} {example}".rstrip() for name, example in calls)
    return "\n".join(["examples:", *rows, ""])


def run(args: argparse.Namespace) -> int:
    code: int = args.act(args)
    return code


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


def implement_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-task-iterations", metavar="N", type=allowance.count, help="attempts at one task (default: 5)"
    )
    parser.add_argument(
        "--max-global-iterations", metavar="N", type=allowance.count, help="turns at most (default: 100)"
    )
    parser.add_argument(
        "--recovery-mode", action="store_true", help="let the agent add fix tasks for a task that fails"
    )


def phase(args: argparse.Namespace) -> int:
    """Begin the step that is called as the action is."""
    place, text = loops.here(), wording.whole(args.text)
    return show(step.begin(place, specs_here(args.kind, place), action=args.action, text=text))


def implement(args: argparse.Namespace) -> int:
    place = loops.here()
    spec = specs_here(args.kind, place).must_have_current()
    wish = execution.Wish(args.max_task_iterations, args.max_global_iterations, args.recovery_mode)
    return show(execution.implement(place, spec, wish=wish, told=tell))


def status(args: argparse.Namespace) -> int:
    return show(overview.status(args.kind, loops.here(writes=False)), as_json=args.json)


def switch(args: argparse.Namespace) -> int:
    place = loops.here()
    return show(ending.switch(place, specs_here(args.kind, place), name=args.name))


def cancel(args: argparse.Namespace) -> int:
    place = loops.here()
    return show(ending.cancel(place, specs_here(args.kind, place), name=args.name, told=tell))
