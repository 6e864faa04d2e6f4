"""The growth section: what is over must cost nothing, however much of it there is."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from project import LOOP_NAME, Project, command, new_loop
from registration import prompt_argv, statusline_argv, stop_argv
from sections import hook_candidate, must_be_silent, must_refuse
from statusline import payload
from table import Section, ratio
from timing import Candidate, interleave, run_candidate

MANY_LOOPS, MANY_LISTS, FEW_RUNS, MANY_RUNS = 1_000, 200, 10, 10_000
LOOP_AIM, LIST_AIM, RUN_AIM = 1.2, 1.5, 1.2


def growth(scratch: Path, rounds: int) -> Section:
    """CPU time, because these differences are smaller than what a busy machine adds to the clock."""
    pairs = [*after_loops(scratch), *with_lists(scratch), *after_runs(scratch)]
    section = Section(
        "growth", interleave([one for few, many, _ in pairs for one in (few, many)], rounds, cpu=True)
    )
    for few, many, aim in pairs:
        section.figures += ratio(section.series, many.name, few.name, aim)
    section.notes.append("CPU time of the whole process, not elapsed time")
    return section


def after_loops(scratch: Path) -> list[tuple[Candidate, Candidate, float]]:
    over = [with_ended(new_loop(scratch, f"ended-{count}", features=5), count) for count in (1, MANY_LOOPS)]
    live = [
        with_ended(new_loop(scratch, f"active-{count}", features=5), count, ends=False)
        for count in (1, MANY_LOOPS)
    ]
    kinds = {"prompt": prompt_argv(), "status line": statusline_argv(), "idle stop": stop_argv()}
    found = []
    for kind, argv in kinds.items():
        few, many = (
            Candidate(
                called(kind, count, "ended loop"), argv, one.root, known(one), lambda: b"{}", must_be_silent
            )
            for one, count in zip(over, (1, MANY_LOOPS), strict=True)
        )
        found.append((few, many, LOOP_AIM))
    few, many = (
        hook_candidate(called("active stop", count, "ended loop"), one)
        for one, count in zip(live, (1, MANY_LOOPS), strict=True)
    )
    return [*found, (few, many, LOOP_AIM)]


def with_lists(scratch: Path) -> list[tuple[Candidate, Candidate, float]]:
    few, many = (
        Candidate(
            called("idle stop", count, "list"), stop_argv(), one.root, one.env, lambda: b"{}", must_be_silent
        )
        for count in (1, MANY_LISTS)
        for one in [with_ended_lists(new_loop(scratch, f"lists-{count}", features=5), count)]
    )
    return [(few, many, LIST_AIM)]


def after_runs(scratch: Path) -> list[tuple[Candidate, Candidate, float]]:
    few, many = (
        Candidate(
            called("due stop", count, "run"), stop_argv(), one.root, one.env, one.next_claim, must_refuse
        )
        for count in (FEW_RUNS, MANY_RUNS)
        for one in [with_evidence(new_loop(scratch, f"runs-{count}", features=5, verify="false"), count)]
    )
    return [(few, many, RUN_AIM)]


def called(kind: str, count: int, what: str) -> str:
    return f"{kind}, {count} {what}{'s' if count > 1 else ''}"


def known(project: Project) -> dict[str, str]:
    """As the client starts a hook: with the name of a session, which has no loop here."""
    return {**project.env, "CLAUDE_CODE_SESSION_ID": "somebody-else"}


def shelf(project: Project) -> Path:
    return Path(f"{project.home}/.local/state/ralphloop/by-path{project.root}/@ralph")


def with_ended(project: Project, count: int, *, ends: bool = True) -> Project:
    """So many loops have ended, each in a session of its own; the one under way among them, if it `ends`."""
    if ends:
        command(project, "cancel", LOOP_NAME)
    (place,) = [*shelf(project).glob("ended/*.json"), *shelf(project).glob("owned/*.json")]
    record = json.loads(place.read_text())
    (shelf(project) / "ended").mkdir(exist_ok=True)
    for number in range(1, count + (not ends)):
        about = {**record, "id": f"{record['id']}-{number}", "session": f"session-{number}"}
        (shelf(project) / "ended" / f"{about['id']}.json").write_text(json.dumps(about) + "\n")
        (shelf(project) / "kept" / about["id"]).mkdir(parents=True)
        (project.root / ".ralph" / "run" / about["id"]).mkdir(parents=True)
    prompt = json.loads(payload(project)) | {
        "session_id": "somebody-else",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "hello",
    }
    run_candidate(
        Candidate(
            "the first prompt notes them",
            prompt_argv(),
            project.root,
            known(project),
            lambda: json.dumps(prompt).encode(),
        )
    )
    return project


def with_ended_lists(project: Project, count: int) -> Project:
    """So many lists, each as the end of its loop left it."""
    command(project, "cancel", LOOP_NAME)
    list_folder = project.list_file.parent
    for folder in (list_folder, shelf(project).parent / list_folder.relative_to(project.root)):
        for number in range(1, count):
            shutil.copytree(folder, folder.with_name(f"{LOOP_NAME}-{number}"))
    return project


def with_evidence(project: Project, count: int) -> Project:
    """So many runs of its check, the first of them a real one."""
    run_candidate(
        Candidate("one check", stop_argv(), project.root, project.env, project.next_claim, must_refuse)
    )
    (index,) = shelf(project).glob("kept/*/evidence.jsonl")
    (first,) = (project.run_folder / "evidence").glob("0001-*.json")
    line, label = index.read_text(), first.name.partition("-")[2]
    with index.open("a") as lines:
        for number in range(2, count + 1):
            os.link(first, first.with_name(f"{number:04d}-{label}"))
            lines.write(line.replace('"0001-', f'"{number:04d}-'))
    return project
