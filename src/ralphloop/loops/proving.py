"""What a proof needs from the start: the tree, the terms, and each check run once before any work."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from ralphloop import config
from ralphloop.agents.registry import agent_in
from ralphloop.domain.finding import WEAK, Finding
from ralphloop.domain.model import TaskList
from ralphloop.loops.result import Tell, quiet
from ralphloop.proof import baseline, first_try, proof_record
from ralphloop.proof.checker import Due, due, stage_trouble
from ralphloop.proof.probe import Probe
from ralphloop.store import approvals, disk, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Record
from ralphloop.tasklists.source import Source

# of the settings, what a proof is held to; no agent's variable has a say in it
TERMS = ("apart", "try_s", "doubts", "criteria", "daemons")


def keep_start(
    loop: LoopFiles, source: Source | Record, *, env: Mapping[str, str], strict: bool = False
) -> None:
    """Keep the tree as it is now, or why that cannot be had."""
    terms = _terms(source.root, env, strict=strict)
    try:
        commands = tasks.parse_source(source).commands
    except (ValueError, OSError):
        commands = []  # its tasks are still to be written
    base, why = baseline.take(loop, source.root, env, commands=commands, terms=terms)
    if base is not None:
        baseline.hold_judges(loop, base, env, commands=commands)
    record = proof_record.load(loop)
    if why != record.untaken:
        proof_record.save(loop, record._replace(untaken=why))


def _terms(root: str, env: Mapping[str, str], *, strict: bool) -> dict[str, Any]:
    if agent_in(env):
        env = {name: value for name, value in env.items() if name not in map(config.variable, TERMS)}
    settings = config.load(root, env)
    terms = {name: settings.get(name) for name in TERMS}
    return {**terms, "doubts": "refuse"} if strict else terms


def try_first(
    loop: LoopFiles, listed: TaskList, *, env: Mapping[str, str], told: Tell = quiet
) -> tuple[Finding, ...]:
    """Run each approved check once on the tree of the start; what there is to say about them. `told` hears
    of each, and an empty line at the end."""
    base, allowed = baseline.load(loop), approvals.approved(loop.shelf)
    commands = [command for command in listed.commands if command in allowed]
    if not commands or not (base is not None or proof_record.load(loop).untaken):
        return ()
    try_s, tried = float(base.terms["try_s"]) if base is not None else 0.0, {}
    if try_s:
        probe = Probe(loop, folder=loop.record.root, env=env, deadline=time.monotonic() + try_s)
        asked = _untried(listed, {text for text in commands if first_try.is_open(probe.record, text)})
        try:
            tried = probe.first(asked, lambda command: told(f"trying {command}"))
        finally:
            told("")
    with loop.lock():  # a stop may have come to something meanwhile
        notes = first_try.keep(loop, listed, tried)
    return tuple(note for note in notes if note.kind != WEAK)  # which is told as doubtful about the list


def _untried(listed: TaskList, fresh: set[str]) -> list[Due]:
    """Of each task, and of the list itself, the commands among these."""
    every = [*map(due, listed.tasks), due(listed)]
    return [one._replace(commands=tuple(text for text in one.commands if text in fresh)) for one in every]


def why_not_apart() -> str:
    """Why no check can be tried apart from the work on this machine, found by trying it in a folder that is
    gone afterwards; empty if it can."""
    try:
        with tempfile.TemporaryDirectory(prefix="ralphloop-") as folder:
            spare = os.path.join(folder, "stage")
            os.mkdir(spare)
            return stage_trouble(spare)
    except OSError as error:
        return disk.told(error)[0]
