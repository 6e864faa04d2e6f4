"""`explain --record`: a recorded stop decided again, rule by rule, and compared with its answer."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ralphloop.cli import replay
from ralphloop.cli.explain import ALLOW, GO_ON, Account, as_json, consider, tell
from ralphloop.cli.here import here
from ralphloop.cli.output import say, say_json
from ralphloop.cli.recorded_case import Said, answered
from ralphloop.domain.plain import plain
from ralphloop.errors import UserError
from ralphloop.hook import wire


def run(args: argparse.Namespace) -> int:
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
