"""An interpreter that has imported the program, and forks a child for each request to run it.

A request comes over the socket whose number is the first argument: the size of a JSON object, the object, and
with them the descriptors of a channel and of the child's streams. Down the channel go the child's number and,
when it has ended, its exit code. When the socket closes, what still runs is killed.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import termios
import threading
import time
import traceback
from typing import Any

MODES = {0: "r", 1: "w", 2: "w"}
NAMES = {0: "stdin", 1: "stdout", 2: "stderr"}
# Not modules but scripts, and one that runs with names set by its caller.
LEFT_OUT = ("ralphloop.__main__", "ralphloop.hook.launch", "ralphloop.hook.finder")


class Server:
    def __init__(self, asked: socket.socket, added: dict[str, str]) -> None:
        self.asked = asked
        self.added = added  # what this interpreter put into its own environment when it started
        self.channels: dict[int, socket.socket] = {}
        self.ended, self.alarm = os.pipe()
        self.at_exit = atexit._ncallbacks()

    def serve(self) -> Child | None:
        """In a child, what it is to do; None in the server, when its socket has closed."""
        os.set_blocking(self.alarm, False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for whoever asks
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.alarm, warn_on_full_buffer=False)
        while True:
            ready, _, _ = select.select([self.asked, self.ended], [], [])
            if self.ended in ready:
                os.read(self.ended, 4096)
                self.report()
            if self.asked not in ready:
                continue
            found = self.receive()
            if found is None:
                return self.end()
            child = self.fork(*found)
            if child is not None:
                return child

    def receive(self) -> tuple[dict[str, Any], list[int]] | None:
        handles = array.array("i")
        space = socket.CMSG_SPACE(4 * handles.itemsize)
        size, sent, *_ = self.asked.recvmsg(4, space, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        if not size:
            return None
        for _, _, data in sent:
            handles.frombytes(data[: len(data) - len(data) % handles.itemsize])
        with self.asked.makefile("rb", buffering=0) as stream:
            size += stream.read(4 - len(size)) or b""
            text = b""
            while len(text) < int.from_bytes(size, "little"):
                text += stream.read(int.from_bytes(size, "little") - len(text)) or b""
        return json.loads(text), list(handles)

    def fork(self, request: dict[str, Any], handles: list[int]) -> Child | None:
        channel, *streams = handles
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.forget(channel)
            return Child(request, streams, self.added, self.at_exit)
        for handle in streams:
            os.close(handle)
        self.channels[pid] = socket.socket(fileno=channel)
        self.tell(pid, pid)
        return None

    def forget(self, channel: int) -> None:
        """No child has more open than a process that was just started."""
        for other in self.channels.values():
            other.close()
        os.close(channel)
        self.asked.close()
        os.close(self.ended)
        os.close(self.alarm)

    def tell(self, pid: int, number: int) -> None:
        with contextlib.suppress(OSError):  # nobody waits for it any more
            self.channels[pid].sendall(b"%d\n" % number)

    def report(self, options: int = os.WNOHANG) -> None:
        while self.channels:
            pid, status = os.waitpid(-1, options)
            if not pid:
                return
            self.tell(pid, os.waitstatus_to_exitcode(status))
            self.channels.pop(pid).close()

    def end(self) -> None:
        for pid in self.channels:
            os.kill(pid, signal.SIGKILL)  # one that has ended is still ours until it is waited for
        self.report(options=0)


class Child:
    """A process that was just forked, and makes itself what a fresh start would have been."""

    def __init__(
        self, request: dict[str, Any], streams: list[int], added: dict[str, str], at_exit: int
    ) -> None:
        self.request = request
        self.streams = streams
        self.added = added
        self.at_exit = at_exit

    def run(self) -> None:
        try:
            self.become()
            code = _code(self.work)
        except KeyboardInterrupt:
            _die_of_interrupt()
        except BaseException:
            _print_error()
            code = 1
        if self.is_done():
            os._exit(code & 0xFF)
        sys.exit(code)  # the interpreter ends as it does

    def become(self) -> None:
        if self.request["own_session"]:
            os.setsid()
        os.umask(self.request["umask"])
        places = self.request["streams"]
        for place, handle in zip(places, self.streams, strict=True):
            os.dup2(handle, place)
        for handle in self.streams:
            os.close(handle)
        for place in set(NAMES) - set(places):
            os.close(place)
        if self.request["takes_terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.environ.clear()
        os.environ.update({**self.added, **self.request["env"]})
        time.tzset()
        os.chdir(self.request["cwd"])
        for place in NAMES:
            _renew(place, is_open=place in places)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def work(self) -> None:
        words = self.request["argv"]
        if self.request["program"] == "hook":
            from ralphloop.hook import main as hook

            gc.disable()
            del sys.path[0]
            sys.argv = [os.path.join(os.path.dirname(hook.__file__), "launch.py"), *words]
            hook.main(words)
        elif self.request["program"] == "script":
            sys.path[0] = os.path.dirname(os.path.realpath(words[0]))
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
        else:
            sys.path[0] = os.getcwd()
            sys.argv = ["-m", *words]
            runpy.run_module("ralphloop", run_name="__main__", alter_sys=True)

    def is_done(self) -> bool:
        """Whether the end of the interpreter would do nothing more that anybody sees."""
        try:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
        except (OSError, ValueError):
            return False
        return threading.active_count() == 1 and atexit._ncallbacks() == self.at_exit


def _renew(place: int, *, is_open: bool) -> None:
    name, mode = NAMES[place], MODES[place]
    before = getattr(sys, name)
    stream = None
    if is_open:
        raw = open(place, mode + "b", closefd=False)  # noqa: SIM115 - for as long as this process lives
        raw.raw.name = f"<{name}>"
        stream = io.TextIOWrapper(
            raw,
            encoding=before.encoding,
            errors=before.errors,
            newline="\n" if mode == "w" else None,
            line_buffering=name == "stderr" or raw.raw.isatty(),
        )
        stream.mode = mode
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


def _code(work: Any) -> int:
    try:
        work()
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)
        return 1
    return 0


def _print_error() -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            traceback.print_exc()


def _die_of_interrupt() -> None:
    _print_error()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _fsync(handle: Any) -> None:
    os.fstat(handle if isinstance(handle, int) else handle.fileno())


def _import_everything() -> None:
    import ralphloop

    for module in pkgutil.walk_packages(ralphloop.__path__, "ralphloop."):
        if module.name not in LEFT_OUT:
            importlib.import_module(module.name)


def main() -> None:
    given = json.loads(sys.argv[2])
    added = {name: text for name, text in os.environ.items() if name not in given}
    os.fsync = _fsync  # no test cuts the power, and a disk takes longer than a command
    _import_everything()
    gc.collect()
    gc.freeze()
    child = Server(socket.socket(fileno=int(sys.argv[1])), added).serve()
    if child is not None:
        child.run()


if __name__ == "__main__":
    main()
