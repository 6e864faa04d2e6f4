"""The supervisor's process, started by `run`: one request on stdin, then words that steer it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from ralphloop.errors import UserError
from ralphloop.loops import Place, drive


def run(_: argparse.Namespace) -> int:
    request = _request()
    drive.serve(request, Place(request["cwd"], os.environ), words=0, answer=_answer)
    return 0


def _request() -> dict[str, Any]:
    """Byte by byte: what follows the line belongs to somebody else."""
    line, byte = b"", b" "
    while byte and not line.endswith(b"\n"):
        byte = os.read(0, 1)
        line += byte
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found.keys() >= {"loop", "cwd", "terms"}:
        raise UserError("`ralphloop supervise` is started by `ralphloop run`, which you want.")
    return found


def _answer(word: str) -> None:
    print(word, flush=True)
    if word not in drive.ANSWERS:
        return
    sys.stdout = sys.stderr  # the log; nobody reads the pipe any more
    os.dup2(2, 1)
