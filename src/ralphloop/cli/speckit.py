"""The command `speckit`: a Spec Kit feature from its idea to its tasks, and the loop that runs them."""

from __future__ import annotations

import argparse
import os

from ralphloop.cli.errors import UserError
from ralphloop.cli.here import Here, here
from ralphloop.cli.output import say, say_json
from ralphloop.cli.spec import creation, ending, execution, overview, step, wording
from ralphloop.cli.spec.catalogue import Specs, must_stay, specs_here
from ralphloop.cli.spec.kind import SPECKIT_KIND, Spec
from ralphloop.cli.spec.parser import (
    HELP,
    Action,
    add_actions,
    json_option,
    name_option,
    target_option,
    text_option,
)
from ralphloop.store import files
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists import spec_phase

KIND = SPECKIT_KIND
BEGIN = f"There is no feature here yet. Next: `{KIND.typed('specify', 'WHAT', 'IT', 'SHALL', 'DO')}`"
CHECKLIST = "requirements"  # what a checklist is about if nobody says
# what is free text when it is typed in the client
TYPED = {**dict.fromkeys(KIND.steps, HELP), "start": HELP, "constitution": HELP}


def configure(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, "speckit", ACTIONS)


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action].run(args)


def _start(args: argparse.Namespace) -> int:
    text = wording.whole(args.text).strip()
    place = here()
    specs = specs_here(KIND, place, inside=bool(text))
    if text and not (len(text.split()) == 1 and specs.named(text)):
        return _create(place, specs, args.text)
    if text:
        return ending.switch(place, specs, text)
    _tell_constitution(specs)
    spec = specs.current()
    if spec is not None:
        overview.tell(place, spec)
    else:
        say(BEGIN)
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
        return _create(place, specs_here(KIND, place, inside=True), args.text)
    specs = specs_here(KIND, place)
    if specs.current() is None:
        raise UserError(f"say what the feature shall do: `{KIND.typed('specify', 'Let people log in')}`")
    step.begin(place, specs, "specify")
    return 0


def _create(place: Here, specs: Specs, words: list[str]) -> int:
    named = wording.guessed(words, taken=(), fallback="feature")
    old = specs.before()
    with Shelf(specs.root, place.env).lock():  # two at once must not take one number
        spec = _numbered(specs, named)
    _tell_constitution(specs)
    if old is not None:
        ending.tell_left(place, old)
    step.tell(place, spec, "specify")
    if not named.goal:
        say("! It has no goal yet: ask the person for it and write it into the notes first.")
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


def _step(args: argparse.Namespace) -> int:
    place = here()
    step.begin(place, specs_here(KIND, place), args.action, text=wording.whole(args.text))
    return 0


def _checklist(args: argparse.Namespace) -> int:
    place, text = here(), wording.whole(args.text)
    writes = os.path.join("checklists", (wording.slug(text) or CHECKLIST) + ".md")
    step.begin(place, specs_here(KIND, place), "checklist", text=text, writes=writes)
    return 0


def _implement(args: argparse.Namespace) -> int:
    place = here()
    spec = specs_here(KIND, place).must_have_current()
    return execution.implement(place, spec, execution.wish_of(args))


def _status(args: argparse.Namespace) -> int:
    place = here(writes=False)
    found = overview.all_standings(place, specs_here(KIND, place))
    if args.json:
        say_json({"features": [standing.to_json(current=current) for standing, current in found]})
        return 0
    overview.table(found)
    if not found:
        say(BEGIN)
    return 0


def _switch(args: argparse.Namespace) -> int:
    place = here()
    return ending.switch(place, specs_here(KIND, place), args.name)


def _cancel(args: argparse.Namespace) -> int:
    place = here()
    return ending.cancel(place, specs_here(KIND, place), args.name)


_ADDS = text_option("what you want to say about it")
ACTIONS = {
    "start": Action("go on where the current feature stands, or begin one", _start,
                    text_option("a feature's name or number, or what a new one is for"),
                    ("'Let people log in'", "001")),
    "constitution": Action("write down the project's principles", _constitution, _ADDS,
                           ("'test first, few dependencies'", "")),
    "specify": Action("make a feature and begin its specification", _specify,
                      text_option("what the feature shall do"), ("'Let people log in'",)),
    "clarify": Action("ask about what the specification leaves open", _step, _ADDS, ("",)),
    "plan": Action("begin the technical plan", _step, _ADDS, ("", "'SQLite, no framework'")),
    "tasks": Action("begin the list of tasks", _step, _ADDS, ("",)),
    "analyze": Action("look whether the documents fit together", _step, _ADDS, ("",)),
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
