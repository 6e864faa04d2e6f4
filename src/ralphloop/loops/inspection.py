"""Reads a task list before anything runs, and looks it over: with the shell's own word about its checks."""

from __future__ import annotations

import errno
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ralphloop.domain.ledger import Ledger, name_tasks
from ralphloop.domain.model import TaskList
from ralphloop.errors import UserError
from ralphloop.evidence import globs
from ralphloop.loops import doubt, json_slip
from ralphloop.loops.field import CRITERIA, shown
from ralphloop.store import files, tasks
from ralphloop.tasklists import feature_list
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source

SHELL = "/bin/sh"  # as the checks are run
READ_MOST = 200  # commands that the shell reads
READ_S, ALL_READ_S = 2.0, 5.0
_HEAD = re.compile(r"^\S*sh: (?:-c: )?(?:line )?(?:\d+: )?")
Texts = Mapping[str, "str | None"]


def read(source: Source, *, cannot: str) -> tuple[TaskList, Texts]:
    """The tasks and their texts; an error says what `cannot` be done with the list, and why."""
    try:
        return tasks.read_source(source)
    except (ValueError, OSError) as error:
        own = own_file(source)
        text = files.read_quietly(own) if "list" in source.paths and isinstance(error, ValueError) else None
        why = json_slip.told("feature_list.json", text, str(error)) if text is not None else str(error)
        raise UserError(f"{source.name} {cannot}: {why.rstrip('.')} ({own}). Repair it.") from None


def doubts(root: str, listed: TaskList, texts: Texts) -> list[str]:
    """What is doubtful about a list of this project; its tasks get their names."""
    name_tasks(listed, Ledger())
    commands, text = listed.commands, texts.get("list")
    refused = refusals(commands[:READ_MOST])
    found = doubt.doubts(listed, text, refused)
    if len(commands) > READ_MOST:
        found.append(f"only the first {READ_MOST} of {len(commands):,} checks were read by `sh -n`")
    return found + (_unprotected(root, text) if text is not None else [])


def refusals(commands: Sequence[str]) -> dict[str, str]:
    """What the shell says about those of the commands that it cannot read; it runs none of them."""
    until, found = time.monotonic() + ALL_READ_S, {}
    for command in commands:
        if time.monotonic() > until:
            break
        said = _refusal(command)
        if said:
            found[command] = said
    return found


@lru_cache(maxsize=2 * READ_MOST)  # a list is looked over again once its checks are approved
def _refusal(command: str) -> str:
    try:
        done = subprocess.run(
            [SHELL, "-n", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=READ_S,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        )
    except ValueError:
        return "it holds a character that no command can"
    except subprocess.TimeoutExpired:
        return ""  # not read: whether it works shows when it is run
    except OSError as error:
        return "it is longer than a command can be" if error.errno == errno.E2BIG else ""
    said = done.stderr.decode("utf-8", "replace").strip()
    return _HEAD.sub("", said.partition("\n")[0]) or "it cannot be read" if done.returncode else ""


def _unprotected(root: str, text: str) -> list[str]:
    """The patterns under `protect` that name no file, or too many."""
    shared = feature_list.read(text)[0]
    patterns = feature_list.protect(text) if shared.get("protect") != CRITERIA else []
    try:
        return [
            f"`protect` names no file yet: {shown(pattern)}"
            for pattern in patterns
            if not any(True for _ in globs.matching(root, [pattern]))
        ]
    except OSError as error:
        return [f"`protect` cannot hold: {error}"]
