"""Reads a task list before anything runs, and looks it over: with the shell's own word about its checks."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ralphloop.domain.ledger import Ledger, name_tasks
from ralphloop.domain.model import TaskList
from ralphloop.errors import UserError
from ralphloop.loops import doubt
from ralphloop.loops.field import CRITERIA
from ralphloop.proof import protect
from ralphloop.spelling import near
from ralphloop.store import files, tasks
from ralphloop.tasklists import feature_list
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views import json_slip
from ralphloop.views.fold import SHOWN, shown

SHELL = "/bin/sh"  # as the checks are run
READ_MOST = 200  # commands that the shell reads
READ_S, ALL_READ_S = 2.0, 5.0
_FINDS = 'for name; do command -v "$name" >/dev/null || echo "$name"; done'
_HEAD = re.compile(r"^\S*sh: (?:-c: )?(?:line )?(?:\d+: )?")
Texts = Mapping[str, "str | None"]


def read(source: Source, *, cannot: str) -> tuple[TaskList, Texts]:
    """The tasks and their texts; an error says what `cannot` be done with the list, and why."""
    try:
        return tasks.read_source(source)
    except (ValueError, OSError) as error:
        why = json_slip.fault(source, error).rstrip(".")
        raise UserError(f"{source.name} {cannot}: {why} ({own_file(source)}). Repair it.") from None


class Looked(NamedTuple):
    """A list that was looked over, as it was then."""

    texts: Texts
    doubts: tuple[str, ...]
    fault: str = ""  # the one of them for which no loop can begin


def look(
    root: str,
    listed: TaskList,
    texts: Texts,
    *,
    env: Mapping[str, str],
    before: Looked | None = None,
) -> Looked:
    """What is doubtful about a list of this project, unless that was looked at before; its tasks get their
    names."""
    name_tasks(listed, Ledger())
    if before is not None and before.texts == texts:
        return before
    text = texts.get("list")
    fields = feature_list.read(text) if text is not None else None
    refused, count = refusals(listed.commands)
    found = doubt.doubts(listed, fields, refused, missing(root, listed.commands, env))
    if count < len(listed.commands):
        found.append(f"only the first {count} of {len(listed.commands):,} checks were read by `sh -n`")
    unheld, fault = _unprotected(root, fields[0]) if fields is not None else ([], "")
    return Looked(texts, (*found, *unheld, *([fault] if fault else [])), fault)


def refusals(commands: Sequence[str]) -> tuple[dict[str, str], int]:
    """What the shell says about those of the commands that it cannot read, and how many it had the time to
    read; it runs none of them."""
    until, asked = time.monotonic() + ALL_READ_S, commands[:READ_MOST]
    found: dict[str, str] = {}
    for count, command in enumerate(asked):
        if time.monotonic() > until:
            return found, count
        said = _refusal(command)
        if said:
            found[command] = said
    return found, len(asked)


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


def missing(root: str, commands: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """The programs of these commands that the shell does not find, each with the one that may be meant."""
    names = dict.fromkeys(name for command in commands[:READ_MOST] if (name := doubt.program(command)))
    path = env.get("PATH") or ""
    if not names or not path:
        return {}
    try:
        done = subprocess.run(
            [SHELL, "-c", _FINDS, SHELL, *names],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=READ_S,
            cwd=root,
            env={"LC_ALL": "C", "PATH": path},
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}  # not looked for: whether it works shows when it is run
    gone = done.stdout.decode("utf-8", "replace").split()
    known = sorted(
        {name for folder in path.split(os.pathsep) for name in files.names(folder)} if gone else ()
    )
    return {name: _meant(name, known) for name in gone[: 2 * SHOWN]}


def _meant(name: str, known: Sequence[str]) -> str:
    """The program whose name was misspelt, perhaps only by two letters that changed places."""
    turned = [one for one in known if sorted(one) == sorted(name)]
    return "".join(turned[:1] or near(name, known, cutoff=0.8))


def _unprotected(root: str, shared: Mapping[str, Any]) -> tuple[list[str], str]:
    """The patterns under `protect` that name no file yet, and why they cannot hold if one names too many."""
    said = shared.get("protect")
    patterns = feature_list.as_commands(said) if said != CRITERIA else ()
    try:
        empty = [one for one in patterns if not sum(1 for _ in protect.matching(root, [one]))]
    except OSError as error:
        return [], f"`protect` cannot hold: {error}"
    return [f"`protect` names no file yet: {shown(pattern)}" for pattern in empty], ""
