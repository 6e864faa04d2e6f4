"""The supervisor's process, started by `run`: one request on stdin, then words that steer it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import uuid
from collections.abc import Mapping
from typing import Any

from ralphloop.agents import claude, nested
from ralphloop.cli import opening
from ralphloop.cli.book import opened
from ralphloop.cli.errors import UserError
from ralphloop.cli.here import Here, pick
from ralphloop.cli.setup import PACKAGE
from ralphloop.domain import jsontext
from ralphloop.domain.model import LAYOUTS, SKIPPED
from ralphloop.domain.supervision import REGISTRATION
from ralphloop.evidence import commit
from ralphloop.hook import find, spending
from ralphloop.hook.stop import stop
from ralphloop.notify import send
from ralphloop.runner.agent_process import AgentProcess, end_strays
from ralphloop.runner.control import Control
from ralphloop.runner.custody import Begun, Custody
from ralphloop.runner.supervise import Supervisor, Surroundings
from ralphloop.runner.terms import Terms
from ralphloop.store import supervisor, tasks
from ralphloop.store.lock import BusyError
from ralphloop.store.loop import LoopFiles
from ralphloop.views.snapshot import state_of

READY, TAKEN = "ready", "taken"  # what is answered to the request


def run(_: argparse.Namespace) -> int:
    request = _request()
    place = Here(request["cwd"], os.environ)
    loop = pick(place, request["loop"])
    terms = Terms.from_json(request["terms"])
    try:
        with supervisor.lock(loop):
            control = Control(0, detached=terms.detached)
            _answer(READY)
            end_strays(loop.kept)  # of a supervisor before this one; two agents must not work at once
            crew = Crew(loop, terms, cwd=request["cwd"], env=_environment(place.env))
            crew.supervise(control)
            _tell(loop, place.env, terminal=0 if control.detached else request["terminal"])
    except BusyError:
        _answer(TAKEN)
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


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """The client's: no other client's marks, and our own command within reach of its shell."""
    found = nested.scrubbed(env)
    path = found.get("PATH") or os.defpath
    for folder in (os.path.dirname(sys.executable), os.path.join(os.path.dirname(PACKAGE), "bin")):
        if shutil.which("ralphloop", path=path) is None and os.access(
            os.path.join(folder, "ralphloop"), os.X_OK
        ):
            path = os.pathsep.join([path, folder])
    return {**found, "PATH": path}


class Crew:
    """What the runner needs to know of clients, hooks and texts."""

    def __init__(self, loop: LoopFiles, terms: Terms, *, cwd: str, env: Mapping[str, str]) -> None:
        self._loop = loop
        self._terms = terms
        self._cwd = cwd
        self._env = env

    def supervise(self, control: Control) -> None:
        custody = Custody(self._loop, self._terms, compose=self._compose)
        around = Surroundings(start=self._start, settle=self._settle, skip=self._skip, commit=self._commit)
        Supervisor(custody, control, around=around).run()

    def _compose(self, *about: Any) -> str:
        return opening.text(*about, cwd=self._cwd, env=self._env)

    def _start(self, begun: Begun) -> AgentProcess:
        command = claude.hook_command(PACKAGE, registration=REGISTRATION)
        words = claude.print_argv(
            session=begun.session,
            settings=json.dumps(claude.run_settings(command)),
            model=begun.model,
            fallback_model=self._terms.fallback_model,
            permission_mode=self._terms.permission_mode,
            budget_usd=self._budget_usd(),
        )
        owner = self._loop.kept
        return AgentProcess(words, cwd=self._cwd, env=self._env, prompt=begun.prompt, owner=owner)

    def _budget_usd(self) -> float:
        """What is left of the loop's dollars; the hook alone would only notice at the end of a turn."""
        most = self._loop.record.limits.cost_usd
        return max(0.01, most - spending.so_far(self._loop).cost_usd) if most else 0.0

    def _settle(self) -> str:
        """The rules on a stop that no session made."""
        payload = {
            "hook_event_name": "Stop",
            "session_id": self._loop.record.session,
            "prompt_id": str(uuid.uuid4()),
            "cwd": self._cwd,
        }
        call = find.Call(registration=REGISTRATION, layouts=LAYOUTS, env=self._env, cwd=self._cwd)
        said = jsontext.parse_object(stop(payload, call) or "{}")
        if said.get("decision") == "block":
            return str(said["reason"])
        context = said.get("hookSpecificOutput")
        return str(context["additionalContext"]) if isinstance(context, dict) else ""

    def _commit(self) -> None:
        """A hook that was killed has not committed what it had closed."""
        commit.catch_up(self._loop, cwd=self._cwd, env=self._env)

    def _skip(self, task: str) -> None:
        """The person at the view leaves the task out."""
        with opened(self._loop) as book:
            if book.task(task).done:
                tasks.mark(self._loop.record, [book.place(task)], done=False)
                book.task(task).done = False
            book.ledger.note(task, state=SKIPPED)
            book.save("skip", task=task)


def _tell(loop: LoopFiles, env: Mapping[str, str], *, terminal: int) -> None:
    state = state_of(loop)
    if state.outcome:
        send.tell(loop, state.outcome, env=env, pid=terminal)
