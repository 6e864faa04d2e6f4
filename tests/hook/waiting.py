"""A hook that stays after an API error, as a terminal's client has it: in the background, until it exits."""

from __future__ import annotations

import json
import subprocess
from types import TracebackType
from typing import Any

from fakes.patience import SOON_S, eventually
from hook.harness import LoopProject
from ralphloop.hook.wire import Wake
from ralphloop.store import supervisor

LIMITED = {
    "error": "rate_limit",
    "last_assistant_message": "API Error: 429 · slow down, try again in 2 seconds",
}
LATER = {"error": "rate_limit", "last_assistant_message": "API Error: 429 · try again in 6 seconds"}
HOUR = {"error": "rate_limit", "last_assistant_message": "API Error: 429 · try again in 1 hour"}


def attended(project: LoopProject, **settings: str) -> LoopProject:
    """The same project with a person at the terminal, and waits that a test can sit out."""
    project.extra_env.update(
        {"CLAUDE_CODE_SESSION_ATTENDED": "1", "RALPHLOOP_RESET_MARGIN": "0s", "RALPHLOOP_BACKOFF": "1s"}
    )
    project.extra_env.update(settings)
    return project


def shown_waker(project: LoopProject) -> int:
    """The process that the loop's state names, if it waits."""
    loop = project.the_loop()
    state = loop.load()
    return supervisor.waker_of(loop, state) if state is not None else 0


class Waiting:
    """One StopFailure hook; a context manager that leaves no process behind."""

    def __init__(self, project: LoopProject, *, registration: str | None = None, **fields: Any) -> None:
        self.project = project
        data = json.dumps(project.payload("StopFailure", **fields)).encode()
        self.process = project.fork(data, event="StopFailure", registration=registration)

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        if not self.process.stdout.closed:
            self.process.communicate()

    def settled(self) -> Waiting:
        """Once it says of itself that it waits."""
        eventually(lambda: self.is_shown() or self.process.poll() is not None, what="it never waits")
        assert self.process.poll() is None, self.process.communicate()
        return self

    def is_shown(self) -> bool:
        return shown_waker(self.project) == self.process.pid

    def wakes(self, deadline_s: float = SOON_S) -> str:
        """What it tells the session, once it is time."""
        out, err = self.process.communicate(timeout=deadline_s)
        assert (self.process.returncode, out) == (Wake.CODE, b""), (self.process.returncode, out, err)
        self._check_errors()
        return err.decode()

    def leaves(self, after: str = "", deadline_s: float = SOON_S) -> None:
        """It goes without a word."""
        try:
            said = self.process.communicate(timeout=deadline_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it still waits {after}") from None
        assert (self.process.returncode, *said) == (0, b"", b""), after
        self._check_errors()

    def _check_errors(self) -> None:
        errors = self.project.state_home / "errors.log"
        assert not errors.exists(), errors.read_text()
