"""The command `specum`: a spec from its goal to its tasks phase by phase, and the loop that runs them."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli import spec_action
from ralphloop.cli.output import show
from ralphloop.cli.spec_action import ADDS, Action, option, text
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
run = spec_action.run


def configure(parser: argparse.ArgumentParser) -> None:
    spec_action.add_actions(parser, KIND, actions=ACTIONS)


def _wish(args: argparse.Namespace) -> creation.Wish:
    return creation.Wish(args.quick, args.commit_spec, args.specs_dir, args.tasks_size)


def _new(args: argparse.Namespace) -> int:
    return show(creation.new(KIND, loops.here(), [args.name, *args.goal], wish=_wish(args)))


def _start(args: argparse.Namespace) -> int:
    return show(creation.start(KIND, loops.here(), args.text, fresh=args.fresh, wish=_wish(args)))


def _triage(args: argparse.Namespace) -> int:
    return show(triage.epic(KIND, loops.here(), args.text, spec=args.spec, waits_for=args.after))


_COMMIT = "commit each document when it is written (default: `auto_commit_spec`, else yes)"
_NEW = (
    option("--quick", "all phases without questions", action="store_true", default=None),
    option("--commit-spec", _COMMIT, action=argparse.BooleanOptionalAction),
    option("--specs-dir", "one of `specs_dirs` (default: the first)", metavar="P"),
    option("--tasks-size", "how small the tasks are cut", choices=GRANULARITIES, default=GRANULARITIES[0]),
)
_START = (
    text("a spec's name, or what a new one is for"),
    option("--fresh", "begin a new spec even where the name exists", action="store_true"),
)
_NAME_AND_GOAL = (
    option("name", "small letters, digits and dashes, at most 64", metavar="NAME"),
    option("goal", "what it is for", metavar="GOAL", nargs="*"),
)
_TRIAGE = (
    text("what the whole epic is for"),
    option("--spec", "add one spec to the current epic", metavar="NAME"),
    option("--after", "which that spec waits for", metavar="SPEC", action="append", default=[]),
)
ACTIONS = {
    "start": Action("go on where the current spec stands, or begin one", _start, (*_START, *_NEW),
                    ("'Let people log in'", "login", "--fresh login 'Log in anew'")),
    "new": Action("make a spec with its goal", _new, (*_NAME_AND_GOAL, *_NEW),
                  ("login 'Let people log in'", "login 'Let people log in' --quick --tasks-size coarse")),
    "research": Action("begin the research", spec_action.phase, ADDS, ("", "'look at the old code first'")),
    "requirements": Action("begin the requirements", spec_action.phase, ADDS, ("",)),
    "design": Action("begin the design", spec_action.phase, ADDS, ("",)),
    "tasks": Action("begin the list of tasks", spec_action.phase, ADDS, ("",)),
    "implement": Action("run the tasks in a loop", spec_action.implement, spec_action.LIMITS,
                        ("", "--max-global-iterations 40 --recovery-mode")),
    "status": Action("show every spec and the current epic", spec_action.status, spec_action.JSON,
                     ("", "--json")),
    "switch": Action("make another spec the current one", spec_action.switch, spec_action.TARGET,
                     ("login", "./packages/api/specs/login")),
    "cancel": Action("end the loop and remove the state; documents stay", spec_action.cancel,
                     spec_action.NAME, ("", "login")),
    "triage": Action("cut a large goal into specs that wait for each other", _triage, _TRIAGE,
                     ("'A web shop'", "--spec cart --after catalogue", "")),
}  # fmt: skip
