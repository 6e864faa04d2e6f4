"""The actions that specs and features have in common, each for the kind that it is about."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli import allowance
from ralphloop.cli.output import show, tell
from ralphloop.loops.spec import ending, execution, listing, step, wording
from ralphloop.loops.spec.catalogue import Kind, specs_here


def phase(kind: Kind, args: argparse.Namespace) -> int:
    """Begin the step that is called as the action is."""
    place = loops.here()
    text = wording.whole(args.text)
    return show(step.begin(place, specs_here(kind, place), action=args.action, text=text))


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


def implement(kind: Kind, args: argparse.Namespace) -> int:
    place = loops.here()
    spec = specs_here(kind, place).must_have_current()
    wish = execution.Wish(args.max_task_iterations, args.max_global_iterations, args.recovery_mode)
    return show(execution.implement(place, spec, wish=wish, told=tell))


def switch(kind: Kind, args: argparse.Namespace) -> int:
    place = loops.here()
    return show(ending.switch(place, specs_here(kind, place), name=args.name))


def cancel(kind: Kind, args: argparse.Namespace) -> int:
    place = loops.here()
    return show(ending.cancel(place, specs_here(kind, place), name=args.name, told=tell))


def status(kind: Kind, args: argparse.Namespace, *, begin: str) -> int:
    return show(listing.status(kind, loops.here(writes=False), begin=begin), as_json=args.json)
