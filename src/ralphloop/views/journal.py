"""The journal read for people: its entries, the times of work that they tell, and a line for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ralphloop.agents.transcript import moment
from ralphloop.domain import jsontext
from ralphloop.domain.model import PAUSED
from ralphloop.domain.prompt import line as one_line
from ralphloop.domain.prompt import plain
from ralphloop.engine import account
from ralphloop.store.loop import LoopFiles, iso
from ralphloop.views.figure import dollars, local, span, tokens

if TYPE_CHECKING:
    from ralphloop.engine.account import Part

Entry = dict[str, Any]

JOURNAL_LOST = "the journal is missing: times, refused claims and what was restored are not known"


class History(NamedTuple):
    entries: tuple[Entry, ...]
    faults: tuple[str, ...]


class Stretch(NamedTuple):
    """A time with one task at hand, empty if with none; `rests` if the loop rested and a stop took it up, or
    its session was killed: what was spent in it counts, and how long it worked is not known."""

    task: str
    begin: float
    end: float
    rests: bool = False


def history_of(loop: LoopFiles) -> History:
    lines = account.lines(loop)
    if lines is None:
        return History((), (JOURNAL_LOST,))
    entries, bad = [], 0
    for raw in lines:
        entry = entry_of(raw)
        if entry is None:
            bad += 1
            entry = rest_of(raw)
        if entry is not None:
            entries.append(entry)
    faults = [f"{bad} of the journal's lines cannot be read"] if bad else []
    if not entries or entries[0]["event"] != "arm":
        faults.append("the journal's beginning is missing")
    return History(tuple(entries), tuple(faults))


def entry_of(raw: str | bytes) -> Entry | None:
    """What one line says; None for one that is no entry, which may be in the middle of a write."""
    entry = account.entry_of(raw)
    return entry if entry is not None and moment(entry["at"]) is not None else None


def rest_of(raw: str) -> Entry | None:
    """What was written behind half a line, where a write was cut off before its end."""
    entry = account.rest_of(raw)
    return entry if entry is not None and moment(entry["at"]) is not None else None


def at(entry: Entry) -> float:
    return moment(entry["at"]) or 0.0


def rested_at(entries: Sequence[Entry]) -> float | None:
    """When the loop last came to rest."""
    for entry in reversed(entries):
        if _rests(entry) or (entry["event"] == "stop" and not account.is_under_way(entry)):
            return at(entry)
    return None


def _rests(entry: Entry) -> bool:
    """A supervisor goes on after most of its sessions."""
    return entry["event"] in account.RESTS and entry.get("verdict") not in ("next", "wait")


def working_s(parts: Sequence[Stretch]) -> float:
    """How long the loop worked in all."""
    return sum(part.end - part.begin for part in parts if not part.rests)


def work_in(parts: Iterable[Part], *, end: float) -> float:
    """The same of parts as they were read, the last of which may be without an end. Where one begins when
    the one before ends, only their first and last moment are: there is one part for each stop."""
    spans: list[tuple[str, str]] = []
    for _, first, last, rests in parts:
        if not rests:
            joined = spans.pop()[0] if spans and spans[-1][1] == first else first
            spans.append((joined, last))
    known = [(moment(first), end if last == account.LAST else moment(last)) for first, last in spans]
    return sum(max(0.0, last - first) for first, last in known if first is not None and last is not None)


def stretches(entries: Sequence[Entry], *, begin: float, end: float) -> list[Stretch]:
    """The times in which the loop was under way, as moments; `begin` and `end` are its first and last."""
    found = account.parts(entries, begin=iso(begin) if begin else "", end=iso(end))
    return [
        Stretch(task, moment(first) or 0.0, moment(last) or 0.0, rests) for task, first, last, rests in found
    ]


# What is said of an event that has no words of its own; everything else stays in the JSON.
_TEXTS = ("detail", "reason", "question", "answer")
_SHOWN = 5
# events whose words are a sentence of their own
_SENTENCES = ("stop", "session", "session_end")
# what a supervisor does after a session, by its verdict
_FOLLOWS = {
    "next": "another one follows",
    "wait": "the loop waits",
    "rest": "the loop rests",
    "end": "the run ends",
}


def line(raw: str) -> str:
    """`2026-01-31 10:00:05  stop  goes on with task F2, iteration 3, by the rule go_on`, in local time."""
    try:
        entry = jsontext.parse_object(raw)
    except ValueError:
        return plain("(not readable) " + raw[:200])
    event = str(entry.get("event", "?"))
    return plain(f"{when(entry)}  {event:<12}  {words(entry)}".rstrip())


def when(entry: Entry) -> str:
    """The entry's UTC stamp as the person's clock shows it."""
    seconds = moment(entry.get("at"))
    return str(entry.get("at")) if seconds is None else local(seconds)


def sentence(entry: Entry) -> str:
    """What the entry says, without its time."""
    event = entry.get("event")
    return words(entry) if event in _SENTENCES else f"{event} {words(entry)}".strip()


def words(entry: Entry) -> str:
    """What the entry says, without its time and its event."""
    event = entry.get("event")
    tell = _TOLD.get(event, _usual) if isinstance(event, str) else _usual
    parts = tell(entry)
    if event in ("arm", "bind", "adopt", "resume"):
        parts.append(f"session {_said(entry.get('session') or 'none yet')}")
    return ", ".join(part for part in parts if part)


def _usual(entry: Entry) -> list[str]:
    texts = [_said(entry[name]) for name in _TEXTS if entry.get(name)]
    outcome = _said(entry.get("outcome") or "")
    known = [] if any(text.startswith(outcome) for text in texts) else [outcome]
    return [*_facts(entry, ("task",)), *known, *texts]


def _facts(entry: Entry, names: tuple[str, ...]) -> list[str]:
    return [f"{name} {_said(entry[name])}" for name in names if entry.get(name)]


def _stop(entry: Entry) -> list[str]:
    parts = [_decided(entry) + _because(entry), f"iteration {entry.get('iteration')}"]
    for name in ("claimed", "proven"):
        if isinstance(entry.get(name), list) and entry[name]:
            parts.append(f"{name} " + ", ".join(map(str, entry[name])))
    at_hand = () if entry.get("decision") == "continue" else ("task",)
    return [*parts, *_facts(entry, ("refused", *at_hand)), f"by the rule {_said(entry.get('rule'))}"]


def _decided(entry: Entry) -> str:
    """What a stop led to."""
    if entry.get("decision") == "continue":
        return " with ".join(["goes on", *_facts(entry, ("task",))])
    if not entry.get("outcome"):
        return "lets the turn end"
    ends = "rests" if entry.get("state") == PAUSED else "ends"
    return f"the loop {ends}: {_said(entry['outcome'])}"


def _because(entry: Entry) -> str:
    return f" ({_said(entry['detail'])})" if entry.get("detail") else ""


def _proven(entry: Entry) -> list[str]:
    return _facts(entry, ("task", "evidence"))


def _refused(entry: Entry) -> list[str]:
    ran = f"`{_said(entry['command'])}` " if entry.get("command") else ""
    again = ["in the final run"] if entry.get("final") is True else []
    whose = _facts(entry, ("task",)) or ["the list's own check"]
    return [
        *whose,
        *again,
        f"{ran}{_said(entry.get('detail', ''))}",
        *_facts(entry, ("evidence",)),
    ]


def _commit(entry: Entry) -> list[str]:
    made = f"{_said(entry.get('commit', ''))[:10]} on {_said(entry.get('branch', ''))}"
    return [*_facts(entry, ("task",)), made, *_facts(entry, ("evidence",))]


def _no_commit(entry: Entry) -> list[str]:
    return [_said(entry.get("why", "")), "tasks " + _listed(entry, "tasks")]


def _restored(entry: Entry) -> list[str]:
    kept = f"the changed version is rejected/{_said(entry['rejected'])}" if entry.get("rejected") else ""
    notes = entry.get("what")
    told = " ".join(map(str, notes)) if isinstance(notes, list) else str(notes or "")
    return [part for part in (_said(told, 400), kept) if part]


def _protected(entry: Entry) -> list[str]:
    return ["files " + _listed(entry, "files")]


def _added(entry: Entry) -> list[str]:
    return ["tasks " + _listed(entry, "tasks")]


def _approve(entry: Entry) -> list[str]:
    commands = entry.get("commands")
    count = len(commands) if isinstance(commands, list) else 0
    shown = f"{count} commands" if count != 1 else "1 command"
    return [
        f"{shown} ({_listed(entry, 'commands', '; ')})" if count else shown,
        *_facts(entry, ("by", "digest")),
    ]


def _claim(entry: Entry) -> list[str]:
    return _facts(entry, ("task", "by"))


def _session(entry: Entry) -> list[str]:
    task = f" with task {_said(entry['task'])}" if entry.get("task") else ""
    return [f"{_numbered(entry)} begins{task}", *_facts(entry, ("model",)), _said(entry.get("session") or "")]


def _numbered(entry: Entry) -> str:
    return f"session {_said(entry['number'])}" if entry.get("number") else "the session"


def _session_end(entry: Entry) -> list[str]:
    """What the supervisor makes of a session, or, where there is none, why the client ended it."""
    after = f" after {span(entry['duration_s'])}" if _is_number(entry.get("duration_s")) else ""
    parts = [f"{_numbered(entry)} ended{after}", *_trouble(entry)]
    if _is_number(entry.get("tokens")):
        parts.append(f"{tokens(entry['tokens'])} tokens")
    if _is_number(entry.get("cost_usd")):
        parts.append(dollars(entry["cost_usd"]))
    follows = _FOLLOWS.get(str(entry.get("verdict")), "")
    rests = f"the loop rests: {_said(entry['outcome'])}" if entry.get("outcome") else ""
    return [*parts, f"{follows}{_because(entry)}" if follows else rests]


def _trouble(entry: Entry) -> list[str]:
    """How it ended, where that says something: by itself and without an error says nothing."""
    reason, error = entry.get("reason"), entry.get("error")
    found = [_said(reason)] if reason and reason != "completed" else []
    found += ["with an error" if error is True else f"error {_said(error)}"] if error else []
    found += _facts(entry, ("signal",))
    return [*found, f"exit code {_said(entry['code'])}"] if entry.get("code") else found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12


def _handover(entry: Entry) -> list[str]:
    return [*_facts(entry, ("task",)), _said(entry.get("why") or "")]


def _wait(entry: Entry) -> list[str]:
    until = moment(entry.get("until"))
    return [f"until {local(until)}" if until else "", _said(entry.get("why") or "")]


def _notify(entry: Entry) -> list[str]:
    went = "sent" if entry.get("ok") is True else "failed"
    return [f"{_said(entry.get('channel', '?'))} {went}", _said(entry.get("detail") or "")]


def _listed(entry: Entry, name: str, between: str = ", ") -> str:
    values = entry.get(name)
    values = values if isinstance(values, list) else [values]
    more = f"{between}and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return between.join(map(_said, values[:_SHOWN])) + more


def _said(value: Any, most: int = 160) -> str:
    return one_line(str(value), most)


_TOLD: dict[str, Callable[[Entry], list[str]]] = {
    "stop": _stop,
    "proven": _proven,
    "refused": _refused,
    "restored": _restored,
    "protected": _protected,
    "added": _added,
    "approve": _approve,
    "claim": _claim,
    "commit": _commit,
    "commit_refused": _no_commit,
    "commit_failed": _no_commit,
    "session": _session,
    "session_end": _session_end,
    "handover": _handover,
    "set_aside": _handover,
    "wait": _wait,
    "notify": _notify,
}
