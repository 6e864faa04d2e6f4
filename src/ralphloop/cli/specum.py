"""The command `specum`: a spec from its goal to its tasks phase by phase, and the loop that runs them."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import Any

from ralphloop.cli.here import here
from ralphloop.cli.output import say
from ralphloop.cli.spec import (
    actions,
    creation,
    ending,
    execution,
    overview,
    state_file,
    triage,
    wording,
)
from ralphloop.cli.spec.catalogue import Specs, specs_here
from ralphloop.cli.spec.kind import GRANULARITIES, SPECUM_KIND
from ralphloop.cli.spec.parser import (
    HELP,
    Action,
    add_actions,
    json_option,
    name_option,
    target_option,
    text_option,
)
from ralphloop.errors import UserError
from ralphloop.store import files
from ralphloop.tasklists import spec_phase, spec_state

KIND = SPECUM_KIND
BEGIN = f"There is no spec here yet. Next: `{KIND.typed('start', 'WHAT', 'IT', 'SHALL', 'DO')}`"
_NEW_FLAGS = {"--quick": 0, "--commit-spec": 0, "--no-commit-spec": 0, "--specs-dir": 1, "--tasks-size": 1}
# what is free text when it is typed in the client, with the options around it
TYPED = {
    "new": {**_NEW_FLAGS, **HELP},
    "start": {"--fresh": 0, **_NEW_FLAGS, **HELP},
    **dict.fromkeys(KIND.steps, HELP),
    "triage": {"--spec": 1, "--after": 1, **HELP},
}
LOOSE = ("new", "start")  # a name stands in front, and options behind it are options


def configure(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, "specum", actions=ACTIONS)


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action].run(args)


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


def _new(args: argparse.Namespace) -> int:
    return _create(args, wording.name_and_goal([args.name, *args.goal]))


def _create(args: argparse.Namespace, named: wording.Named) -> int:
    wording.must_be_name(named.name, word=KIND.word)
    place = here()
    specs = specs_here(KIND, place, inside=True)
    folder = os.path.join(_home(specs, args.specs_dir), named.name)
    with state_file.alone(specs.root, place):
        old, state = specs.before(), _state(args, specs, folder=folder)
        quick = place if state["quickMode"] else None
        spec = creation.create(specs, folder, goal=named.goal, state=state, quick=quick)
    if quick:
        who = "this session" if place.session else "the next session started here"
        say(f"Quick mode: a loop keeps {who} going through the phases.")
    if "epicName" in state:
        triage.begin(place, specs, spec=spec)
    actions.introduce(place, specs, spec=spec, old=old, action="research", goal=named.goal)
    return 0


def _state(args: argparse.Namespace, specs: Specs, *, folder: str) -> dict[str, Any]:
    default = [value.lower() for value in specs.settings.get("quick_mode_default", [])]
    quick = args.quick or default == ["true"]
    state: dict[str, Any] = {
        "quickMode": quick, "awaitingApproval": not quick, "granularity": args.tasks_size
    }  # fmt: skip
    if args.commit_spec is not None:
        state["commitSpec"] = args.commit_spec
    epic = triage.current(specs, os.path.dirname(folder))
    if epic is not None and os.path.basename(folder) in epic.names:
        state["epicName"] = epic.name
    return state


def _home(specs: Specs, wanted: str | None) -> str:
    if wanted is None:
        return specs.home
    found = spec_state.inside(specs.root, wanted)
    known = [folder for folder, _ in specs.places]
    if found in known:
        return str(found)
    named = ", ".join(os.path.relpath(folder, specs.root) for folder in known)
    raise UserError(f"{wanted} is not one of `specs_dirs` ({named}); add it in {KIND.settings} first.")


def _start(args: argparse.Namespace) -> int:
    text = wording.whole(args.text).strip()
    if not text:
        if args.fresh:
            raise UserError(f"say what the new spec is for: `{KIND.typed('start', '--fresh', 'GOAL')}`")
        return _where()
    place = here()
    specs = specs_here(KIND, place, inside=True)
    if not args.fresh and len(text.split()) == 1 and specs.named(text):
        if args.quick:
            fresh = KIND.typed("start", "--fresh", text, "--quick")
            raise UserError(f"{text} exists already, and --quick is for a new spec; `{fresh}` makes one.")
        return ending.switch(place, specs, name=text)
    home = _home(specs, args.specs_dir)
    taken = set(files.names(home))
    named = wording.guessed(args.text, taken=taken, word="spec")
    if args.fresh:
        named = named._replace(name=spec_phase.free_name(named.name, taken))
    return _create(args, named)


def _where() -> int:
    """Where the current spec stands; else what the epic has next; else how to begin."""
    place = here()
    specs = specs_here(KIND, place)
    spec = specs.current()
    if spec is not None:
        overview.tell(place, spec)
    epic = triage.current(specs, specs.home)
    if epic is not None and (spec is None or not overview.standing(place, spec).following):
        triage.tell(epic)
    elif spec is None:
        say(BEGIN)
    return 0


def _triage_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what the whole epic is for")
    parser.add_argument("--spec", metavar="NAME", help="add one spec to the current epic")
    parser.add_argument(
        "--after", metavar="SPEC", action="append", default=[], help="which that spec waits for"
    )


def _triage(args: argparse.Namespace) -> int:
    text = wording.whole(args.text).strip()
    if args.after and not args.spec:
        raise UserError("--after says what a spec waits for; name that spec with --spec.")
    if args.spec and text:
        raise UserError(
            "either begin an epic with a text, or add a spec to it with --spec; not both at once."
        )
    place = here()
    specs = specs_here(KIND, place, inside=bool(text))
    if text:
        return triage.create(place, specs, text=args.text)
    if args.spec:
        return triage.add(place, specs, name=args.spec, waits_for=args.after)
    return triage.show(specs)


_phase = partial(actions.phase, KIND)
_implement = partial(actions.implement, KIND)
_status = partial(actions.status, KIND, begin=BEGIN)
_switch = partial(actions.switch, KIND)
_cancel = partial(actions.cancel, KIND)
_ADDS = text_option("what you want to say about it")
ACTIONS = {
    "start": Action("go on where the current spec stands, or begin one", _start, _start_options,
                    ("'Let people log in'", "login", "--fresh login 'Log in anew'")),
    "new": Action("make a spec with its goal", _new, _name_and_goal,
                  ("login 'Let people log in'", "login 'Let people log in' --quick --tasks-size coarse")),
    "research": Action("begin the research", _phase, _ADDS, ("", "'look at the old code first'")),
    "requirements": Action("begin the requirements", _phase, _ADDS, ("",)),
    "design": Action("begin the design", _phase, _ADDS, ("",)),
    "tasks": Action("begin the list of tasks", _phase, _ADDS, ("",)),
    "implement": Action("run the tasks in a loop", _implement, execution.add_options,
                        ("", "--max-task-iterations 3 --max-global-iterations 40 --recovery-mode")),
    "status": Action("show every spec and the current epic", _status, json_option, ("", "--json")),
    "switch": Action("make another spec the current one", _switch, target_option,
                     ("login", "./packages/api/specs/login")),
    "cancel": Action("end the loop and remove the state; documents stay", _cancel, name_option,
                     ("", "login")),
    "triage": Action("cut a large goal into specs that wait for each other", _triage, _triage_options,
                     ("'A web shop'", "--spec cart --after catalogue", "")),
}  # fmt: skip
