"""One command and all that it starts: a process of its own, which outlives a killed parent just long enough
to end them.

`python3 -I -S keeper.py` reads a request line from stdin, says the command's process id on stdout, and when
everything has ended its result. Both are one socket, which no path opens; held open it means that somebody
still wants the command. Every check pays for this start, so little is imported, and what can wait is imported
while the command runs.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn
else:
    import _signal as signal  # what `signal` is made of, without its enumerations

GRACE_S = 1.0
PAUSE_S = 0.02
KILL_ROUNDS = 100
CHUNK = 64 * 1024
LAST_READS = 64
LONGEST_WAIT_S = 3600.0  # select() refuses an endless one
PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 3, 4, 36
CANNOT_RUN = 127

ENDED, TIMED_OUT, UNWANTED = "ended", "timed_out", "unwanted"
ASKED_TO_END = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
# A parent may ignore some of these, and an interpreter does; the command would inherit it.
PLAIN_SIGNALS = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD,
    signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGXFSZ,
)  # fmt: skip


class Output:
    """What the command wrote: counted and digested in full, only the end of it kept."""

    def __init__(self, handle: int, keep: int) -> None:
        from hashlib import sha256

        self.handle = handle
        self.size = 0
        self._keep = keep
        self._end = bytearray()
        self._digest = sha256()
        os.set_blocking(handle, False)

    def read(self) -> int:
        """How much came in: 0 after the last byte, less if there is nothing yet."""
        try:
            data = os.read(self.handle, CHUNK)
        except BlockingIOError:
            return -1
        self.add(data)
        return len(data)

    def read_rest(self) -> None:
        """What still lies in the pipe; somebody who got away may go on filling it."""
        for _ in range(LAST_READS):
            if self.read() <= 0:
                return

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self._digest.update(data)
        self._end += data
        if len(self._end) > 2 * self._keep + CHUNK:
            self._cut()

    def result(self) -> str:
        from binascii import b2a_base64

        self._cut()
        tail = b2a_base64(self._end, newline=False).decode()
        return f'"size": {self.size}, "sha256": "{self._digest.hexdigest()}", "tail": "{tail}"'

    def _cut(self) -> None:
        del self._end[: max(0, len(self._end) - self._keep)]


class Command:
    """A started command, its descendants, and how its main process ended."""

    def __init__(self, pid: int, output: Output, *, adopting: bool) -> None:
        self.pid = pid
        self.status: int | None = None
        self._output = output
        self._adopting = adopting

    def watch(self, wakeup: int, deadline: float) -> str:
        """Take in output until the main process has ended, its time is over, or nobody wants it any more.

        The end of the output says nothing: a command may close it and work on, a child may keep it open.
        """
        handles = [0, wakeup, self._output.handle]
        while True:
            left = min(max(deadline - time.monotonic(), 0.0), LONGEST_WAIT_S)
            ready = select.select(handles, [], [], left)[0]
            if self._output.handle in ready and self._output.read() == 0:
                handles.remove(self._output.handle)
            if 0 in ready and not heard():
                return UNWANTED
            if wakeup in ready and ASKED_TO_END.intersection(os.read(wakeup, CHUNK)):
                return UNWANTED
            self.reap()
            if self.status is not None:
                return ENDED
            if time.monotonic() >= deadline:
                return TIMED_OUT

    def end(self, grace_s: float = GRACE_S) -> None:
        """Leave nothing running: politely first, then not; a process of somebody else's may stay."""
        if self._none_left():
            return
        self.send(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while not self._none_left() and time.monotonic() < deadline:
            self._output.read_rest()
            time.sleep(PAUSE_S)
        for _ in range(KILL_ROUNDS):
            if self._none_left():
                return
            self.send(signal.SIGKILL)
            self._output.read_rest()
            time.sleep(PAUSE_S)

    def reap(self) -> bool:
        """Collect those who ended; whether there are children still."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = status

    def _none_left(self) -> bool:
        """Who adopts orphans and has no children has no descendants."""
        children = self.reap()
        return not (children if self._adopting else self._descendants())

    def send(self, number: int) -> None:
        # All at once, so that nobody in the group escapes by forking; then those who left the group.
        _kill(-self.pid, number)
        for pid in self._descendants():
            if _told(os.getpgid, pid) != self.pid:
                _kill(pid, number)

    def _descendants(self) -> set[int]:
        """Everything below this process, and what was orphaned into other hands but kept its session."""
        parents = dict(_processes())
        found: set[int] = set()
        level = {os.getpid()} | {pid for pid in parents if _told(os.getsid, pid) == self.pid}
        while level:
            found |= level
            level = {pid for pid, parent in parents.items() if parent in level} - found
        return found - {os.getpid()}


def _processes() -> Iterator[tuple[int, int]]:
    """Each living process of the machine and its parent."""
    try:
        names = os.listdir("/proc")
    except OSError:
        names = []
    if "self" not in names:  # macOS
        yield from _listed_processes()
    for name in names:
        try:
            with open(f"/proc/{int(name)}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except (ValueError, OSError):
            continue
        if fields[0] != b"Z":
            yield int(name), int(fields[1])


def _listed_processes() -> Iterator[tuple[int, int]]:
    import subprocess

    try:
        ps = subprocess.Popen(
            ["/bin/ps", "-axo", "pid=,ppid=,stat="], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return
    for line in ps.communicate()[0].splitlines():
        pid, parent, state = line.split()[:3]
        if int(pid) != ps.pid and not state.startswith(b"Z"):  # it lists itself, as our child
            yield int(pid), int(parent)


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # gone, or not ours to end


def _told(ask: Callable[[int], int], pid: int) -> int:
    try:
        return ask(pid)
    except OSError:
        return 0


def adopt_orphans() -> bool:
    """Become the parent of descendants who lose theirs, where the system can do that."""
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0


def prctl(option: int, value: int = 0) -> int:
    """Below 0 where that cannot be had."""
    if sys.platform != "linux":
        return -1
    try:
        import _ctypes  # what `ctypes` is made of, at a tenth of its price

        place = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        said: int = _ctypes.call_function(place, (option, value, 0, 0, 0))
    except (ImportError, OSError, AttributeError):
        return -1
    return said


def catch_signals() -> int:
    """A descriptor that becomes readable with the number of each signal that arrives."""
    wakeup, alarm = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    for number in (*ASKED_TO_END, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return wakeup


def heard() -> bytes:
    """Nothing once nobody speaks any more; a socket whose other end closed unread says so with an error."""
    try:
        return os.read(0, CHUNK)
    except OSError:
        return b""


def read_request() -> dict[str, Any] | None:
    """None if the parent went away before it had said all."""
    line = b""
    while not line.endswith(b"\n"):
        data = heard()
        if not data:
            return None
        line += data
    return parse(line.decode())


def parse(text: str) -> dict[str, Any]:
    """`json` imports `re`, which takes as long as all the rest of this start."""
    try:
        from _json import make_scanner
    except ImportError:
        import json

        value: dict[str, Any] = json.loads(text)
    else:
        value, _ = make_scanner(_Grammar())(text, 0)  # type: ignore[arg-type]
    return value


class _Grammar:
    """What the scanner asks of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


def start(request: dict[str, Any], news: int | None) -> tuple[int, int]:
    """The command's process and the pipe that it writes into; apart from the project there is a stage's
    process around it, which writes into `news` what comes of it."""
    reading, writing = os.pipe()
    keeper, pid = os.getpid(), os.fork()
    if pid == 0 and news is None:
        _become(request, writing)
    elif pid == 0:
        _stage().play(request["stage"], lambda: _become(request, writing), news=news, keeper=keeper)
    os.close(writing)
    return pid, reading


def _stage() -> Any:
    """The module beside this one: an isolated interpreter looks into no folder of ours."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        return __import__("stage")
    finally:
        del sys.path[0]


def _become(request: dict[str, Any], writing: int) -> NoReturn:
    """The child's side; what keeps the command from starting is its output."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in PLAIN_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.chdir(request["cwd"])
        os.execve("/bin/sh", ["sh", "-c", request["command"]], request["env"])
    except (OSError, ValueError) as error:
        os.write(2, f"ralphloop: this check cannot be started: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(CANNOT_RUN)


def clock() -> float:
    """Unlike time.monotonic(), goes on while the machine sleeps: for durations, not for limits, or a closed
    lid would fail a check."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def say(line: str) -> None:
    data = (line + "\n").encode()
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        return  # nobody listens any more


def run(request: dict[str, Any], wakeup: int, *, adopting: bool) -> None:
    began, deadline = clock(), time.monotonic() + request["timeout_s"]
    news = os.memfd_create("news") if "stage" in request else None
    pid, reading = start(request, news)
    say(f'{{"pid": {pid}}}')
    output = Output(reading, request["keep_bytes"])
    command = Command(pid, output, adopting=adopting)
    try:
        how = command.watch(wakeup, deadline)
        duration_s = clock() - began
    finally:
        command.end()
    if how == UNWANTED:
        return
    output.read_rest()
    ending = _ending(command.status if how == ENDED else None)
    if news is not None:
        told = _told_of_stage(news)
        ending = _apart(told, timed_out=how == TIMED_OUT)
        duration_s -= float(told.get("stood", began)) - began
    say(f'{{{ending}, "duration_s": {duration_s:.6f}, {output.result()}}}')


def _told_of_stage(news: int) -> dict[str, str]:
    """A word and its value on each line. A pipe would have to be read while the command runs."""
    os.lseek(news, 0, os.SEEK_SET)
    with open(news, "rb") as file:
        lines = file.read().decode().splitlines()
    return {line.split(" ")[0]: line.partition(" ")[2] for line in lines}


def _apart(news: dict[str, str], *, timed_out: bool) -> str:
    """As `_ending`, with what the stage came to. Without a status the stage was lost in the middle of it."""
    stood = "stood" in news
    ending = _ending(None)
    if "status" in news and not timed_out:
        ending = _ending(int(news["status"]))
    elif not timed_out:
        ending = '"exit_code": null, "signal": null, "timed_out": false'
    lost = "there was no time for it" if timed_out else news.get("why", "its process was lost")
    why = "" if stood else lost
    parts = [f'"{word}": [{news.get(word, "")}]' for word in ("read", "made", "wrote")]
    return f'{ending}, "stage": {{"stood": {str(stood).lower()}, "why": "{why}", {", ".join(parts)}}}'


def _ending(status: int | None) -> str:
    """Of a command whose time was over, neither exit code nor signal is its own."""
    code, number = "null", "null"
    if status is not None and os.WIFSIGNALED(status):
        number = str(os.WTERMSIG(status))
    elif status is not None:
        code = str(os.WEXITSTATUS(status))
    timed_out = "true" if status is None else "false"
    return f'"exit_code": {code}, "signal": {number}, "timed_out": {timed_out}'


def main() -> None:
    prctl(PR_SET_DUMPABLE, 0)  # first of all: from here on nobody of the same user can look in, or reach in
    wakeup = catch_signals()
    adopting = adopt_orphans()
    request = read_request()
    if request is not None:
        run(request, wakeup, adopting=adopting)
    os._exit(0)  # nothing to tidy up; an interpreter takes milliseconds for it


if __name__ == "__main__":
    main()
