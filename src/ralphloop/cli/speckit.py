"""The command `speckit`: a Spec Kit feature from its idea to its tasks, and the loop that runs them."""

from __future__ import annotations

import argparse
from functools import partial

from ralphloop import loops
from ralphloop.cli.output import show
from ralphloop.cli.spec import actions
from ralphloop.cli.spec.parser import (
    HELP,
    Action,
    add_actions,
    json_option,
    name_option,
    target_option,
    text_option,
)
from ralphloop.loops.spec import speckit
from ralphloop.loops.spec.speckit import BEGIN, KIND

# what is free text when it is typed in the client
TYPED = {**dict.fromkeys(KIND.steps, HELP), "start": HELP, "constitution": HELP}


def configure(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, "speckit", actions=ACTIONS)


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action].run(args)


def _start(args: argparse.Namespace) -> int:
    return show(speckit.start(loops.here(), args.text))


def _constitution(args: argparse.Namespace) -> int:
    return show(speckit.constitution(loops.here(), args.text))


def _specify(args: argparse.Namespace) -> int:
    return show(speckit.specify(loops.here(), args.text))


def _checklist(args: argparse.Namespace) -> int:
    return show(speckit.checklist(loops.here(), args.text))


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
    "implement": Action("run the tasks in a loop", _implement, actions.implement_options,
                        ("", "--max-global-iterations 40 --recovery-mode")),
    "status": Action("show every feature", _status, json_option, ("", "--json")),
    "switch": Action("make another feature the current one", _switch, target_option,
                     ("001", "001-login", "login")),
    "cancel": Action("end the loop and remove the state; documents stay", _cancel, name_option,
                     ("", "001")),
}  # fmt: skip
