"""The message of a task's commit, and what its trailers say to a later look."""

from __future__ import annotations

import hashlib
import textwrap
import unicodedata
from typing import NamedTuple

from ralphloop.domain.model import Task
from ralphloop.domain.plain import TURNS
from ralphloop.domain.prompt import cut, line

SUBJECT_MAX = 72
BODY_MAX = 2_000
STEP_MAX = 200
ID_MAX = 120
TASK, LOOP, EVIDENCE = "Ralphloop-Task", "Ralphloop-Loop", "Ralphloop-Evidence"


class Trailers(NamedTuple):
    """Which proof of which task a commit is about."""

    task: str
    loop: str
    evidence: str


def trailers(task_id: str, *, loop_id: str, evidence: str) -> Trailers:
    return Trailers(_name(task_id), line(_clean(loop_id), ID_MAX), line(_clean(evidence), 1000))


def message(task: Task, about: Trailers) -> str:
    subject, body = _subject(task), _body(task)
    ends = f"{TASK}: {about.task}\n{LOOP}: {about.loop}\n{EVIDENCE}: {about.evidence}\n"
    return "\n\n".join(part for part in (subject, body, ends) if part)


def read(text: str) -> Trailers | None:
    """The trailers of a message; only its last paragraph can have them."""
    found: dict[str, str] = {}
    for row in text.strip().rsplit("\n\n", 1)[-1].split("\n"):
        name, _, value = row.partition(": ")
        found[name] = value
    if not {TASK, LOOP, EVIDENCE} <= set(found):
        return None
    return Trailers(found[TASK], found[LOOP], found[EVIDENCE])


def _name(task_id: str) -> str:
    """The id on one line; one that does not fit there as it is keeps apart from others by its digest."""
    shown = line(_clean(task_id), ID_MAX)
    if shown == task_id:
        return shown
    digest = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{shown} ~{digest}"


def _subject(task: Task) -> str:
    whole = _whole(task)
    return cut(whole, SUBJECT_MAX)


def _whole(task: Task) -> str:
    name, title = line(_clean(task.id), 40), " ".join(_clean(task.title).split())
    return f"{name}: {title}" if title else name


def _body(task: Task) -> str:
    """The rest of a title that was cut, and the steps."""
    whole = _whole(task)
    title = textwrap.fill(cut(whole, 1000), SUBJECT_MAX) if len(whole) > SUBJECT_MAX else ""
    steps = [line(_clean(step), STEP_MAX) for step in task.steps or task.body.splitlines()[1:]]
    listed = "\n".join(step if step[0] in "-*" else f"- {step}" for step in steps if step)
    return cut("\n\n".join(part for part in (title, listed) if part), BODY_MAX)


def _clean(text: str) -> str:
    """Without what a terminal or git would take for a command; a line end is white space for now."""
    return "".join(ch if _is_plain(ch) else " " for ch in text)


def _is_plain(ch: str) -> bool:
    return unicodedata.category(ch) not in ("Cc", "Cs", "Zl", "Zp") and ch not in TURNS
