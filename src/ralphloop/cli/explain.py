"""The command `explain`: how a stop would be decided, rule by rule, writing nothing."""

from __future__ import annotations

import argparse
import sys

from ralphloop import loops
from ralphloop.cli.output import show
from ralphloop.errors import UserError
from ralphloop.loops.explanation import EVENT_MAX


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
  echo '{"hook_event_name": "Stop", "session_id": "1b2c"}' | ralphloop explain

With --record no check is run and nothing in the project is touched; the exit
code is 0 if the answer is the recorded one, 1 if it is another.
"""


def run(args: argparse.Namespace) -> int:
    if args.record is not None:
        if args.file is not None:
            raise UserError("explain takes a stop event's FILE or --record, not both.")
        from ralphloop.lab import replay

        return show(replay.explain(loops.here(writes=False), args.record), as_json=args.json)
    return show(loops.explain(loops.here(writes=False), _read(args.file)), as_json=args.json)


def _read(path: str | None) -> bytes:
    most = EVENT_MAX + 1  # so that one that is too long shows
    if path is not None:
        with open(path, "rb") as file:
            return file.read(most)
    if sys.stdin is None or sys.stdin.isatty():
        raise UserError(
            "explain reads a stop event, the JSON that the client hands to its Stop hook: "
            "`ralphloop explain FILE`, or give it on stdin. `ralphloop record on` keeps those to come, "
            "`ralphloop log` tells what was decided until now."
        )
    return sys.stdin.buffer.read(most)
