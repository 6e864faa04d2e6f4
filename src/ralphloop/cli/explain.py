"""The command `explain`: how a stop would be decided, rule by rule, writing nothing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ralphloop.cli.here import UNDER_WAY, Here, here
from ralphloop.cli.output import say, say_json
from ralphloop.domain.answer import Decision, Need
from ralphloop.domain.model import FINAL_RUN, LAYOUTS, StopEvent
from ralphloop.domain.plain import plain
from ralphloop.engine import claim, find
from ralphloop.engine.stop import Stop, loop_of
from ralphloop.errors import UserError
from ralphloop.evidence.prove import is_due
from ralphloop.hook import wire
from ralphloop.store import tasks
from ralphloop.store.loop import LoopFiles

if TYPE_CHECKING:
    from ralphloop.cli.recorded_case import Said

ALLOW, GO_ON, CHECKS = "allow", "continue", "after the checks"
TEXTS = ("reason", "systemMessage", "stderr")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a stop event's JSON (default: stdin)")
    parser.add_argument(
        "--record", metavar="N|FILE", help="a recorded stop instead: decided again in a scratch folder"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop explain stop.json
  ralphloop explain --record 12
  echo '{"hook_event_name": "Stop", "session_id": "1b2c"}' | ralphloop explain --json

With --record no check is run and nothing in the project is touched; the exit code is 0 if the answer is the
recorded one, 1 if it is another.
"""


class Step(NamedTuple):
    rule: str
    said: str


class Account:
    """The rules that were asked, in order; the last one decides."""

    stop: type[Stop] = Stop

    def __init__(self) -> None:
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


def run(args: argparse.Namespace) -> int:
    if args.record is not None:
        return _run_record(args)
    account = Account()
    place = here(writes=False)
    call = find.Call(registration="explain", layouts=LAYOUTS, env=place.env, cwd=place.cwd, writes=False)
    consider(_read(args.file), place, account, call=call)
    told = as_json(account)
    if args.json:
        say_json(told)
    else:
        tell(told)
    return 0


def _read(path: str | None) -> bytes:
    if path is not None:
        with open(path, "rb") as file:
            return file.read(wire.STDIN_MAX + 1)
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError("explain reads a stop event: `ralphloop explain FILE`, or give it on stdin.")
    return sys.stdin.buffer.read(wire.STDIN_MAX + 1)


def consider(data: bytes, place: Here, account: Account, *, call: find.Call) -> None:
    """The rules before a loop's own, each as the hook applies it; the rest is the loop's to decide."""
    payload = wire.payload(data) if len(data) <= wire.STDIN_MAX else None
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
    if wire.is_foreign(payload, place.env):
        return account.ask("client", "allow, untouched: sent by another client")
    account.ask("client", "Claude Code")
    return _find(event, place, account, call=call)


def _find(event: StopEvent, place: Here, account: Account, *, call: find.Call) -> None:
    seen = Here(event.cwd, place.env, writes=False) if os.path.isabs(event.cwd) else place
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
    return "" if loop.load() is None or _owner(loop) else "; it would be bound now"


def _owner(loop: LoopFiles) -> str | None:
    state = loop.load()
    return state.owner if state is not None else None


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
    listed, is_final = tasks.with_pins(loop, ledger)[0], need.checks == FINAL_RUN
    due = [task for task in listed.tasks if is_due(task, ledger, final=is_final)]
    return list(dict.fromkeys(text for task in due for text in task.verify))


def tell(account: Mapping[str, Any]) -> None:
    """The account in lines."""
    for number, step in enumerate(account["rules"], 1):
        mark = "  <- decides" if step["decides"] else ""
        say(f"{number:>2}  {step['rule']:<20}  {step['said']}{mark}")
    say("", f"decision: {account['decision']}" + (f" with {account['task']}" if account["task"] else ""))
    if account["checks"]:
        say(f"checks: {account['checks']}")
    for label in TEXTS:
        if account[label]:
            say(f"{label}:", *("  " + row for row in account[label].split("\n")))


def as_json(account: Account) -> dict[str, Any]:
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


def _run_record(args: argparse.Namespace) -> int:
    """A recorded stop decided again, rule by rule, and compared with its answer."""
    from ralphloop.cli import replay
    from ralphloop.cli.recorded_case import Said, answered

    if args.file is not None:
        raise UserError("explain takes a stop event's FILE or --record, not both.")
    record = replay.load(here(writes=False), args.record)
    account = Account()
    with replay.staged(record) as stage:
        account.stop = replay.stop_with(record["checks"])
        consider(stage.data, stage.place, account, call=stage.call)
        told = replay.blanked(as_json(account), stage.scene)
        now, then = (
            replay.steady(said, stage.scene, record["command"]) for said in (_said(account), answered(record))
        )
    differs = [name for name, one, other in zip(Said._fields, now, then, strict=True) if one != other]
    differs += ["checks"] if account.pending else []
    if args.json:
        say_json({**told, "record": _facts(record, differs)})
    else:
        tell(told)
        _compare(record, then, differs)
    return 1 if differs else 0


def _said(account: Account) -> Said:
    """What the hook would print now."""
    from ralphloop.cli.recorded_case import Said

    decision, loop = account.decision, account.loop
    if decision is None or loop is None:
        return Said.of({"stdout": "", "stderr": ""})
    text = wire.answer(decision, as_context=loop.record.continue_with == "context")
    return Said.of({"stdout": text, "stderr": decision.stderr})


def _facts(record: Mapping[str, Any], differs: list[str]) -> dict[str, Any]:
    kept = ("at", "version", "loop", "rule", "answer", "left_out")
    return {**{key: record[key] for key in kept}, "same": not differs, "differs": differs}


def _compare(record: Mapping[str, Any], then: Said, differs: list[str]) -> None:
    answer = GO_ON if then.blocks or then.context else ALLOW
    by = f" by the rule {record['rule']}" if record["rule"] else ""
    say("", plain(f"recorded {record['at']} with ralphloop {record['version']}: {answer}{by}"))
    for path, why in record["left_out"].items():
        say(plain(f"not in the record: {path} ({why})"))
    if record["answer"]["broken"]:
        say("a bug of ralphloop left no answer then; errors.log in its state directory tells more.")
    if not differs:
        return say("the answer is the same.")
    say("the answer is different: " + ", ".join(differs))
    for name in differs:
        text = getattr(then, name, None)
        if isinstance(text, str):
            say(f"recorded {name}:", *("  " + row for row in (text or "(none)").split("\n")))
    return None
