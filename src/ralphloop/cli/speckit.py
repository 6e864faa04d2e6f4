"""The command `speckit`: a Spec Kit feature from its idea to its tasks, and the loop that runs them."""

from __future__ import annotations

import argparse
import os
from functools import partial

from ralphloop.cli.here import Here, here
from ralphloop.cli.output import say
from ralphloop.cli.spec import actions, creation, ending, execution, overview, state_file, step, wording
from ralphloop.cli.spec.catalogue import Specs, specs_here
from ralphloop.cli.spec.kind import SPECKIT_KIND, Spec, must_stay
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
from ralphloop.tasklists import spec_phase

KIND = SPECKIT_KIND
BEGIN = f"There is no feature here yet. Next: `{KIND.typed('specify', 'WHAT', 'IT', 'SHALL', 'DO')}`"
CHECKLIST = "requirements"  # what a checklist is about if nobody says
# what is free text when it is typed in the client
TYPED = {**dict.fromkeys(KIND.steps, HELP), "start": HELP, "constitution": HELP}


def configure(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, "speckit", actions=ACTIONS)


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action].run(args)


def _start(args: argparse.Namespace) -> int:
    text = wording.whole(args.text).strip()
    place = here()
    specs = specs_here(KIND, place, inside=bool(text))
    if text and not (len(text.split()) == 1 and specs.named(text)):
        return _create(place, specs, words=args.text)
    if text:
        return ending.switch(place, specs, name=text)
    spec = specs.current()
    if spec is not None:
        overview.tell(place, spec)
    else:
        say(BEGIN)
    _tell_constitution(specs)
    return 0


def _constitution_path(specs: Specs) -> str:
    return os.path.join(specs.root, KIND.shared[0])


def _tell_constitution(specs: Specs) -> None:
    path = _constitution_path(specs)
    if not os.path.isfile(path):
        how = KIND.typed("constitution")
        say(f"! {os.path.relpath(path)} is missing: `{how}` writes the project's principles down.")


def _constitution(args: argparse.Namespace) -> int:
    text = wording.whole(args.text)
    specs = specs_here(KIND, here(), inside=True)
    path = _constitution_path(specs)
    must_stay(path, specs.root)
    is_there = os.path.isfile(path)
    say(f"The project's principles, for every feature in {os.path.relpath(specs.home)}.")
    say(f"Write: {os.path.relpath(path)}" + (" (it exists: revise it)" if is_there else ""))
    if text:
        say(f"The person says: {text}")
    following = ("start",) if specs.current() else ("specify", "WHAT", "IT", "SHALL", "DO")
    say(f"Next, when the person agrees: `{KIND.typed(*following)}`")
    return 0


def _specify(args: argparse.Namespace) -> int:
    place = here()
    if wording.whole(args.text).strip():
        return _create(place, specs_here(KIND, place, inside=True), words=args.text)
    specs = specs_here(KIND, place)
    if specs.current() is None:
        raise UserError(f"say what the feature shall do: `{KIND.typed('specify', 'Let people log in')}`")
    step.begin(place, specs, action="specify")
    return 0


def _create(place: Here, specs: Specs, *, words: list[str]) -> int:
    named = wording.guessed(words, taken=(), word=KIND.word)
    with state_file.alone(specs.root, place):  # two at once must not take one number
        old = specs.before()
        spec = _numbered(specs, named)
    _tell_constitution(specs)
    actions.introduce(place, specs, spec=spec, old=old, action="specify", goal=named.goal)
    return 0


def _numbered(specs: Specs, named: wording.Named) -> Spec:
    number = spec_phase.next_number(files.names(specs.home))
    if number is None:
        home = os.path.relpath(specs.home)
        raise UserError(
            f"{home} has a feature {spec_phase.LAST_NUMBER}, the last number; move old ones away."
        )
    return creation.create(
        specs, os.path.join(specs.home, f"{number}-{named.name}"), goal=named.goal, state={}
    )


def _checklist(args: argparse.Namespace) -> int:
    place, text = here(), wording.whole(args.text)
    writes = os.path.join("checklists", (wording.slug(text) or CHECKLIST) + ".md")
    step.begin(place, specs_here(KIND, place), action="checklist", text=text, writes=writes)
    return 0


_phase = partial(actions.phase, KIND)
_implement = partial(actions.implement, KIND)
_status = partial(actions.status, KIND, begin=BEGIN)
_switch = partial(actions.switch, KIND)
_cancel = partial(actions.cancel, KIND)
_ADDS = text_option("what you want to say about it")
ACTIONS = {
    "start": Action("go on where the current feature stands, or begin one", _start,
                    text_option("a feature's name or number, or what a new one is for"),
                    ("'Let people log in'", "001")),
    "constitution": Action("write down the project's principles", _constitution, _ADDS,
                           ("'test first, few dependencies'", "")),
    "specify": Action("make a feature and begin its specification", _specify,
                      text_option("what the feature shall do"), ("'Let people log in'",)),
    "clarify": Action("ask about what the specification leaves open", _phase, _ADDS, ("",)),
    "plan": Action("begin the technical plan", _phase, _ADDS, ("", "'SQLite, no framework'")),
    "tasks": Action("begin the list of tasks", _phase, _ADDS, ("",)),
    "analyze": Action("look whether the documents fit together", _phase, _ADDS, ("",)),
    "checklist": Action("write a checklist for the specification", _checklist,
                        text_option("what it is about"), ("security", "")),
    "implement": Action("run the tasks in a loop", _implement, execution.add_options,
                        ("", "--max-task-iterations 3 --max-global-iterations 40 --recovery-mode")),
    "status": Action("show every feature", _status, json_option, ("", "--json")),
    "switch": Action("make another feature the current one", _switch, target_option,
                     ("001", "001-login", "login")),
    "cancel": Action("end the loop and remove the state; documents stay", _cancel, name_option,
                     ("", "001")),
}  # fmt: skip
