"""Running one command to its end: what came of it, and nothing of it left behind."""

from __future__ import annotations

import binascii
import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ralphloop.proof.mask import mask, secrets

KEEPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper.py")
KEEP = 64 * 1024
# The keeper ends what a command leaves behind within about three seconds.
MARGIN_S = 8.0
ENDING_S = 5.0
LONGEST_WAIT_S = 3600.0
# How much of a token or key that nobody knows may be cut off at the beginning of the tail.
UNKNOWN_SECRET = 4096

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DIGEST_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_LOST = (
    "ralphloop: the process that ran this check ended, or fell silent, before it had a result. "
    "Perhaps the command ended it (`kill $PPID`), or the system did for want of memory.\n"
)


class Ran(NamedTuple):
    """What came of a command. Of exit code, signal and time limit one says how it ended; none does if the
    process that ran it was lost."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    duration_s: float
    size: int
    digest: str
    tail: str

    @property
    def green(self) -> bool:
        return self.exit_code == 0 and not self.timed_out


def run(command: str, *, cwd: str, env: Mapping[str, str], timeout_s: float, keep: int = KEEP) -> Ran:
    """Run a command line with `sh`, without stdin; when this returns, nothing that it started is left."""
    if os.name != "posix":
        raise OSError("checks need a POSIX system: run this loop on Linux, macOS or WSL")
    known = secrets(env)
    hidden = max([UNKNOWN_SECRET, *map(len, known)])
    request = {
        "command": command, "cwd": cwd, "env": {**env, "RALPHLOOP_CHECK": "1"},
        "timeout_s": timeout_s, "keep_bytes": keep + hidden,
    }  # fmt: skip
    began = time.monotonic()
    said = _ask(json.dumps(request).encode() + b"\n", began + timeout_s + MARGIN_S)
    if said is None:
        lost_s = time.monotonic() - began
        return Ran(None, None, False, lost_s, 0, _DIGEST_OF_NOTHING, _LOST)
    try:
        raw = binascii.a2b_base64(said["tail"])
    except ValueError:
        raw = b""
    whole = said["size"] == len(raw)
    tail = _shown(raw, known, hidden=0 if whole else hidden, keep=keep)
    return Ran(
        said["exit_code"], said["signal"], said["timed_out"], said["duration_s"],
        said["size"], said["sha256"], tail,
    )  # fmt: skip


def _shown(raw: bytes, known: list[str], *, hidden: int, keep: int) -> str:
    """The end of the output as a terminal may have it. Of a secret that was cut off, what is left lies
    within the first `hidden` characters, and masking others does not move it."""
    text = mask(raw.decode("utf-8", "surrogateescape"), known)[hidden:]
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    text = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    return text[max(0, len(text) - keep) :]


def _ask(request: bytes, deadline: float) -> dict[str, Any] | None:
    """The keeper's result; None if it has none. However this ends, the keeper has ended before."""
    keeper = subprocess.Popen(
        [sys.executable or "python3", "-I", "-S", "-X", "utf8", KEEPER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        bufsize=0, cwd="/", close_fds=True, start_new_session=True,
    )  # fmt: skip
    said = bytearray()
    try:
        _exchange(keeper, request, deadline=deadline, said=said)
    finally:
        _end(keeper)
        lines = [_parsed(bytes(line)) for line in said.split(b"\n")[:-1]]
        pid = lines[0].get("pid") if lines else None
        if isinstance(pid, int) and not (len(lines) > 1 and _is_result(lines[1])):
            _kill_group(pid)  # it started the command, and may have been killed before it could end it
    return lines[1] if len(lines) > 1 and _is_result(lines[1]) else None


def _parsed(line: bytes) -> dict[str, Any]:
    """An object, empty for anything else: a command can write into the keeper's own pipe."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_result(said: dict[str, Any]) -> bool:
    whole = (int, type(None))
    kinds: dict[str, Any] = {"exit_code": whole, "signal": whole, "timed_out": bool,
                             "duration_s": (int, float), "size": int, "sha256": str, "tail": str}  # fmt: skip
    return all(name in said and isinstance(said[name], kind) for name, kind in kinds.items())


def _exchange(keeper: subprocess.Popen[bytes], request: bytes, *, deadline: float, said: bytearray) -> None:
    """Hand over the request and collect what the keeper says, until it is done or the deadline is over."""
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    os.set_blocking(keeper.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(keeper.stdout, selectors.EVENT_READ)
        selector.register(keeper.stdin, selectors.EVENT_WRITE)
        while said.count(b"\n") < 2:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return
            for key, _ in selector.select(min(left_s, LONGEST_WAIT_S)):
                if key.fileobj is keeper.stdout:
                    data = os.read(key.fd, KEEP)
                    if not data:
                        return
                    said += data
                else:
                    request = _send_some(key.fd, request)
                    if not request:
                        selector.unregister(keeper.stdin)


def _send_some(handle: int, data: bytes) -> bytes:
    """What is left to send; nothing if nobody reads any more, as its end of file will tell."""
    try:
        return data[os.write(handle, data) :]
    except BrokenPipeError:
        return b""


def _end(keeper: subprocess.Popen[bytes]) -> None:
    """A keeper whose stdin is closed ends all that it started, and then itself; one that cannot is killed."""
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    keeper.stdin.close()
    try:
        keeper.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        _kill_group(keeper.pid)
        keeper.wait()
    keeper.stdout.close()


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):  # gone already
        os.killpg(pid, signal.SIGKILL)
