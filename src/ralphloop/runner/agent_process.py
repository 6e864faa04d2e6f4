"""The supervisor's side of a running client: its output by lines, and a sure end of all that it started."""

from __future__ import annotations

import binascii
import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from ralphloop.errors import AgentStartError, GuardianLostError
from ralphloop.runner.pipe import Lines, Pipe, write_all

GUARDIAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guardian.py")
MARK = "RALPHLOOP_GUARDED"  # by it a process is known whose guardian was killed

START_S = 30.0
# The guardian ends what it watches over within about four seconds.
CLOSING_S = 8.0
EXIT_S = 5.0
ROUNDS = 100
PAUSE_S = 0.02
STATE, STARTED = 0, 19  # fields of /proc/<pid>/stat, counted behind the name

_LOST = (
    "ralphloop: the process that watched over the agent was killed, and the agent with it. "
    "Perhaps the system did that for want of memory.\n"
)


class Ending(NamedTuple):
    """How a client ended: by an exit code or a signal; by neither if its guardian was killed."""

    code: int | None
    signal: int | None
    stderr: str  # the last of it


class AgentProcess:
    """A client behind its guardian. When this process is gone, however that came, so is the client soon."""

    def __init__(
        self, words: Sequence[str], *, cwd: str, env: Mapping[str, str], prompt: str, owner: str = ""
    ) -> None:
        if os.name != "posix":
            raise AgentStartError("ralphloop run needs a POSIX system: use Linux, macOS or WSL")
        self.pid: int | None = None
        self.ended: Ending | None = None
        self._mark = f"{owner}:{os.getpid()}.{secrets.token_hex(8)}"
        self._born: str | None = None
        self._lines = Lines()
        self._said = Lines()
        self._result: dict[str, Any] | None = None
        try:
            self._start(list(words), str(cwd), env, prompt)
        except OSError as error:
            raise AgentStartError(f"the agent cannot be started: {error}") from error

    def handles(self) -> list[int]:
        """Descriptors that become readable when `take` has something to do; none once it has ended."""
        return [pipe.handle for pipe in (self._output, self._reports) if pipe.is_open]

    def take(self) -> list[bytes]:
        """The lines that the client has written since, without waiting; then look whether it has ended.

        Only after a killed guardian this takes a moment, in which what it left is ended.
        """
        lines = self._lines.add(self._output.read())
        for line in self._said.add(self._reports.read()):
            self._result = _object(line)
        if self.ended is None and not self._reports.is_open:
            lines += self._finish()
        return lines

    def send(self, word: str) -> None:
        """`interrupt`, `terminate` or `kill`, to the client and all that it started."""
        if not self._control.closed:
            with contextlib.suppress(BrokenPipeError):  # it has ended, as `take` will tell
                os.write(self._control.fileno(), word.encode() + b"\n")

    def close(self) -> None:
        """Whatever happens, nothing of it is left; output that nobody took is lost."""
        self._control.close()
        deadline = time.monotonic() + CLOSING_S
        while self.ended is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self._guardian.kill()
            select.select(self.handles(), [], [], max(left_s, 1.0))
            self.take()

    def _start(self, words: list[str], cwd: str, env: Mapping[str, str], prompt: str) -> None:
        reading, writing = os.pipe()
        self._output = Pipe(reading)
        try:
            with tempfile.TemporaryFile() as file:  # has no name, so that nothing can leave it behind
                file.write(prompt.encode("utf-8", "replace"))
                file.seek(0)
                self._guardian = _guardian(file.fileno(), writing)
                request = {
                    "words": words, "cwd": cwd, "env": {**env, MARK: self._mark},
                    "prompt": file.fileno(), "output": writing,
                }  # fmt: skip
        except BaseException:
            self._output.close()
            raise
        finally:
            os.close(writing)
        self._control: IO[bytes] = _there(self._guardian.stdin)
        self._reports = Pipe(os.dup(_there(self._guardian.stdout).fileno()))
        _there(self._guardian.stdout).close()
        try:
            write_all(self._control.fileno(), json.dumps(request).encode() + b"\n")
            self._await_start(words[0], cwd)
        except BaseException:
            self.close()
            raise

    def _await_start(self, program: str, cwd: str) -> None:
        deadline = time.monotonic() + START_S
        said: list[bytes] = []
        while not said and self._reports.is_open and time.monotonic() < deadline:
            select.select([self._reports.handle], [], [], max(0.0, deadline - time.monotonic()))
            said = self._said.add(self._reports.read())
        first = _object(said[0]) if said else {}
        if "failed" in first:
            self._result = first
            raise AgentStartError(_why(first, program, cwd))
        if not isinstance(first.get("pid"), int):
            raise GuardianLostError(f"{program} was not started: the process that watches over it is gone.")
        self.pid = first["pid"]
        self._born = born(first["pid"])
        for line in said[1:]:  # a short life: it is over already
            self._result = _object(line)

    def _finish(self) -> list[bytes]:
        """The guardian is gone, and by its word all that it watched over; without that word we see to it."""
        try:
            self._guardian.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            self._guardian.kill()
            self._guardian.wait()
        if self._result is None:
            end_left(self.pid, born=self._born, mark=f"{MARK}={self._mark}")
        lines = self._lines.add(self._output.read()) + self._lines.rest()
        self._output.close()  # somebody who got away may hold it open
        self._control.close()
        self.ended = _ending(self._result)
        return lines


def _guardian(prompt: int, output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable or "python3", "-I", "-S", "-X", "utf8", GUARDIAN],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        bufsize=0, cwd="/", pass_fds=(prompt, output), start_new_session=True,
    )  # fmt: skip


def _why(failure: dict[str, Any], program: str, cwd: str) -> str:
    number = failure.get("errno") or 0
    reason = os.strerror(number) if number else "a zero byte in what it was to be given"
    if failure["failed"] == "folder":
        return f"{program} cannot be started in {cwd}: {reason}"
    return f"{program} cannot be started: {reason}. Is it installed, and found on PATH?"


def _ending(result: dict[str, Any] | None) -> Ending:
    if result is None:
        return Ending(None, None, _LOST)
    try:
        tail = binascii.a2b_base64(result.get("tail") or "")
    except ValueError:
        tail = b""
    return Ending(result.get("code"), result.get("signal"), tail.decode("utf-8", "replace"))


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _there(file: IO[bytes] | None) -> IO[bytes]:
    assert file is not None
    return file


def end_strays(owner: str) -> None:
    """End what clients of this owner left whose supervisor and guardian were both killed: a client dies with
    its guardian, what it had started does not."""
    end_left(None, born=None, mark=f"{MARK}={owner}:")


def born(pid: int) -> str | None:
    """When a process started, which tells it from a later one of the same number; None if it is not alive or
    nobody can tell."""
    fields = _fields(pid)
    return fields[STARTED] if fields and fields[STATE] != "Z" else None


def end_left(client: int | None, *, born: str | None, mark: str) -> None:
    """Kill what is ours, and what that started meanwhile, until nothing is left. `mark` is how an entry in
    its environment begins."""
    if client is not None and not os.path.isdir("/proc"):  # macOS: the client lives on, and has its number
        with contextlib.suppress(OSError):
            os.killpg(client, signal.SIGKILL)
    for _ in range(ROUNDS):
        left = list(_left(client, born, mark))
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):  # gone already
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


def _left(client: int | None, client_born: str | None, mark: str) -> Iterator[int]:
    # A session has its number to itself as long as one of it lives, its leader or not.
    is_ours = client is not None and born(client) in (client_born, None)
    names = os.listdir("/proc") if os.path.isdir("/proc") else []
    for pid in [int(name) for name in names if name.isdigit() and born(int(name)) is not None]:
        with contextlib.suppress(OSError):
            if pid != os.getpid() and ((is_ours and os.getsid(pid) == client) or _has(pid, mark)):
                yield pid


def _has(pid: int, mark: str) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as file:
        return any(entry.startswith(os.fsencode(mark)) for entry in file.read().split(b"\0"))


def _fields(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []
