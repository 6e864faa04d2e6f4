"""How a stop would be decided, rule by rule, writing nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ralphloop.agents.registry import client
from ralphloop.domain.model import CLAIMS, StopEvent
from ralphloop.domain.situation import Decision, Need
from ralphloop.engine import claim, find
from ralphloop.engine.stop import Stop, loop_of
from ralphloop.errors import UserError
from ralphloop.hook import wire
from ralphloop.loops.place import UNDER_WAY, Place
from ralphloop.loops.result import Result
from ralphloop.proof.prove import is_due
from ralphloop.store import tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import LAYOUTS

ALLOW, GO_ON, CHECKS = "allow", "continue", "after the checks"
TEXTS = ("reason", "systemMessage", "stderr")
EVENT_MAX = wire.STDIN_MAX  # bytes; the hook reads no longer event


class Step(NamedTuple):
    rule: str
    said: str


class Account:
    """The rules that were asked, in order; the last one decides."""

    def __init__(self, stop: type[Stop] = Stop) -> None:
        self.stop = stop
        self.steps: list[Step] = []
        self.loop: LoopFiles | None = None
        self.decision: Decision | None = None
        self.pending = ""  # the checks that would be run before there is a decision

    def ask(self, rule: str, said: str) -> None:
        self.steps.append(Step(rule, said))

    @property
    def verdict(self) -> str:
        if self.pending:
            return CHECKS
        return GO_ON if self.decision is not None and self.decision.blocks else ALLOW

    @property
    def answer(self) -> dict[str, str]:
        """What the hook would print, stream by stream."""
        if self.decision is None or self.loop is None:
            return {"stdout": "", "stderr": ""}
        text = wire.answer(self.decision, as_context=self.loop.record.continue_with == "context")
        return {"stdout": text, "stderr": self.decision.stderr}


def explain(place: Place, data: bytes) -> Result:
    """The rules that would be asked if a client sent this stop event here; the last one decides."""
    account = Account()
    call = find.Call(registration="explain", layouts=LAYOUTS, env=place.env, cwd=place.cwd, writes=False)
    consider(data, place, account, call=call)
    told = facts_of(account)
    return Result(told, tuple(lines_of(told)))


def consider(data: bytes, place: Place, account: Account, *, call: find.Call) -> None:
    """The rules before a loop's own, each as the hook applies it; the rest is the loop's to decide."""
    payload = wire.payload(data) if len(data) <= EVENT_MAX else None
    if payload is None:
        return account.ask("stdin", "allow, silent: not a JSON object, empty, or too long")
    name = payload.get("hook_event_name", "Stop")
    if name not in ("Stop", "SubagentStop"):
        raise UserError(f"this is a {name} event; explain takes a Stop event.")
    event = wire.stop_event(payload, cwd=place.cwd)
    account.ask("stdin", f"a {name} event of session {event.session or '(none)'} in {event.cwd}")
    if wire.is_subagent(payload):
        return account.ask("subagent", "allow, untouched: a subagent stops, not the session")
    account.ask("subagent", "no")
    if call.client.normal(payload, place.env) is None:
        return account.ask("client", "allow, untouched: sent by another client")
    account.ask("client", client().program.TITLE)
    return _find(event, place, account, call=call)


def _find(event: StopEvent, place: Place, account: Account, *, call: find.Call) -> None:
    seen = Place(event.cwd, place.env, writes=False) if os.path.isabs(event.cwd) else place
    known = [loop.record.id for loop in seen.loops(*UNDER_WAY)]
    lists = [source for source in claim.sources(event.cwd, call) if source.enabled]
    if not known and not lists:
        return account.ask("loop_here", "allow, silent: no loop is under way here, no task list is enabled")
    there = known or [f"unowned: {source.name} ({source.layout})" for source in lists]
    account.ask("loop_here", ", ".join(there))
    loop = loop_of(event, call)
    if loop is None:
        return account.ask(
            "ownership", f"allow, silent: session {event.session} owns none and may claim none"
        )
    account.loop = loop
    account.ask("ownership", f"{loop.record.id} is this session's{_how(loop)}")
    return _decide(event, loop, call, account)


def _how(loop: LoopFiles) -> str:
    if loop.begun is not None:
        return " by its transcript; it would be claimed now"
    state = loop.load()
    return "" if state is None or state.owner else "; it would be bound now"


def _decide(event: StopEvent, loop: LoopFiles, call: find.Call, account: Account) -> None:
    state = loop.load()
    if state is None:
        return account.ask("state", "allow, silent: its loop.json is lost in both places")
    if state.served[1:] and not call.writes:
        call.registration = state.served[1]  # as the registration that serves this loop
    stop = account.stop(event, loop, call=call)
    answer = stop.decide()
    account.decision = answer if isinstance(answer, Decision) else None
    for rule, said in stop.trace:
        account.ask(rule, said or "–")
    if isinstance(answer, Need):
        account.pending = "; ".join(_commands_to_run(loop, answer))
    if account.decision is not None and account.decision.rule == "request":
        account.ask("request", f"allow: the person asked for a {loop.request()}")
    return None


def _commands_to_run(loop: LoopFiles, need: Need) -> list[str]:
    """What the checks that are due would run."""
    ledger = loop.load_ledger()
    listed, is_final = tasks.with_pins(loop, ledger)[0], need.checks != CLAIMS
    due = [task.verify for task in listed.tasks if is_due(task, ledger, final=is_final)]
    due += [listed.verify] if is_final else []
    return list(dict.fromkeys(text for commands in due for text in commands))


def facts_of(account: Account) -> dict[str, Any]:
    """The account for a program."""
    last = len(account.steps) - 1
    said = account.decision
    texts = (said.reason, said.message, said.stderr) if said is not None else ("", "", "")
    return {
        "loop": account.loop.record.id if account.loop is not None else None,
        "rules": [
            {"rule": step.rule, "said": step.said, "decides": at == last}
            for at, step in enumerate(account.steps)
        ],
        "decision": account.verdict,
        "task": said.task if said is not None else "",
        "checks": account.pending,
        **dict(zip(TEXTS, texts, strict=True)),
    }


def lines_of(facts: Mapping[str, Any]) -> Iterator[str]:
    """The same for a person."""
    for number, step in enumerate(facts["rules"], 1):
        mark = "  <- decides" if step["decides"] else ""
        yield f"{number:>2}  {step['rule']:<20}  {step['said']}{mark}"
    yield ""
    yield f"decision: {facts['decision']}" + (f" with {facts['task']}" if facts["task"] else "")
    if facts["checks"]:
        yield f"checks: {facts['checks']}"
    for label in TEXTS:
        if facts[label]:
            yield f"{label}:"
            yield from ("  " + row for row in facts[label].split("\n"))
