"""The demo: a scripted agent works through three tasks, and the real hook keeps it honest."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralphloop.agents.registry import client
from ralphloop.errors import DemoError
from ralphloop.lab import process
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
from ralphloop.lab.demo_screen import Screen
from ralphloop.lab.hook_call import HookAnswer
from ralphloop.lab.scratch import scratch_folder
from ralphloop.lab.step import Pass, Say, Shell, Turn, Write, claim, claim_all
from ralphloop.store.loop import JOURNAL
from ralphloop.tasklists.registry import LAYOUTS

PACKAGE = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).resolve().parent / "templates"
NAME = "greeter"
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
    "F2": Job("party.sh", "demo_party.sh", "sh party.sh Ada Bob", "greet everybody", by_hand=True),
    "F3": Job("README.md", "demo_readme.md", "grep -n party.sh README.md", "say how to use both"),
}
INSTALL = (
    "pipx install .",
    "# or, without pipx:",
    "python3 -m venv ~/.ralphloop && ~/.ralphloop/bin/pip install .",
    'export PATH="$HOME/.ralphloop/bin:$PATH"',
)
NEXT = (
    ("ralphloop new NAME --from ideas.md", "make tasks of a Markdown list"),
    ("ralphloop run NAME", "{title} works through them"),
    ("ralphloop status", "see where the loop is"),
    ("ralphloop pause, ralphloop cancel", "let it rest, end it"),
)
_GIT_CONFIG = """\
[user]
\tname = Scripted Agent
\temail = agent@example.invalid
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
"""


def play(screen: Screen, *, keep: bool) -> list[str]:
    """The whole demo; what did not go as it should, for an exit code that can be trusted."""
    _git_folder()
    with scratch_folder("ralphloop-demo-", keep=keep) as folder:
        stage = Stage(folder)
        _furnish(stage)
        return _play(stage, screen, keep=keep)


def _play(stage: Stage, screen: Screen, *, keep: bool) -> list[str]:
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
    screen.note(f"(Here a scripted agent stands in for {client().program.TITLE}; the hook is the real one.)")


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
        screen.plain(f"  {command:<35} {purpose.format(title=client().program.TITLE)}")


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


@dataclass(frozen=True)
class Stage:
    """The demo's folder: a home and a git project, and commands that see nothing else."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / NAME

    @property
    def path(self) -> str:
        """Our own command first, then this Python, then git, then the system's tools."""
        found = (self.folder / "bin", Path(sys.executable).parent, _git_folder(), "/usr/bin", "/bin")
        return os.pathsep.join(dict.fromkeys(str(place) for place in found))

    def run(self, *argv: str) -> str:
        """Run a command as the person would in the project; its output, or DemoError with the reason."""
        env = {"HOME": str(self.home), "PATH": self.path, "LANG": "C.UTF-8", "NO_COLOR": "1"}
        done = process.run(argv, env, cwd=self.project)
        if done.code != 0:
            said = " ".join(done.output.split()) or "no output"
            raise DemoError(f"`{shlex.join(argv)}` ended with exit code {done.code}: {said}")
        return done.output

    def loop(self) -> dict[str, Any]:
        """The loop as its own file has it."""
        found = sorted(self.project.glob(".ralph/run/*/loop.json"))
        if len(found) != 1:
            raise DemoError(f"expected one loop.json in {self.project}, found {len(found)}")
        loaded = json.loads(found[0].read_text(encoding="utf-8"))
        return loaded if isinstance(loaded, dict) else {}

    def last_stop(self) -> dict[str, Any]:
        """The journal's entry on the latest stop."""
        stops = [entry for entry in self._journal() if entry.get("event") == "stop"]
        return stops[-1] if stops else {}

    def _journal(self) -> list[dict[str, Any]]:
        found = [json.loads(line) for journal in self.project.glob(f".ralph/run/*/{JOURNAL}")
                 for line in journal.read_text(encoding="utf-8").splitlines()]  # fmt: skip
        return [entry for entry in found if isinstance(entry, dict)]

    def refused(self) -> list[str]:
        """The tasks whose claims a check refused."""
        return [str(entry["task"]) for entry in self._journal() if entry.get("event") == "refused"]

    def proven(self) -> list[str]:
        (ledger,) = self.project.glob(".ralph/run/*/ledger.json")
        tasks = json.loads(ledger.read_text(encoding="utf-8"))["tasks"]
        return [task for task, known in tasks.items() if known.get("state") == "proven"]

    def open_tasks(self) -> list[str]:
        features = json.loads((self.project / LIST).read_text(encoding="utf-8"))["features"]
        return [str(feature["id"]) for feature in features if feature.get("passes") is not True]

    def commits(self) -> list[str]:
        return self.run("git", "log", "--oneline", "--reverse", "--all").splitlines()


def hook_command() -> str:
    """The command that a client registers, for the launcher of this very package."""
    return client().program.hook_command(str(PACKAGE), registration="demo", layouts=LAYOUTS[:1])


def _git_folder() -> Path:
    git = shutil.which("git")
    if git is None:
        raise DemoError("the demo needs git; install it and run `ralphloop demo` again.")
    return Path(git).parent


def _furnish(stage: Stage) -> None:
    command = stage.folder / "bin" / "ralphloop"
    settings = client().program.hook_settings(hook_command())
    files = {
        command: f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(PACKAGE))} "$@"\n',
        stage.home / ".gitconfig": _GIT_CONFIG,
        stage.home / client().registration.FOLDER / "settings.json": json.dumps(settings, indent=2) + "\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    command.chmod(0o755)
    stage.project.mkdir()
