"""The command `speckit`: a Spec Kit feature from its idea to its tasks, and the loop that runs them."""

from __future__ import annotations

import argparse

from ralphloop import loops
from ralphloop.cli import spec_action
from ralphloop.cli.output import show
from ralphloop.cli.spec_action import ADDS, Action, text
from ralphloop.loops.slash_arguments import Options
from ralphloop.loops.spec import course, creation
from ralphloop.loops.spec.catalogue import SPECKIT_KIND as KIND

# what is free text when it is typed in the client
TYPED: dict[str, Options] = {action: {} for action in (*KIND.steps, "start", "constitution")}
run = spec_action.run


def configure(parser: argparse.ArgumentParser) -> None:
    spec_action.add_actions(parser, KIND, actions=ACTIONS)


def _start(args: argparse.Namespace) -> int:
    return show(creation.start(KIND, loops.here(), args.text))


def _constitution(args: argparse.Namespace) -> int:
    return show(course.constitution(KIND, loops.here(), args.text))


def _specify(args: argparse.Namespace) -> int:
    return show(creation.specify(KIND, loops.here(), args.text))


ACTIONS = {
    "start": Action("go on where the current feature stands, or begin one", _start,
                    (text("a feature's name or number, or what a new one is for"),),
                    ("'Let people log in'", "001")),
    "constitution": Action("write down the project's principles", _constitution, ADDS,
                           ("'test first, few dependencies'", "")),
    "specify": Action("make a feature and begin its specification", _specify,
                      (text("what the feature shall do"),), ("'Let people log in'",)),
    "clarify": Action("ask about what the specification leaves open", spec_action.phase, ADDS, ("",)),
    "plan": Action("begin the technical plan", spec_action.phase, ADDS, ("", "'SQLite, no framework'")),
    "tasks": Action("begin the list of tasks", spec_action.phase, ADDS, ("",)),
    "analyze": Action("look whether the documents fit together", spec_action.phase, ADDS, ("",)),
    "checklist": Action("write a checklist for the specification", spec_action.phase,
                        (text("what it is about"),), ("security", "")),
    "implement": Action("run the tasks in a loop", spec_action.implement, spec_action.LIMITS,
                        ("", "--max-global-iterations 40 --recovery-mode")),
    "status": Action("show every feature", spec_action.status, spec_action.JSON, ("", "--json")),
    "switch": Action("make another feature the current one", spec_action.switch, spec_action.TARGET,
                     ("001", "001-login", "login")),
    "cancel": Action("end the loop and remove the state; documents stay", spec_action.cancel,
                     spec_action.NAME, ("", "001")),
}  # fmt: skip
