"""A loop's supervisor: a process of its own, started and steered, and how often the service had to."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
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
        from ralphloop.runner.agent_process import end_strays  # now: the package may be updated meanwhile

        self._end_strays = end_strays
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
        """As `views.live.show.Driver` wants it."""
        with contextlib.suppress(OSError):  # a supervisor that is gone shows as ended
            self._write(word)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> int:
        code = self._process.wait()
        if code:  # it may have been killed together with the process that watches over the client
            with contextlib.suppress(BusyError), supervisor.lock(self.loop):
                self._end_strays(self.loop.kept)
        return code

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()


class Care(NamedTuple):
    """What the service has done about a loop so far; `kept/<loop id>/service.json` holds these fields."""

    starts: int = 0
    at: float = 0.0  # when the last of them was
    iteration: int = 0  # of the loop then
    why: str = ""  # the last one failed
    gave_up: bool = False
    silent: float = 0.0  # the last sign of life of a supervisor that the person was told of

    @classmethod
    def of(cls, loop: LoopFiles) -> Care:
        """Of tries that a turn has come after nothing is left."""
        said = files.read_object(cls._path(loop))
        usual: dict[str, Any] = cls()._asdict()
        care = cls(**{name: said[name] for name in usual if type(said.get(name)) is type(usual[name])})
        is_of_now = loop.state().iteration == care.iteration and care.starts >= 0
        return care if is_of_now else cls(silent=care.silent)

    def keep(self, loop: LoopFiles) -> None:
        files.make_folder(loop.kept)
        files.write_text(self._path(loop), jsontext.render(self._asdict()) + "\n")

    @classmethod
    def forget(cls, loop: LoopFiles) -> None:
        """A person drives it anew."""
        files.remove(cls._path(loop))

    @staticmethod
    def _path(loop: LoopFiles) -> str:
        return os.path.join(loop.kept, "service.json")
