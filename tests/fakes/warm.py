"""Runs the command line or the hook as a process that need not start an interpreter: one that has imported
everything waits per test process, and forks.

`test_warm.py` shows that it is as a real start. Where an environment would make another interpreter (another
locale, or `PYTHON…`), and where `real` is said, one is started. What a warm hook lacks is the launcher
with its bundle, the isolation of `-I -S`, and the small `ralphloop.system`: it is `os` here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

SERVER = Path(__file__).with_name("warm_server.py")
LAUNCHER = Path(__file__).resolve().parents[2] / "src/ralphloop/hook/launch.py"
LONGEST_S = 60.0
COMMAND_LINE, HOOK, SCRIPT = "command line", "hook", "script"  # of a script, its path is the first word
STARTS = {
    COMMAND_LINE: [sys.executable, "-m", "ralphloop"],
    HOOK: [sys.executable, "-I", "-S", str(LAUNCHER)],
    SCRIPT: [sys.executable],
}
LOCALE = ("LANG", "LC_ALL", "LC_CTYPE", "LANGUAGE")
LOCALES: tuple[dict[str, str], ...] = ({"LANG": "C.UTF-8"}, {})
# Python 3.12 refuses forkpty beside running threads, so the process takes the terminal by itself.
TAKE = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
CLOSED = object()  # a stream that the process does not have at all


class Ended(NamedTuple):
    """`code` is negative for a process that a signal has ended, by the signal's number."""

    code: int
    stdout: bytes
    stderr: bytes


def run(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | Path,
    stdin: bytes = b"",
    program: str = COMMAND_LINE,
    longest_s: float = LONGEST_S,
    real: bool = False,
) -> Ended:
    """What became of `words` behind the program's name; what takes too long is killed, and an error."""
    process = start(words, env=env, cwd=cwd, program=program, real=real)
    try:
        out, err = process.communicate(stdin, timeout=longest_s)
    except BaseException:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        raise
    assert process.returncode is not None
    return Ended(process.returncode, out, err)


def start(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | Path,
    program: str = COMMAND_LINE,
    stdin: Any = subprocess.PIPE,
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
    start_new_session: bool = False,
    takes_terminal: bool = False,
    real: bool = False,
) -> Process | subprocess.Popen[bytes]:
    """A process under way; its streams are what `Popen` takes, or `CLOSED`. In a session of its own it may
    take its stdin for the terminal that controls it."""
    locale = {name: env[name] for name in LOCALE if name in env}
    is_changed = program != HOOK and any(name.startswith("PYTHON") for name in env)
    if real or is_changed or locale not in LOCALES:
        assert CLOSED not in (stdin, stdout, stderr), "only a warm interpreter can do without a stream"
        return subprocess.Popen(
            [*([sys.executable, "-ISc", TAKE] if takes_terminal else []), *STARTS[program], *words],
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=start_new_session,
        )
    os.stat(os.path.join(cwd, ""))  # as starting a process there would
    request = {
        "program": program,
        "argv": list(map(os.fspath, words)),
        "env": dict(env),
        "cwd": os.fspath(os.path.abspath(cwd)),
        "umask": _umask(),
        "own_session": start_new_session,
        "takes_terminal": takes_terminal,
    }
    return Process(_server(locale), request, (stdin, stdout, stderr))


class Process:
    """What `subprocess.Popen` is, of a process that the warm interpreter forked."""

    def __init__(self, server: Server, request: dict[str, Any], streams: tuple[Any, Any, Any]) -> None:
        self.args = request["argv"]
        self.returncode: int | None = None
        self._channel, its_channel = socket.socketpair()
        with contextlib.ExitStack() as theirs:
            theirs.push(its_channel)
            ends = [_ends(place, kind, theirs) for place, kind in enumerate(streams)]
            self.stdin, self.stdout, self.stderr = (ours for ours, _ in ends)
            handles = {place: its for place, (_, its) in enumerate(ends) if its is not None}
            if streams[2] == subprocess.STDOUT:
                handles[2] = handles[1]
            request["streams"] = list(handles)
            server.ask(request, [its_channel.fileno(), *handles.values()])
        self._told = self._channel.makefile("rb")
        self.pid = self._number()

    def _number(self) -> int:
        line = self._told.readline()
        assert line, "the warm interpreter is gone"
        return int(line)

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(timeout=0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._channel, selectors.EVENT_READ)
                if not selector.select(timeout):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self.returncode = self._number()
            self._told.close()
            self._channel.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:  # noqa: A002 - as in Popen
        due_s = None if timeout is None else time.monotonic() + timeout
        heard: dict[Any, list[bytes]] = {self.stdout: [], self.stderr: []}
        rest = memoryview(input or b"")
        with selectors.DefaultSelector() as selector:
            if self.stdin is not None and not self.stdin.closed:
                with contextlib.suppress(BrokenPipeError):
                    self.stdin.flush()
                os.set_blocking(self.stdin.fileno(), False)
                selector.register(self.stdin, selectors.EVENT_WRITE)
            for stream in filter(None, heard):
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(_left(due_s))
                if not ready and due_s is not None:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
                for key, _ in ready:
                    if key.fileobj is self.stdin:
                        rest, more = _written(self.stdin, rest)
                    else:
                        data = os.read(key.fd, 1 << 16)
                        heard[key.fileobj].append(data)
                        more = bool(data)
                    if not more:
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]
        self.wait(_left(due_s))
        return b"".join(heard[self.stdout]), b"".join(heard[self.stderr])

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


class Server:
    """The warm interpreter, seen from the process that asks; it ends with that process."""

    def __init__(self, locale: Mapping[str, str]) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._socket, its = socket.socketpair()
        with its:
            self.process = subprocess.Popen(
                [sys.executable, str(SERVER), str(its.fileno()), json.dumps(list(locale))],
                env=locale,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
            )
        atexit.register(self.close)

    def ask(self, request: dict[str, Any], handles: list[int]) -> None:
        text = json.dumps(request).encode()
        data = len(text).to_bytes(4, "little") + text
        with self._lock:
            sent = socket.send_fds(self._socket, [data], handles)
            self._socket.sendall(data[sent:])

    def close(self) -> None:
        if self.owner == os.getpid():
            self._socket.close()
            self.process.wait()


_servers: dict[tuple[tuple[str, str], ...], Server] = {}
_starting = threading.Lock()


def _server(locale: Mapping[str, str]) -> Server:
    key = tuple(sorted(locale.items()))
    with _starting:
        found = _servers.get(key)
        if found is None or found.owner != os.getpid() or found.process.poll() is not None:
            found = _servers[key] = Server(locale)
        return found


def _ends(place: int, kind: Any, theirs: contextlib.ExitStack) -> tuple[IO[bytes] | None, int | None]:
    """Our end of a stream, if there is one, and the number of the process's."""
    if kind is CLOSED or (place == 2 and kind == subprocess.STDOUT):
        return None, None
    if kind is None:
        return None, place
    if kind == subprocess.DEVNULL:
        handle = os.open(os.devnull, os.O_RDWR)
        theirs.callback(os.close, handle)
        return None, handle
    if kind != subprocess.PIPE:
        return None, kind if isinstance(kind, int) else kind.fileno()
    reading, writing = os.pipe()
    its, ours = (reading, writing) if place == 0 else (writing, reading)
    theirs.callback(os.close, its)
    return open(ours, "wb" if place == 0 else "rb"), its


def _written(stream: IO[bytes], data: memoryview) -> tuple[memoryview, bool]:
    """What is left of it, and whether the other side may still want it."""
    try:
        left = data[os.write(stream.fileno(), data) :] if data else data
    except BlockingIOError:
        return data, True
    except BrokenPipeError:
        return data[:0], False
    return left, bool(left)


def _left(due_s: float | None) -> float | None:
    return None if due_s is None else max(0.0, due_s - time.monotonic())


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found
