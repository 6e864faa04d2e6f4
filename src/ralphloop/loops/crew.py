"""Starts the supervisor of a loop as a process of its own, and holds the line to it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys

from ralphloop.errors import BusyError, UserError
from ralphloop.loops.opened import driven_already
from ralphloop.loops.place import Place
from ralphloop.loops.setup import PACKAGE
from ralphloop.runner.session_terms import Terms
from ralphloop.store import files, supervisor
from ralphloop.store.loop import LoopFiles

READY, TAKEN = "ready", "taken"  # what a supervisor answers to its request
START_S = 120.0  # in which it must answer, also on a busy machine
LOG = "run.log"  # in the loop's folder: what the supervisor itself could not cope with


class Supervised:
    """A loop with its supervisor; the view steers it through this."""

    def __init__(self, loop: LoopFiles, terms: Terms, *, place: Place, cwd: str) -> None:
        self.loop = loop
        log = files.open_to_append(loop.path(LOG))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", PACKAGE, "supervise"],
                cwd=cwd, env=dict(place.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(log)
        request = {"loop": loop.record.id, "cwd": cwd, "terms": terms.to_json(), "terminal": os.getpid()}
        self._write(json.dumps(request))
        self._await_start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _await_start(self) -> None:
        assert self._process.stdout is not None, "it is a pipe"
        if not select.select([self._process.stdout], [], [], START_S)[0]:
            self._process.kill()  # a process that stands still would hold up whoever waits here
        said = self._process.stdout.readline().decode().strip()
        self._process.stdout.close()
        if said == READY:
            return
        self._process.wait()
        if said:
            raise driven_already(self.loop)
        raise UserError(f"the supervisor did not start; {self.loop.path(LOG)} says why.")

    def send(self, word: str) -> None:
        """As `views.live.controls.Driver` wants it."""
        with contextlib.suppress(OSError):  # a supervisor that is gone shows as ended
            self._write(word)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> int:
        code = self._process.wait()
        if code:  # it may have been killed together with the process that watches over the client
            from ralphloop.runner.agent_process import end_strays

            with contextlib.suppress(BusyError), supervisor.lock(self.loop):
                end_strays(self.loop.kept)
        return code

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
