"""`ralphloop demo`: a scripted agent works through three tasks, and the real hook keeps it honest."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ralphloop.cli.demo_screen import Screen
from ralphloop.cli.demo_stage import NAME, TEMPLATES, TITLE, Stage, hook_command, set_up
from ralphloop.cli.output import complain
from ralphloop.errors import DemoError
from ralphloop.lab.agent import (
    ClientSetup,
    Event,
    HookAnswered,
    Run,
    Said,
    ScriptedAgent,
    ToolUsed,
    TurnBegan,
)
from ralphloop.lab.hook_call import HookAnswer
from ralphloop.lab.step import Pass, Say, Shell, Turn, Write, claim, claim_all

LIST = f".ralph/loops/{NAME}/feature_list.json"
REFUSED = "is refused"
FALSE_CLAIM = 2  # the turn in which the agent marks two tasks as done without any work


@dataclass(frozen=True)
class Job:
    """How the agent does one task: the file it writes, how it tries it out, how it claims it."""

    file: str
    template: str
    try_out: str
    commit: str
    by_hand: bool = False

    def steps(self, task: str) -> Turn:
        text = (TEMPLATES / self.template).read_text(encoding="utf-8")
        return (
            Write(self.file, text),
            Shell(self.try_out),
            Shell(f"git add {self.file} && git commit -qm '{task}: {self.commit}'"),
            Pass(LIST, task) if self.by_hand else claim(task),
            Say(f"{task} is done and committed."),
        )


JOBS = {
    "F1": Job("greet.sh", "demo_greet.sh", "sh greet.sh Ada", "greet by name"),
    "F2": Job("test_greet.sh", "demo_test_greet.sh", "sh test_greet.sh", "test both greetings", by_hand=True),
    "F3": Job("README.md", "demo_readme.md", "grep -n greet.sh README.md", "say how to use it"),
}
INSTALL = (
    "pipx install .",
    "# or, without pipx:",
    "python3 -m venv ~/.ralphloop && ~/.ralphloop/bin/pip install .",
    'export PATH="$HOME/.ralphloop/bin:$PATH"',
)
NEXT = (
    ("ralphloop new NAME --from ideas.md", "make tasks of a Markdown list"),
    ("ralphloop run NAME", f"{TITLE} works through them"),
    ("ralphloop status", "see where the loop is"),
    ("ralphloop pause, ralphloop cancel", "let it rest, end it"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show a whole loop in a few seconds, without an account or a network: a scripted\n"
        "agent works through three tasks in a temporary git repository, driven by the\n"
        "hook that clients run."
    )
    parser.epilog = "examples:\n  ralphloop demo\n  ralphloop demo --keep    # look at the files afterwards"
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder and print where it is")
    parser.add_argument("--fast", action="store_true", help="do not pause between the steps")
    parser.add_argument("--no-color", action="store_true", help="print plain text (as with NO_COLOR)")


def run(args: argparse.Namespace) -> int:
    screen = Screen(sys.stdout, fast=args.fast, color=not args.no_color, env=os.environ)
    try:
        with set_up(keep=args.keep) as stage:
            problems = _play(stage, screen, keep=args.keep)
    except KeyboardInterrupt:
        complain("demo interrupted; its folder is " + ("kept." if args.keep else "gone."))
        raise
    for problem in problems:
        complain(f"the demo went wrong: {problem}.")
    return 1 if problems else 0


def _play(stage: Stage, screen: Screen, *, keep: bool) -> list[str]:
    """The whole demo; what did not go as it should, for an exit code that can be trusted."""
    screen.title("ralphloop demo: a scripted agent, the real Stop hook, real git")
    screen.plain(
        f"All of it happens in a temporary folder, which is {'kept' if keep else 'removed'} at the end:"
    )
    screen.path(stage.folder)
    screen.plain()
    _start_loop(stage, screen)
    show = Narrator(stage, screen)
    setup = ClientSetup(stage.project, stage.home, hook_command(), path=stage.path)
    agent = ScriptedAgent(setup, on_event=show.event)
    prompt = stage.project / ".ralph" / "loops" / NAME / "RALPH_PROMPT.md"
    done = agent.play(prompt.read_text(encoding="utf-8"), _script)
    _summarise(stage, screen, done)
    if keep:
        screen.title("Kept for you to look at")
        screen.path(stage.folder)
    return _problems(stage, done)


def _start_loop(stage: Stage, screen: Screen) -> None:
    """What a person types to begin a loop."""
    tasks = (TEMPLATES / "demo_tasks.md").read_text(encoding="utf-8")
    (stage.project / "tasks.md").write_text(tasks, encoding="utf-8")
    for command in (
        "git init --quiet",
        "cat tasks.md",
        f"ralphloop new {NAME} --from tasks.md",
        f"ralphloop start {NAME} --yes",
    ):
        screen.command(command, stage.run(*command.split()))
    screen.note(f"(Here a scripted agent stands in for {TITLE}; the hook is the real one.)")


def _script(told: str, turn: int) -> Turn:
    """The agent does what it is told, but for one turn in which it marks the rest as done and says so."""
    if turn == FALSE_CLAIM:
        return (Pass(LIST, "F2"), Pass(LIST, "F3"), claim_all("That was all there is to do."))
    task = "F1" if turn == 1 else _task_named_in(told)
    return (Say(f"I work on {task}."), *JOBS[task].steps(task))


def _task_named_in(reason: str) -> str:
    found = re.search(r"\btask (F\d+)\b", reason)
    if found is None or found[1] not in JOBS:
        raise DemoError(f"the hook named no task that the agent knows: {reason[:200]!r}")
    return found[1]


class Narrator:
    """Puts the events of the agent's session on the screen."""

    def __init__(self, stage: Stage, screen: Screen) -> None:
        self._stage = stage
        self._screen = screen

    def event(self, event: Event) -> None:
        if isinstance(event, TurnBegan):
            false_claim = ": the agent says it is finished" if event.number == FALSE_CLAIM else ""
            self._screen.title(f"Turn {event.number}{false_claim}")
        elif isinstance(event, Said):
            self._screen.say(event.text)
        elif isinstance(event, ToolUsed):
            self._screen.tool(event.step, event.result)
        elif isinstance(event, HookAnswered):
            self._hook(event.event_name, event.answer)

    def _hook(self, event_name: str, answer: HookAnswer) -> None:
        if event_name == "Stop":
            rule = str(self._stage.last_stop().get("rule", ""))
            self._screen.stop(answer, refused=REFUSED in answer.reason, rule=rule)
        elif answer.message:
            self._screen.title("A session begins")
            self._screen.hook_says(answer.message)


def _refusals(run: Run) -> list[str]:
    return [reason for reason in run.reasons if REFUSED in reason]


def _summarise(stage: Stage, screen: Screen, run: Run) -> None:
    loop, still_open = stage.loop(), stage.open_tasks()
    screen.title("Summary")
    screen.facts(
        [
            ("outcome", str(loop.get("outcome"))),
            ("tasks", f"{len(JOBS) - len(still_open)} of {len(JOBS)} done, {len(stage.proven())} proven"),
            ("iterations", str(loop.get("iteration"))),
            ("refused claims", ", ".join(stage.refused()) or "none"),
            ("decisions", _decisions(run)),
            *_labelled("commits", stage.commits()),
        ]
    )
    if not _is_installed():
        screen.title("To install it, in the folder of ralphloop")
        for line in INSTALL:
            screen.plain(f"  {line}")
    screen.title("Next, in a project of yours")
    for command, purpose in NEXT:
        screen.plain(f"  {command:<35} {purpose}")


def _is_installed() -> bool:
    """Whether the next commands would be found; what `uvx` puts on PATH is gone with it."""
    return shutil.which("ralphloop") is not None and "UV" not in os.environ


def _decisions(run: Run) -> str:
    going_on = len(run.reasons)
    median_ms = statistics.median(answer.output.duration_ms for answer in run.answers)
    counts = f"{run.turns} stops: {going_on} continued, {run.turns - going_on} allowed"
    return f"{counts}; median {median_ms:.0f} ms each"


def _labelled(name: str, values: Sequence[str]) -> list[tuple[str, str]]:
    return [(name if place == 0 else "", value) for place, value in enumerate(values)]


def _problems(stage: Stage, run: Run) -> list[str]:
    found = []
    outcome = stage.loop().get("outcome")
    if outcome != "complete":
        found.append(f"the loop's outcome is {outcome}, not complete")
    open_then = [task for task in JOBS if task != "F1"]
    if not any(all(task in reason for task in open_then) for reason in _refusals(run)):
        found.append("the false claim was not refused with the open tasks")
    if sorted(stage.refused()) != open_then or sorted(stage.proven()) != sorted(JOBS):
        found.append("the checks did not refuse the false claims and prove the true ones")
    if len(stage.commits()) != len(JOBS):
        found.append(f"{len(stage.commits())} commits instead of {len(JOBS)}")
    return found
