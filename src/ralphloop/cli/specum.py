"""The command `specum`: a spec from its goal to its tasks phase by phase, and the loop that runs them."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli import spec
from ralphloop.cli.output import show
from ralphloop.cli.spec import Action, text_option
from ralphloop.loops.slash_arguments import Options
from ralphloop.loops.spec import creation, triage
from ralphloop.loops.spec.catalogue import GRANULARITIES
from ralphloop.loops.spec.catalogue import SPECUM_KIND as KIND

_NEW_FLAGS = {"--quick": 0, "--commit-spec": 0, "--no-commit-spec": 0, "--specs-dir": 1, "--tasks-size": 1}
# what is free text when it is typed in the client, with the options around it
TYPED: dict[str, Options] = {
    "new": _NEW_FLAGS,
    "start": {"--fresh": 0, **_NEW_FLAGS},
    **{action: {} for action in KIND.steps},
    "triage": {"--spec": 1, "--after": 1},
}
LOOSE = ("new", "start")  # a name stands in front, and options behind it are options
run = spec.run


def configure(parser: argparse.ArgumentParser) -> None:
    spec.add_actions(parser, KIND, actions=ACTIONS)


def _new_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", default=None, help="all phases without questions")
    parser.add_argument(
        "--commit-spec",
        action=argparse.BooleanOptionalAction,
        help="commit each document when it is written (default: `auto_commit_spec`, else yes)",
    )
    parser.add_argument("--specs-dir", metavar="P", help="one of `specs_dirs` (default: the first)")
    parser.add_argument(
        "--tasks-size", choices=GRANULARITIES, default=GRANULARITIES[0], help="how small the tasks are cut"
    )


def _name_and_goal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="small letters, digits and dashes, at most 64")
    parser.add_argument("goal", metavar="GOAL", nargs="*", help="what it is for")
    _new_options(parser)


def _start_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="*", help="a spec's name, or what a new one is for")
    parser.add_argument("--fresh", action="store_true", help="begin a new spec even where the name exists")
    _new_options(parser)


def _wish(args: argparse.Namespace) -> creation.Wish:
    return creation.Wish(args.quick, args.commit_spec, args.specs_dir, args.tasks_size)


def _new(args: argparse.Namespace) -> int:
    return show(creation.new(KIND, loops.here(), [args.name, *args.goal], wish=_wish(args)))


def _start(args: argparse.Namespace) -> int:
    return show(creation.start(KIND, loops.here(), args.text, fresh=args.fresh, wish=_wish(args)))


def _triage_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what the whole epic is for")
    parser.add_argument("--spec", metavar="NAME", help="add one spec to the current epic")
    parser.add_argument(
        "--after", metavar="SPEC", action="append", default=[], help="which that spec waits for"
    )


def _triage(args: argparse.Namespace) -> int:
    return show(triage.epic(KIND, loops.here(), args.text, spec=args.spec, after=args.after))


_ADDS = text_option("what you want to say about it")
ACTIONS = {
    "start": Action("go on where the current spec stands, or begin one", _start, _start_options,
                    ("'Let people log in'", "login", "--fresh login 'Log in anew'")),
    "new": Action("make a spec with its goal", _new, _name_and_goal,
                  ("login 'Let people log in'", "login 'Let people log in' --quick --tasks-size coarse")),
    "research": Action("begin the research", spec.phase, _ADDS, ("", "'look at the old code first'")),
    "requirements": Action("begin the requirements", spec.phase, _ADDS, ("",)),
    "design": Action("begin the design", spec.phase, _ADDS, ("",)),
    "tasks": Action("begin the list of tasks", spec.phase, _ADDS, ("",)),
    "implement": Action("run the tasks in a loop", spec.implement, spec.implement_options,
                        ("", "--max-global-iterations 40 --recovery-mode")),
    "status": Action("show every spec and the current epic", spec.status, spec.json_option, ("", "--json")),
    "switch": Action("make another spec the current one", spec.switch, spec.target_option,
                     ("login", "./packages/api/specs/login")),
    "cancel": Action("end the loop and remove the state; documents stay", spec.cancel, spec.name_option,
                     ("", "login")),
    "triage": Action("cut a large goal into specs that wait for each other", _triage, _triage_options,
                     ("'A web shop'", "--spec cart --after catalogue", "")),
}  # fmt: skip
