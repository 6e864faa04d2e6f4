"""What is doubtful about a task list before it is worked on: sentences, each with what to do about it."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ralphloop.domain.ledger import Ledger, hopeless, name_tasks
from ralphloop.domain.model import Task, TaskList
from ralphloop.errors import UserError
from ralphloop.loops import field
from ralphloop.proof import protect
from ralphloop.proof.weak import weak
from ralphloop.spelling import near
from ralphloop.store import files, tasks
from ralphloop.tasklists import boxes, feature_list, markdown
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views import json_slip
from ralphloop.views.fold import SHOWN, Where, bounded, few, shown

SHELL = "/bin/sh"  # as the checks are run
READ_MOST = 200  # commands that the shell reads
READ_S, ALL_READ_S = 2.0, 5.0
_FINDS = 'for name; do command -v "$name" >/dev/null || echo "$name"; done'
_HEAD = re.compile(r"^\S*sh: (?:-c: )?(?:line )?(?:\d+: )?")
Texts = Mapping[str, "str | None"]
Fields = tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]
COMPARED_MOST = 2_000  # ids that a misspelt one is compared with
# how a check is written
IN_FEATURES = '"verify": "COMMAND", or in Markdown a line Verify: `COMMAND`'
IN_BOXES = "a line **Verify**: `COMMAND` below the task"
_BLANK = ("true", ":")  # where a check is still to be written
_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.S)
# What bash knows and sh does not, outside of quotes; some of it sh takes for something else without a word.
_BASH = (
    ("[[", re.compile(r"(?:^|[\s;&|(!])\[\[\s")),
    ("<(", re.compile(r"[<>]\(")),
    ("<<<", re.compile(r"<<<")),
    ("&>", re.compile(r"&>")),
    ("source", re.compile(r"(?:^|[;&|({!][ \t]*|\n[ \t]*|\b(?:then|do|else)[ \t]+)source[ \t]")),
    ("pipefail", re.compile(r"\bset [^;&|\n]{0,60}\bpipefail\b")),
    ("{1..5}", re.compile(r"\{\w+\.\.\w+(?:\.\.\w+)?\}")),
)
_PROGRAM = re.compile(r"(?:(?!PATH=)[A-Z_a-z]\w*=[\w./:@%+,-]*[ \t]+)*([\w.][\w.+-]*)(?:[ \t]|$)", re.A)
_JOINED = re.compile(r"[;&|(){}`\n]")
# a line of its own, whether or not it is an item: what proves the task, or is meant to
_WORDS = "verify|verification|acceptance(?: criteri(?:a|on)| tests?)?|tests?|checks?|done when"
LABEL = re.compile(rf"[*_]*(?:{_WORDS})[*_ ]*:", re.I)


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
    found = doubts(listed, fields, refused, missing_programs(root, listed.commands, env))
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


def missing_programs(root: str, commands: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """The programs of these commands that the shell does not find, each with the one that may be meant."""
    names = dict.fromkeys(name for command in commands[:READ_MOST] if (name := program(command)))
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
    return {name: _program_meant(name, known) for name in gone[: 2 * SHOWN]}


def _program_meant(name: str, known: Sequence[str]) -> str:
    """The program whose name was misspelt, perhaps only by two letters that changed places."""
    turned = [one for one in known if sorted(one) == sorted(name)]
    return "".join(turned[:1] or near(name, known, cutoff=0.8))


def _unprotected(root: str, shared: Mapping[str, Any]) -> tuple[list[str], str]:
    """The patterns under `protect` that name no file yet, and why they cannot hold if one names too many."""
    said = shared.get("protect")
    patterns = feature_list.as_commands(said)
    try:
        empty = [one for one in patterns if not sum(1 for _ in protect.matching(root, [one]))]
    except OSError as error:
        return [], f"`protect` cannot hold: {error}"
    return [f"`protect` names no file yet: {shown(pattern)}" for pattern in empty], ""


def unheld(root: str, listed: TaskList, texts: Texts, *, extra: Sequence[str] = ()) -> str:
    """Which files judge the checks of a feature list and are not protected; empty if there are none."""
    text = texts.get("list")
    if text is None or not listed.commands:
        return ""
    patterns = feature_list.protect(text)
    if protect.CRITERIA in patterns:
        return ""
    found = [
        path
        for path in protect.criteria_in(root, extra, within_s=protect.SEARCH_S)
        if not any(protect.matches(path, os.path.normpath(glob)) for glob in patterns)
    ]
    if not found:
        return ""
    found.sort(key=lambda path: (path.count(os.sep), path))
    judge = "judges the work and is" if len(found) == 1 else "judge the work and are"
    names = few(list(map(shown, found[:SHOWN])), len(found))
    return f'{names} {judge} not protected: `"protect": "{protect.CRITERIA}"` in the list does it'


def doubts(
    listed: TaskList,
    fields: Fields | None,
    refused: Mapping[str, str],
    missing: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Of a list whose tasks have their names; `fields` are those of a feature list and of its features,
    `refused` what the shell said about commands that it cannot read, `missing` the programs that it does not
    find, each with the one that may be meant."""
    return [
        *(field.doubts(*fields, [task.id for task in listed.tasks]) if fields is not None else ()),
        *_twins(listed),
        *_nameless(listed),
        *bounded(list(dict.fromkeys(_only_text(listed)))),
        *_unchecked(listed),
        *_shared(listed),
        *unmet(listed),
        *_unreadable(listed, refused),
        *_weak(listed, refused),
        *_without_program(listed, missing),
    ]


def _where(tasks: Iterable[Task]) -> Where:
    where = Where()
    for task in tasks:
        where.add(task.id or task.title)
    return where


def _twins(listed: TaskList) -> Iterator[str]:
    """Ids of a tasks.md that stand there twice; in a feature list that is an error."""
    said = Counter(boxes.read_title(_first_line(task.body))[0] for task in listed.tasks if task.body)
    twins = [shown(name) for name, count in said.items() if name and count > 1]
    if twins:
        names = few(twins[:SHOWN], len(twins))
        yield f"several tasks are called {names}: only the first keeps the number; number them anew"


def _first_line(body: str) -> str:
    return body.partition("\n")[0].partition("]")[2]


def _nameless(listed: TaskList) -> Iterator[str]:
    where = _where(task for task in listed.tasks if not task.title)
    if where.count:
        has = "has" if where.count == 1 else "have"
        yield f"{where} {has} no description: the agent is told nothing; say what is to be done"


def _only_text(listed: TaskList) -> Iterator[str]:
    """Lines that look like a check and are none."""
    for task in listed.tasks:
        for said in _odd_lines(task):
            told = "is text and no check: only Verify: and one command in backticks is"
            yield f'"{shown(said)}" in {shown(task.id)} {told}'


def _odd_lines(task: Task) -> Iterator[str]:
    for said in _lines(task):
        label = LABEL.match(said)
        is_verify = said[:8].lower().lstrip("*_").startswith("verify")
        is_meant = label is not None and (is_verify or "`" in said)
        if is_meant or ((label or is_verify) and not task.verify and not task.done):
            yield said


def _lines(task: Task) -> Iterator[str]:
    """What a task says below its title, without what is a check."""
    yield from (step.strip() for step in task.steps)
    if "\n" in task.body:
        for said in markdown.lines(task.body)[1:]:
            if not said.quoted and not boxes.command(said):
                yield _BULLET.sub("", said.text, count=1)


def _unchecked(listed: TaskList) -> Iterator[str]:
    bare = [task for task in listed.tasks if not task.verify and not task.done]
    if not bare:
        return
    where = _where(bare)
    who = f"{where} {'has' if len(bare) == 1 else 'have'} no check"
    who = "no task has a check" if len(bare) == len(listed.tasks) > SHOWN else who
    cure = IN_BOXES if bare[0].body or listed.sequential else IN_FEATURES
    yield f"{who}: nothing can prove what the agent says is done (it counts as unverified). Write {cure}"


def _shared(listed: TaskList) -> Iterator[str]:
    """Commands that prove several tasks; the list's own is meant to."""
    lines = [
        f"`{shown(name)}` is the check of several tasks: {where}; green for one, it is green for all"
        for name, where in _owners(listed).items()
        if where.count > 1
    ]
    yield from bounded(lines)


def _owners(listed: TaskList) -> dict[str, Where]:
    """Each command with the tasks that it would prove."""
    found: dict[str, Where] = {}
    for task in listed.tasks:
        for name in dict.fromkeys(task.verify):
            found.setdefault(name, Where()).add(task.id)
    for name in listed.verify:
        found[name] = Where()
        found[name].add("the list")
    return found


def _unreadable(listed: TaskList, refused: Mapping[str, str]) -> Iterator[str]:
    """Checks that the shell refuses, or that only another shell understands."""
    lines = []
    for name, where in _owners(listed).items():
        said, foreign = refused.get(name, ""), bash_only(name)
        check = f"the check of {where}, `{shown(name, 40)}`"
        if said:
            cure = f"`{foreign}` is bash's: {_for_bash(name)}" if foreign else "mend the command"
            lines.append(f"sh refuses {check}, so that it can never pass: {shown(said, 80)}; {cure}")
        elif foreign:
            why = f"it uses `{foreign}`, and sh runs the checks"
            lines.append(f"{check}, works in bash only: {why}; {_for_bash(name)}")
    yield from bounded(lines)


def _weak(listed: TaskList, refused: Mapping[str, str]) -> Iterator[str]:
    """Checks that are green whatever fails, of those that can be read. A bare `true` is meant so."""
    lines = [
        f"the check of {where}, `{shown(name, 40)}`, is weak: {why}"
        for name, where in list(_owners(listed).items())[:READ_MOST]
        if name not in refused and name.strip() not in _BLANK and (why := weak(name))
    ]
    yield from bounded(lines)


def _for_bash(command: str) -> str:
    is_plain = len(command) <= 40 and "'" not in command and "\n" not in command
    return f"write `bash -c '{shown(command)}'`" if is_plain else "write bash -c '…' around it"


def bash_only(command: str) -> str:
    """A feature of bash that the command uses; empty if none that is seen easily."""
    bare = _QUOTED.sub("''", command[:10_000])
    return next((name for name, pattern in _BASH if pattern.search(bare)), "")


def program(command: str) -> str:
    """What a simple command runs, by its bare name; empty for a path, and for whatever is more than simple:
    there a program may be missing on purpose."""
    bare = _QUOTED.sub("''", command[:10_000].strip())
    found = None if _JOINED.search(bare) else _PROGRAM.match(bare)
    return found[1] if found else ""


def _without_program(listed: TaskList, missing: Mapping[str, str]) -> Iterator[str]:
    needed: dict[str, Where] = {}
    for command, where in _owners(listed).items() if missing else ():
        name = program(command)
        if name in missing:
            needed.setdefault(name, Where()).join(where)
    lines = []
    for name, where in needed.items():
        near = missing[name]
        cure = f"did you mean `{near}`?" if near else "install it, mend the check, or let a task bring it"
        lines.append(
            f"there is no program `{shown(name)}` on PATH, so the check of {where} cannot pass: {cure}"
        )
    yield from bounded(lines)


def unmet(listed: TaskList) -> list[str]:
    """Why tasks can never run: who depends on what is not there, in which circle, or behind such a task."""
    stuck = set(hopeless(listed))
    waits = {task.id: task.depends_on for task in listed.tasks if task.id in stuck}
    known = [task.id for task in listed.tasks] if stuck else []
    circles = list(_circles(waits))
    lines = [*_strangers(waits, known), *map(_circle_told, circles)]
    there = {*known}
    named = {name for name, wanted in waits.items() if not there.issuperset(wanted)}.union(*circles)
    where = Where()
    for name in waits:
        if name not in named:
            where.add(name)
    found = list(bounded(list(dict.fromkeys(lines))))
    wait = "waits" if where.count == 1 else "wait"
    return found + ([f"{where} {wait} behind such a task and can never run either"] if where.count else [])


def _circles(waits: Mapping[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """The circles that are found where each of these tasks waits for the first of them that it depends on."""
    first = {name: next((one for one in wanted if one in waits), "") for name, wanted in waits.items()}
    walked: set[str] = set()
    for name in waits:
        path: dict[str, None] = {}
        while name in waits and name not in walked:
            walked.add(name)
            path[name] = None
            name = first[name]
        if name in path:
            yield list(path)[list(path).index(name) :]


def _strangers(waits: Mapping[str, tuple[str, ...]], known: Sequence[str]) -> Iterator[str]:
    there = {*known}
    found = ((name, other) for name, others in waits.items() for other in others if other not in there)
    for count, (name, other) in enumerate(found):
        meant = _near(other, [one for one in known if one != name]) if count < 2 * SHOWN else ""
        cure = f"did you mean {meant}?" if meant else 'add it, or take it out of "depends_on"'
        wanted = f'depends on "{shown(other)}", which is not in the list'
        yield f"{shown(name)} {wanted}, and can never run: {cure}"


def _circle_told(circle: list[str]) -> str:
    if len(circle) == 1:
        return f'{shown(circle[0])} depends on itself and can never run: take it out of its "depends_on"'
    named = [*map(shown, circle[: SHOWN + 1]), *(["…"] if len(circle) > SHOWN + 1 else []), shown(circle[0])]
    return (
        f'{" → ".join(named)} wait for each other in a circle and can never run: take one out of "depends_on"'
    )


def _near(name: str, known: Sequence[str]) -> str:
    """The id that may be meant."""
    ids = [other for other in known[:COMPARED_MOST] if len(other) <= 60] if len(name) <= 60 else []
    return "".join(map(shown, near(name, ids, cutoff=0.5)))
