"""The supervisor's process, started by `run`: one request on stdin, then words that steer it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import uuid
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any

from ralphloop.agents import nested
from ralphloop.agents.registry import client
from ralphloop.agents.transcript_place import transcript_of
from ralphloop.cli import run_branch
from ralphloop.cli.book import opened
from ralphloop.cli.here import Here, pick
from ralphloop.cli.run_terms import must_be_allowed, program_at
from ralphloop.cli.setup import PACKAGE
from ralphloop.cli.skip import leave_out
from ralphloop.domain.limits import overspent
from ralphloop.domain.model import LAYOUTS, StopEvent
from ralphloop.domain.supervision import REGISTRATION
from ralphloop.engine import find, spending
from ralphloop.engine.stop import decision_on
from ralphloop.errors import AgentStartError, BusyError, UserError
from ralphloop.evidence import commit
from ralphloop.notify import send
from ralphloop.runner import opening
from ralphloop.runner.agent_process import AgentProcess, end_strays
from ralphloop.runner.control import Control
from ralphloop.runner.custody import Begun, Custody
from ralphloop.runner.supervise import Supervisor, Surroundings
from ralphloop.runner.terms import Terms
from ralphloop.store import supervisor
from ralphloop.store.loop import LoopFiles

WORD_MAX = 200
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
        run_branch.forget_what_was_left(loop)
        end_strays(loop.kept)  # of a supervisor before this one; two agents must not work at once
        Crew(loop, terms, cwd=request["cwd"], env=_environment(place.env)).supervise(control)
        run_branch.note_what_is_left(loop, terms, cwd=request["cwd"], env=place.env)
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


def is_word(text: str) -> bool:
    """Whether it can be handed on to a program as one value."""
    return len(text) <= WORD_MAX and text.isprintable() and not text.startswith("-")


class Crew:
    """What the runner needs to know of clients, hooks and texts."""

    def __init__(self, loop: LoopFiles, terms: Terms, *, cwd: str, env: Mapping[str, str]) -> None:
        self._loop = loop
        self._terms = terms
        self._client = client(terms.agent)
        self._cwd = cwd
        self._env = env

    def supervise(self, control: Control) -> None:
        custody = Custody(self._loop, self._terms, compose=self._compose)
        around = Surroundings(
            start=self._start,
            parse=self._client.parse,
            settle=self._settle,
            skip=self._skip,
            commit=self._commit,
            account=self._account,
        )
        Supervisor(custody, control, around=around).run()

    def _compose(self, *about: Any) -> str:
        return opening.text(*about, cwd=self._cwd, env=self._env)

    def _start(self, begun: Begun) -> AgentProcess:
        command = self._client.hook_command(PACKAGE, registration=REGISTRATION)
        words = self._client.print_argv(
            session=begun.session,
            settings=json.dumps(self._client.run_settings(command)),
            model=begun.model,
            fallback_model=self._terms.fallback_model,
            permission_mode=self._terms.permission_mode,
            budget_usd=self._budget_usd(),
        )
        owner = self._loop.kept
        words[0] = program_at(words[0], self._env) or words[0]
        if not is_word(begun.model):
            raise AgentStartError(f"the model of task {begun.task} is no name of a model: repair the list")
        return AgentProcess(words, cwd=self._cwd, env=self._env, prompt=begun.prompt, owner=owner)

    def _budget_usd(self) -> float:
        """What is left of the loop's dollars; the hook alone would only notice at the end of a turn."""
        most = self._loop.record.limits.cost_usd
        return max(0.01, most - spending.so_far(self._loop).cost_usd) if most else 0.0

    def _settle(self) -> str:
        """The rules on a stop that no session made."""
        event = StopEvent(session=self._loop.record.session, cwd=self._cwd, prompt=str(uuid.uuid4()))
        call = find.Call(registration=REGISTRATION, layouts=LAYOUTS, env=self._env, cwd=self._cwd)
        decided = decision_on(event, call)
        return decided[0].reason if decided is not None and decided[0].blocks else ""

    def _commit(self) -> None:
        """A hook that was killed has not committed what it had closed."""
        with suppress(BusyError):  # the next session's end tries again
            commit.catch_up(self._loop, cwd=self._cwd, env=self._env)

    def _account(self, begun: Begun) -> str:
        """A session that came to no stop has spent as well."""
        loop = self._loop
        with loop.lock():
            state = loop.state()
            path = transcript_of(begun.session, root=loop.record.root, known=state.transcripts, env=self._env)
            if path and path not in state.transcripts:
                state.note_transcript(path)
                loop.save(state)
            if not path or not loop.record.limits.budgeted:
                return ""
            return overspent(spending.count(loop, state, path), loop.record.limits)[1]

    def _skip(self, task: str) -> bool:
        """The person at the view leaves the task at hand out; they see it if that did not work."""
        try:
            with opened(self._loop) as book:
                return leave_out(book, task)
        except UserError:
            return False


def _tell(loop: LoopFiles, env: Mapping[str, str], *, terminal: int) -> None:
    state = loop.state()
    if state.outcome:
        send.tell(loop, state.outcome, env=env, pid=terminal)
