"""The supervisor's process, started by `run`: one request on stdin, then words that steer it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from ralphloop.errors import BusyError, UserError
from ralphloop.loops.place import Here, pick
from ralphloop.loops.run_terms import must_be_allowed
from ralphloop.notify import send
from ralphloop.runner.control import Control
from ralphloop.runner.supervise import supervise
from ralphloop.runner.terms import Terms
from ralphloop.store import supervisor
from ralphloop.store.loop import LoopFiles

READY, TAKEN = "ready", "taken"  # what is answered to the request


def run(_: argparse.Namespace) -> int:
    request = _request()
    place = Here(request["cwd"], os.environ)
    loop = pick(place, request["loop"])
    terms = Terms.from_json(request["terms"])
    must_be_allowed(terms, place.env)
    with ExitStack() as held:
        try:
            held.enter_context(supervisor.lock(loop))
        except BusyError:
            _answer(TAKEN)
            return 0
        control = Control(0, detached=terms.detached)
        _answer(READY)
        supervise(loop, terms, control, cwd=request["cwd"], env=place.env)
    _tell(loop, place.env, terminal=0 if control.detached else request["terminal"])
    return 0


def _request() -> dict[str, Any]:
    """Byte by byte: what follows the line belongs to somebody else."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            raise UserError("`ralphloop supervise` is started by `ralphloop run`, which you want.")
        line += byte
    found: dict[str, Any] = json.loads(line)
    return found


def _answer(word: str) -> None:
    print(word, flush=True)
    sys.stdout = sys.stderr  # the log; nobody reads the pipe any more
    os.dup2(2, 1)


def _tell(loop: LoopFiles, env: Mapping[str, str], *, terminal: int) -> None:
    state = loop.state()
    if state.outcome:
        send.tell(loop, state.outcome, env=env, pid=terminal)
