"""What the person is told when a loop ends or needs them: one message for every way of telling."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ralphloop.agents.registry import client
from ralphloop.domain import model
from ralphloop.domain.limits import duration
from ralphloop.domain.model import LoopState
from ralphloop.domain.prompt import answering, count, cut, done, turns
from ralphloop.domain.table import END, OUTCOMES, PERSON, outcome
from ralphloop.domain.worklist import Worklist
from ralphloop.proof.mask import mask
from ralphloop.store.shelf import Record

TITLE_MAX, BODY_MAX = 120, 600
RESTARTED, GIVEN_UP, SILENT = "restarted", "given_up", "silent"  # what the service does and sees
QUESTIONS = 3  # that a body has room for
# of doubts: how many, and how much of each, a message takes at all; it is cut to far less in the end
DOUBTS, SAID_MAX = 5, 20_000

# what a loop can come to -> on which occasion that is, and how it is said; what is not here is not told
TOLD = {
    **{name: (row.told, row.end or row.person) for name, row in OUTCOMES.items() if row.told},
    model.ASKED: (PERSON, "{name} asks you something"),  # about one task, and the loop goes on
    RESTARTED: (END, "{name} was started again"),
    GIVEN_UP: (PERSON, "{name} could not be started again"),
    SILENT: (PERSON, "the supervisor of {name} is silent"),
}
_ABSOLUTE = re.compile(r"(?<![\w.:/~…-])/(?:[^\s/'\"`]+/)+([^\s/'\"`]+)")


class Message(NamedTuple):
    kind: str
    title: str
    body: str
    facts: dict[str, Any]  # about the loop, for a program


def message_of(
    record: Record, state: LoopState, work: Worklist | None, *, about: str, task: str = "", why: str = ""
) -> Message | None:
    """What there is to say about this loop; None for what is not told. `why` is what no state knows."""
    if about not in TOLD:
        return None
    kind, title = TOLD[about]
    questions = _questions(work, task)
    facts = {
        "loop": record.id,
        "name": record.name,
        "project": os.path.basename(record.root),
        "layout": record.layout,
        "about": about,
        "state": state.state,
        "outcome": state.outcome,
        "detail": state.detail,
        "iteration": state.iteration,
        "max_iterations": int(record.limits.iterations),
        "elapsed_s": round(state.elapsed_s),
        "done": work.closed if work is not None else None,
        "total": work.total if work is not None else None,
        "questions": [{"task": name, "text": text} for name, text in questions],
    }
    told = [_figures(record, state, work), *_why(state, about, why), *_asked(questions)]
    told.append(_how(record, state, about, questions))
    return Message(kind, "ralphloop: " + title.format(name=record.name), " ".join(filter(None, told)), facts)


def uncommitted(told: Message, record: Record, detail: str) -> Message:
    """The same of a loop that is complete, while its commits were not all made."""
    how = (
        f"{detail[:1].upper()}{detail[1:]}. `ralphloop run {record.name}` commits it, once that is put right."
    )
    facts = {**told.facts, "detail": detail}
    return Message(told.kind, told.title + ", but not committed", f"{told.body} {how}", facts)


def doubted(told: Message, record: Record, doubts: Sequence[str]) -> Message:
    """The same of a loop whose proof leaves doubts. The first of them is told last, where it may be cut: not
    before it is tidied, or half of a secret could be left."""
    counted = count(len(doubts), "doubt")
    first = f"`ralphloop report {record.name}` tells of {counted}: {doubts[0][:SAID_MAX]}."
    facts = {"count": len(doubts), "said": [said[:SAID_MAX] for said in doubts[:DOUBTS]]}
    title, body = f"{told.title}, {counted}", f"{told.body} {first}"
    return Message(told.kind, title, body, {**told.facts, "doubts": facts})


def trial(name: str) -> Message:
    """What `notify --test` sends."""
    body = "This is a test: you would be told so that a loop has ended or needs you."
    return Message(END, f"ralphloop: a test from {name}", body, {"about": "test", "project": name})


def _figures(record: Record, state: LoopState, work: Worklist | None) -> str:
    """It begins with a digit or a letter: no program takes it for an option."""
    parts = [done(work.closed, work.total, work.unverified)] if work is not None else []
    parts.append("iteration " + turns(state.iteration, record.limits.iterations, "/"))
    return ", ".join([*parts, duration(state.elapsed_s)]) + "."


def _why(state: LoopState, about: str, why: str) -> list[str]:
    if why:
        return [why[:1].upper() + why[1:].rstrip(".") + "."]
    is_said = about in (model.ASKED, model.NEEDS_INPUT, model.COMPLETE) or about != state.outcome
    return [] if is_said or not state.detail else [state.detail.rstrip(".") + "."]


def _questions(work: Worklist | None, task: str) -> list[tuple[str, str]]:
    asked = work.asked if work is not None else []
    return [(name, text) for name, text in asked if task in ("", name)][:QUESTIONS]


def _asked(questions: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{cut(name, 40)}: {cut(text, 200)}" for name, text in questions]


def _how(record: Record, state: LoopState, about: str, asked: Sequence[tuple[str, str]]) -> str:
    name = record.name
    if about == state.outcome and state.detail.startswith(model.LOGIN):
        way = f"Log in with `{client().program.LOGIN}`, or renew the key"
        return f"{way}; `ralphloop status {name}` tells the rest."
    if about in (model.ASKED, model.NEEDS_INPUT):
        return f"`{answering(asked[0][0] if asked else 'ID', name)}` answers."
    return outcome(about if about in OUTCOMES else None).notice.format(name=name)


def tidied(message: Message, *, root: str, home: str, secrets: Iterable[str]) -> Message:
    """The message as it may leave the machine: no secrets, no full paths, nothing that a terminal obeys."""
    hidden = list(secrets)

    def tidy(text: str) -> str:
        return plain(_near(mask(text, hidden), root=root, home=home))

    return Message(
        message.kind,
        cut(tidy(message.title), TITLE_MAX),
        cut(tidy(message.body), BODY_MAX),
        {name: _each(value, tidy) for name, value in message.facts.items()},
    )


def _each(value: Any, tidy: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return cut(tidy(value), BODY_MAX)
    if isinstance(value, dict):
        return {name: _each(part, tidy) for name, part in value.items()}
    return [_each(part, tidy) for part in value] if isinstance(value, list) else value


def plain(text: str) -> str:
    """One line of what can be seen."""
    seen = (" " if ch.isspace() else ch for ch in text if ch.isspace() or unicodedata.category(ch)[0] != "C")
    return " ".join("".join(seen).split())


def _near(text: str, *, root: str, home: str) -> str:
    """Paths from the project, or only their last part."""
    for folder in (root, os.path.realpath(root)):
        text = text.replace(folder.rstrip("/") + "/", "") if folder.strip("/") else text
    if home.strip("/"):
        text = text.replace(home.rstrip("/") + "/", "~/")
    return _ABSOLUTE.sub(r"…/\1", text)
