"""The command `evidence`: what was run to prove a task, and whether the records are as they were written."""

from __future__ import annotations

import argparse
from typing import Any

from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say, say_json
from ralphloop.domain.prompt import line
from ralphloop.errors import UserError
from ralphloop.evidence import record
from ralphloop.store.loop import LoopFiles


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="a task's id, or the id of one piece of evidence")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if there are several")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop evidence
  ralphloop evidence F2
  ralphloop evidence 0003-F2
  ralphloop evidence --json
"""


def run(args: argparse.Namespace) -> int:
    loop = pick(here(writes=False), args.loop)
    known = record.entries(loop)
    found = [entry for entry in known if args.id in (None, entry.id) or args.id in entry.tasks]
    if args.id is not None and not found:
        shown = ", ".join(sorted({task for entry in known for task in entry.tasks})) or "nothing yet"
        raise UserError(f"there is no evidence for {args.id} in {loop.record.name}; there is for: {shown}.")
    if args.json:
        say_json({"loop": loop.record.id, "evidence": [_as_json(loop, entry) for entry in found]})
    elif args.id is not None and len(found) == 1:
        _tell_one(loop, found[0])
    else:
        _tell(loop, found)
    return 0


def _as_json(loop: LoopFiles, entry: record.Entry) -> dict[str, Any]:
    """The index's own words, and what the file adds to them if it is as it was written."""
    state = record.state(loop, entry)
    facts = record.load(loop, entry.id) if state == record.SOUND else None
    return {**(facts or {}), **entry._asdict(), "file": state}


def _tell(loop: LoopFiles, found: list[record.Entry]) -> None:
    if not found:
        say(f"Nothing was checked in {loop.record.name} yet.")
    for entry in found:
        state = record.state(loop, entry)
        doubt = "" if state == record.SOUND else f"  (its file is {state})"
        sign = "✓" if entry.green else "✗"
        what = f"{entry.at[:19]}Z  {entry.kind:<6}  {entry.duration_s:7.1f} s  {line(entry.command, 60)}"
        say(f"{sign} {entry.id:<16}  {what}{doubt}")


def _tell_one(loop: LoopFiles, entry: record.Entry) -> None:
    facts = _as_json(loop, entry)
    tail = str(facts.pop("output_tail", ""))
    for name, value in facts.items():
        if value not in (None, "", []):
            say(f"{name:<14} {', '.join(map(str, value)) if isinstance(value, list) else value}")
    if tail.strip():
        say("", "the end of its output:", *(f"  {text}" for text in tail.rstrip("\n").split("\n")))
