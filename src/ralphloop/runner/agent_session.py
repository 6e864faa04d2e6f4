"""One session from its start to its end: its output, its deadlines, and what the person says meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ralphloop.agents.event import Event, Limit, Result, Retry
from ralphloop.agents.presence import scrubbed
from ralphloop.agents.registry import program_at
from ralphloop.domain.model import CANCELLED, REGISTRATION
from ralphloop.engine import account
from ralphloop.engine.words import package
from ralphloop.errors import AgentStartError
from ralphloop.runner import control, judge
from ralphloop.runner.agent_process import AgentProcess
from ralphloop.runner.control import Control, Deadline
from ralphloop.runner.judge import Session
from ralphloop.runner.loop_access import Begun, LoopAccess
from ralphloop.store import supervisor
from ralphloop.store.loop import LoopFiles

if TYPE_CHECKING:
    from ralphloop.agents.client import Client

WORD_MAX = 200
# between interrupt, terminate and kill; nobody is left to wait where the command that started us is gone
GRACES_S, HASTE_S = (5.0, 5.0), (1.0, 1.0)
DEAF_S = 5.0
# Answers 401 to one request, in a row. The client renews an expired token after the first, and sends the
# request again up to ten times, for three minutes (2.1.325); the third comes after about two seconds.
REFUSALS = 3
INTERRUPT, TERMINATE, KILL = "interrupt", "terminate", "kill"


def start(begun: Begun, access: LoopAccess, agent: Client) -> AgentProcess:
    """AgentStartError if it cannot be started."""
    terms, loop, env = access.terms, access.loop, access.env
    command = agent.program.hook_command(package(), registration=REGISTRATION)
    words = agent.program.print_argv(
        session=begun.session,
        settings=json.dumps(agent.program.run_settings(command)),
        model=begun.model,
        fallback_model=terms.fallback_model,
        permission_mode=terms.permission_mode,
        budget_usd=_budget_usd(loop),
    )
    words[0] = program_at(words[0], env) or words[0]
    if not _is_word(begun.model):
        raise AgentStartError(f"the model of task {begun.task} is no name of a model: repair the list")
    return AgentProcess(words, cwd=access.cwd, env=env, prompt=begun.prompt, owner=loop.kept)


def _budget_usd(loop: LoopFiles) -> float:
    """What is left of the loop's dollars; the hook alone would only notice at the end of a turn."""
    most = loop.record.limits.cost_usd
    return max(0.01, most - account.so_far(loop).cost_usd) if most else 0.0


def _is_word(text: str) -> bool:
    """Whether it can be handed on to a program as one value."""
    return len(text) <= WORD_MAX and text.isprintable() and not text.startswith("-")


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """The client's: no other client's marks, and our own command within reach of its shell."""
    found = scrubbed(env)
    path = found.get("PATH") or os.defpath
    for folder in (os.path.dirname(sys.executable), os.path.join(os.path.dirname(package()), "bin")):
        is_there = os.access(os.path.join(folder, "ralphloop"), os.X_OK)
        if is_there and shutil.which("ralphloop", path=path) is None:
            path = os.pathsep.join([path, folder])
    return {**found, "PATH": path}


class Drive:
    """`parse` says what a line of the client means."""

    def __init__(
        self,
        process: AgentProcess,
        control_: Control,
        *,
        access: LoopAccess,
        begun: Begun,
        parse: Callable[[bytes], Event | None],
    ) -> None:
        self._process = process
        self._control = control_
        self._access = access
        self._begun = begun
        self._parse = parse
        self._idle = Deadline(access.terms.idle_s)
        self._time = Deadline(begun.time_left_s)
        self._added_s = 0.0
        self._glance = Deadline(control.STEP_S)  # at the loop's state, however much the client says
        self._escalation: Escalation | None = None
        self._last = Deadline(DEAF_S)  # since the last word that can be said
        self._result: Result | None = None
        self._resets_at: float | None = None
        self._refusals, self._refused = 0, ""
        self._cut = ""

    def run(self) -> Session:
        """How it ended, what it reported last, and why we ended it, if we did."""
        try:
            while self._process.ended is None and not self._is_deaf():
                self._control.wait(self._process.handles())
                self._listen()
                for word in self._control.take():
                    self._obey(word)
                self._look_around()
        finally:
            self._process.close()
        assert self._process.ended is not None, "closing waits for the end"
        told = self._refused if self._cut == judge.LOGIN else ""
        return Session(self._process.ended, self._result, self._cut, told, resets_at=self._resets_at)

    def _is_deaf(self) -> bool:
        """Whether not even a kill was obeyed: then closing ends the guardian, too."""
        return self._escalation is not None and self._escalation.is_spent and self._last.is_over()

    def _listen(self) -> None:
        # Garbage is no sign of life, and not worth a look.
        lines = [line for line in self._process.take() if line.startswith(b"{")]
        if lines:
            self._idle.reset()
        for line in lines:
            event = self._parse(line)
            if isinstance(event, Result):
                self._result = event
            elif isinstance(event, Limit) and event.status == "rejected":
                self._resets_at = event.resets_at
            elif isinstance(event, Retry):
                self._note(event)

    def _note(self, retry: Retry) -> None:
        """A login does not come back by itself, and nobody hears of it while the client tries again."""
        before = self._refusals if retry.attempt > 1 else 0
        self._refusals = before + 1 if retry.refuses_login else 0
        self._refused = f"{retry.status or ''} {retry.error}".strip()
        if self._refusals >= REFUSALS:
            self._end(judge.LOGIN)

    def _obey(self, word: str) -> None:
        if word == supervisor.PAUSE:
            self._access.ask_to_pause()
        elif word == supervisor.SKIP_TASK:
            if self._access.skip():
                self._end(judge.SKIP)
        elif word in (supervisor.INTERRUPT, supervisor.KILL):
            self._end(judge.INTERRUPT)
        elif word == control.GONE:
            self._end(judge.GONE)
        if word == supervisor.KILL and self._escalation is not None:
            self._last.reset()
            self._escalation.jump()

    def _look_around(self) -> None:
        if self._escalation is not None:
            if not self._escalation.is_spent:
                self._last.reset()
            self._escalation.step(time.monotonic())
        elif self._idle.is_over():
            self._end(judge.IDLE)
        elif self._time.is_over():
            self._take_time()
            if self._time.is_over():
                self._end(judge.TIME)
        elif self._glance.is_over():
            self._glance.reset()
            self._take_time()
            if self._access.state().outcome == CANCELLED:
                self._end(judge.HALT)

    def _take_time(self) -> None:
        """What the person has added since the session began, or taken away."""
        more_s = self._access.more_time_s(self._begun)
        if more_s != self._added_s:
            left_s = self._time.left() + more_s - self._added_s
            self._time, self._added_s = Deadline(max(0.0, left_s)), more_s

    def _end(self, why: str) -> None:
        """Politely first; the first reason is the one that counts."""
        self._cut = self._cut or why
        if self._escalation is None:
            self._escalation = Escalation(
                self._process.send, graces_s=HASTE_S if why == judge.GONE else GRACES_S
            )
            self._escalation.step(time.monotonic())


class Escalation:
    """Ends a client that does not want to: interrupt, terminate, kill, with time to obey between them."""

    def __init__(self, send: Callable[[str], None], *, graces_s: tuple[float, float] = (5.0, 5.0)) -> None:
        self._send = send
        self._steps = [(INTERRUPT, graces_s[0]), (TERMINATE, graces_s[1]), (KILL, 0.0)]
        self._due: float | None = None

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left to say."""
        return not self._steps

    def jump(self) -> None:
        """Straight to the last word."""
        self._steps = []
        self._send(KILL)

    def step(self, now: float) -> float | None:
        """Say the next word if its time has come; the seconds until the one after it, None after the last."""
        while self._steps and (self._due is None or now >= self._due):
            word, grace_s = self._steps.pop(0)
            self._send(word)
            self._due = now + grace_s
        return self._due - now if self._steps and self._due is not None else None
