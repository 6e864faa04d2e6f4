"""The command `statusline`: the line that the client shows under its input box, by hand or from a script."""

from __future__ import annotations

import argparse
import json
import os
import sys

from ralphloop.agents.registry import client
from ralphloop.cli.output import say
from ralphloop.domain.model import SESSION_VARIABLE
from ralphloop.hook import main

PURPOSE = """\
This prints one line about the loop of the session whose JSON it reads, as {client}'s `statusLine` setting
sends it. `ralphloop install --statusline` sets that up; a status line of your own can pass its stdin on."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  echo '{"session_id": "1b2c"}' | ralphloop statusline
  echo '{}' | ralphloop statusline
"""


def run(args: argparse.Namespace) -> int:
    if sys.stdin is not None and sys.stdin.isatty():
        say(PURPOSE.format(client=client().program.TITLE))
        return 0
    said = main.respond(_read(), [main.STATUSLINE])
    if said:
        say(said)
    return 0


def _read() -> bytes:
    """What was sent; without a word, a payload about the session that this runs in, or the only one here."""
    data = sys.stdin.buffer.read(main.STDIN_MAX + 1) if sys.stdin is not None else b""
    if len(data) > main.STDIN_MAX:
        return b""
    if data.strip() not in (b"", b"{}"):
        return data
    session = os.environ.get(SESSION_VARIABLE) or None
    return json.dumps({"workspace": {}, "session_id": session}).encode()
