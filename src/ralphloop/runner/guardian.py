"""The agent's client and all that it starts: a process of its own, which outlives a killed supervisor just
long enough to end them.

`python3 -I -S guardian.py` reads a request line from stdin and says on stdout the client's process id, or
what kept it from starting; when everything has ended, how. In between it passes on the words that come by
stdin, whose end means that nobody wants the client any more. What the client writes does not pass through
here: its stdout is a pipe of the supervisor's.
"""

from __future__ import annotations

import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn
else:
    import _signal as signal

if not __package__:  # a script by its path: there may be no package of our name to import from
    _package = type(sys)("ralphloop")
    _package.__dict__["__path__"] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    sys.modules["ralphloop"] = _package

from ralphloop.errors import StartError  # noqa: E402 - needs the package above
from ralphloop.proof import keeper  # noqa: E402

GRACE_S = 2.0
KEEP_BYTES = 4096
PR_SET_PDEATHSIG = 1
FOLDER, PROGRAM = b"folder", b"program"

SIGNALS = {b"interrupt": signal.SIGINT, b"terminate": signal.SIGTERM, b"kill": signal.SIGKILL}


def start(request: dict[str, Any]) -> tuple[int, int]:
    """The client's process, and the pipe of its stderr."""
    given = (request["prompt"], request["output"])
    for handle in given:
        os.set_inheritable(handle, False)
    reading, writing = os.pipe()
    failure, failing = os.pipe()  # closed by the system when the program is the client's
    pid = os.fork()
    if pid == 0:
        _become(request, writing, failing)
    for handle in (*given, writing, failing):
        os.close(handle)
    said = os.read(failure, keeper.CHUNK)
    os.close(failure)
    if said:
        os.waitpid(pid, 0)
        what, number = said.split()
        raise StartError(what.decode(), int(number))
    return pid, reading


def _become(request: dict[str, Any], errors: int, failing: int) -> NoReturn:
    """The child's side: one write into `failing` says what went wrong."""
    what = FOLDER
    try:
        _die_with_parent(request["guardian"])
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in keeper.PLAIN_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        for handle, place in ((request["prompt"], 0), (request["output"], 1), (errors, 2)):
            os.dup2(handle, place)
        os.chdir(request["cwd"])
        what = PROGRAM
        os.execvpe(request["words"][0], request["words"], request["env"])
    except OSError as error:
        os.write(failing, b"%s %d" % (what, error.errno or 0))
    except ValueError:  # a zero byte, which no program can be given
        os.write(failing, b"%s 0" % what)
    finally:
        os._exit(keeper.CANNOT_RUN)


def _die_with_parent(parent: int) -> None:
    """A guardian that is killed takes the client along, where the system can do that."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != parent:  # it died before it could be asked for
        os._exit(keeper.CANNOT_RUN)


def watch(client: keeper.Command, errors: keeper.Output, wakeup: int) -> None:
    """Pass on what the supervisor says until the client has ended, or nobody wants it any more."""
    handles = [0, wakeup, errors.handle]
    words = b""
    while client.status is None:
        ready = select.select(handles, [], [])[0]
        if errors.handle in ready and errors.read() == 0:
            handles.remove(errors.handle)
        if wakeup in ready and keeper.ASKED_TO_END.intersection(os.read(wakeup, keeper.CHUNK)):
            return
        if 0 in ready:
            data = os.read(0, keeper.CHUNK)
            if not data:
                return
            words = obey(client, words + data)
        client.reap()


def obey(client: keeper.Command, words: bytes) -> bytes:
    """Send the signal that each whole line asks for; what is not a whole line yet."""
    *whole, rest = words.split(b"\n")
    for word in whole:
        if word in SIGNALS:
            client.send(SIGNALS[word])
    return rest


def run(request: dict[str, Any], wakeup: int, *, adopting: bool) -> None:
    try:
        pid, reading = start({**request, "guardian": os.getpid()})
    except StartError as error:
        keeper.say(f'{{"failed": "{error.what}", "errno": {error.number}}}')
        return
    keeper.say(f'{{"pid": {pid}}}')
    errors = keeper.Output(reading, KEEP_BYTES)
    client = keeper.Command(pid, errors, adopting=adopting)
    try:
        watch(client, errors, wakeup)
    finally:
        client.end(GRACE_S)
    errors.read_rest()
    keeper.say(f"{{{_ending(client.status)}, {errors.result()}}}")


def _ending(status: int | None) -> str:
    code, number = "null", "null"
    if status is not None and os.WIFSIGNALED(status):
        number = str(os.WTERMSIG(status))
    elif status is not None:
        code = str(os.WEXITSTATUS(status))
    return f'"code": {code}, "signal": {number}'


def main() -> None:
    wakeup = keeper.catch_signals()
    adopting = keeper.adopt_orphans()
    request = keeper.read_request()
    if request is not None:
        run(request, wakeup, adopting=adopting)
    os._exit(0)  # nothing to tidy up; an interpreter takes milliseconds for it


if __name__ == "__main__":
    main()
