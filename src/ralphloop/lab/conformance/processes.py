"""Runs commands so that nothing of them stays behind, however the run is ended; what each of them gave."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ralphloop.errors import TooMuchError
from ralphloop.lab.hook_call import HookAnswer, HookOutput, read_answer
from ralphloop.proof.keeper import adopt_orphans

LIMIT_S = 30.0
OUTPUT_MAX = 1_000_000  # bytes of each stream
CHUNK = 64 * 1024
PIECE = 512  # any pipe that is ready takes so much at once
PROC = Path("/proc")  # where there is none, nobody is found who left their group
ROUNDS, PAUSE_S = 100, 0.02  # somebody may fork while the others are ended


@dataclass(frozen=True)
class Answer:
    """Both streams and the exit code, which is None where the time ran out or the output was too much."""

    exit_code: int | None
    stdout: str
    stderr: str
    duration_ms: float
    is_cut: bool = False  # there was more output than is listened to
    event: str = "Stop"

    @property
    def said(self) -> dict[str, Any]:
        """The one JSON object on stdout; empty if there is none."""
        with contextlib.suppress(ValueError, RecursionError):
            value = parsed(self.stdout)
            return value if isinstance(value, dict) else {}
        return {}

    @property
    def heard(self) -> HookAnswer:
        """What the client makes of it."""
        return read_answer(
            self.event, "the hook", HookOutput(self.exit_code, self.stdout, self.stderr, self.duration_ms)
        )

    @property
    def blocks(self) -> bool:
        return self.said.get("decision") == "block"

    def text(self, key: str) -> str:
        value = self.said.get(key)
        return value if isinstance(value, str) else ""

    @property
    def context(self) -> str:
        specific = self.said.get("hookSpecificOutput")
        value = specific.get("additionalContext") if isinstance(specific, dict) else None
        return value if isinstance(value, str) else ""


def parsed(text: str) -> Any:
    """The value of a JSON text; ValueError for any other, also for NaN and the like, which clients refuse."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class Processes:
    """The processes that are running; closing it ends them all and lets no other begin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._ended: set[int] = set()
        self._closed = False

    def run(
        self,
        words: Sequence[str],
        *,
        data: bytes,
        env: Mapping[str, str],
        cwd: Path,
        limit_s: float = LIMIT_S,
    ) -> Answer:
        """Run to the end or the limit, in a group of its own, of which nothing is left then."""
        begun = time.perf_counter()
        process = self._start(words, env=env, cwd=cwd)
        heard = _Exchange(process, data, most=OUTPUT_MAX)
        code, is_cut = None, False
        with process:
            try:
                code = heard.finish(limit_s)
            except subprocess.TimeoutExpired:
                pass
            except TooMuchError:
                is_cut = True
            finally:
                _end_group(process.pid)
                with self._lock:
                    self._groups.discard(process.pid)
                    self._ended.add(process.pid)
        duration_ms = (time.perf_counter() - begun) * 1000
        out, err = (stream.decode("utf-8", "replace") for stream in (heard.out, heard.err))
        return Answer(code, out, err, duration_ms, is_cut)

    def _start(self, words: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with self._lock:
            if self._closed:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                list(words), cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe,
                bufsize=0, start_new_session=True,
            )  # fmt: skip
            self._groups.add(process.pid)
        return process

    def end_left(self, folder: Path) -> list[str]:
        """End those who left their group, known by the folder in their environment; their command lines.

        Members of groups that were ended already may not be gone yet, and are no news.
        """
        mark = os.fsencode(folder) + b"/"
        with self._lock:
            known = frozenset(self._ended)

        def is_left(pid: int) -> bool:
            return pid != os.getpid() and mark in _read(pid, "environ") and os.getpgid(pid) not in known

        return _end(is_left)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for group in self._groups:
                _end_group(group)


def _end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


class _Exchange:
    """What goes into one process and comes out of it; its streams are pipes without buffers."""

    def __init__(self, process: subprocess.Popen[bytes], data: bytes, *, most: int) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self._process = process
        self._data = memoryview(data)
        self._most = most

    def finish(self, limit_s: float) -> int:
        """The exit code.

        TooMuchError, or TimeoutExpired if it has not ended and closed its streams by then.
        """
        process, deadline = self._process, time.monotonic() + limit_s
        if not process.stdin or not process.stdout or not process.stderr:
            raise ValueError("all streams of the process must be pipes")
        with selectors.DefaultSelector() as streams:
            streams.register(process.stdin, selectors.EVENT_WRITE)
            streams.register(process.stdout, selectors.EVENT_READ, self.out)
            streams.register(process.stderr, selectors.EVENT_READ, self.err)
            while streams.get_map():
                ready = streams.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    raise subprocess.TimeoutExpired(process.args, limit_s)
                for key, _ in ready:
                    goes_on = self._give(process.stdin) if key.data is None else self._take(key.fd, key.data)
                    if not goes_on:
                        streams.unregister(key.fileobj)
            return process.wait(max(0.0, deadline - time.monotonic()))

    def _give(self, stdin: IO[bytes]) -> bool:
        try:
            given = os.write(stdin.fileno(), self._data[:PIECE])
        except BrokenPipeError:
            given = len(self._data)
        self._data = self._data[given:]
        if not self._data:
            stdin.close()
        return bool(self._data)

    def _take(self, handle: int, taken: bytearray) -> bool:
        data = os.read(handle, CHUNK)
        taken += data
        if len(taken) > self._most:
            raise TooMuchError
        return bool(data)


@contextlib.contextmanager
def none_left() -> Iterator[None]:
    """Adopt who loses their parent meanwhile, and end all children afterwards: for a program of its own."""
    adopting = adopt_orphans()
    try:
        yield
    finally:
        if adopting:
            _end(lambda pid: _parent(pid) == os.getpid())


def _end(is_meant: Callable[[int], bool]) -> list[str]:
    ended: dict[int, str] = {}
    for _ in range(ROUNDS):
        found = [pid for pid in _pids() if _holds(is_meant, pid)]
        if not found:
            break
        for pid in found:
            ended.setdefault(pid, _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace"))
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)
        for pid in ended:
            with contextlib.suppress(OSError):  # not adopted by us
                os.waitpid(pid, os.WNOHANG)
    return list(ended.values())


def _pids() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir(PROC) if name.isdecimal()]
    return []


def _holds(is_meant: Callable[[int], bool], pid: int) -> bool:
    with contextlib.suppress(OSError):  # it has ended, or is another user's
        return is_meant(pid)
    return False


def _read(pid: int, name: str) -> bytes:
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / name).read_bytes()
    return b""


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0
