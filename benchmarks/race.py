"""The race section: many hooks at once lose no answer and tear no file."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path

from project import Project, new_loop, tool_call_line
from registration import second_stop_argv, stop_argv
from table import Figure, Section
from timing import Run, finish, start

AT_ONCE = 50
STOPS_PER_PROMPT = 4


def race(scratch: Path, rounds: int) -> Section:
    """Counts what went wrong; every figure must be zero."""
    section = Section("race")
    section.notes.append(f"{rounds} rounds of {AT_ONCE} hooks at once, {rounds} stops registered twice")
    many_at_once(section, new_loop(scratch, "race", features=5), rounds)
    registered_twice(section, new_loop(scratch, "registered-twice", features=5), rounds)
    return section


def many_at_once(section: Section, project: Project, rounds: int) -> None:
    """One registration, fifty stops at the same moment: each is answered and each is counted."""
    unanswered: list[Run] = []
    lost = torn = 0
    for number in range(rounds):
        before = project.iteration()
        runs = run_together(project, [stop_argv()] * AT_ONCE, stops_at_once(project, number))
        unanswered += [run for run in runs if not run.blocks]
        lost += abs(before + AT_ONCE - project.iteration())
        torn += len(torn_files(project))
    section.figures += [
        must_be_zero("stops not answered", len(unanswered)),
        must_be_zero("answers not counted", lost),
        must_be_zero("torn files", torn),
    ]
    section.notes += [f"one stop not answered: {run}" for run in unanswered[:1]]


def stops_at_once(project: Project, number: int) -> list[bytes]:
    """Stops that all look like progress, whichever comes first, so that no breaker ends the loop: each has a
    transcript of its own, all tool calls, of a length that no other stop of this round or the last has."""
    line = tool_call_line()
    payloads = []
    for place in range(AT_ONCE):
        transcript = project.transcript.with_name(f"stop-{place}.jsonl")
        transcript.write_bytes(line * (2 * place + number % 2 + 1))
        payloads.append(project.payload(f"Stop {place} of round {number} is done.", transcript))
    return payloads


def registered_twice(section: Section, project: Project, rounds: int) -> None:
    """Two registrations of one stop: exactly one of them goes on."""
    wrong: list[list[Run]] = []
    for number in range(rounds):
        if number % STOPS_PER_PROMPT == 0:
            project.prompt = str(uuid.uuid4())
        before = project.iteration()
        payload = project.next_stop()
        runs = run_together(project, [stop_argv(), second_stop_argv()], [payload, payload])
        if sum(run.blocks for run in runs) != 1 or project.iteration() != before + 1:
            wrong.append(runs)
    section.figures.append(must_be_zero("stops without exactly one continuation", len(wrong)))
    section.notes += [f"one such stop: {runs}" for runs in wrong[:1]]


def run_together(project: Project, argvs: Sequence[list[str]], payloads: Sequence[bytes]) -> list[Run]:
    started = [
        start(argv, project.root, env=project.env, stdin=payload)
        for argv, payload in zip(argvs, payloads, strict=True)
    ]
    return [finish(one) for one in started]


def torn_files(project: Project) -> list[Path]:
    folders = project.root / ".ralph", project.home
    files = [path for folder in folders for path in folder.rglob("*.json*") if path.is_file()]
    return [path for path in files if not parses(path)]


def parses(path: Path) -> bool:
    text = path.read_text()
    try:
        for document in filter(None, text.split("\n")) if path.suffix == ".jsonl" else [text]:
            json.loads(document)
    except ValueError:
        return False
    return True


def must_be_zero(name: str, count: int) -> Figure:
    return Figure(name, count, "", 0, is_correctness=True)
