"""Runs a function in a forked process with streams, an environment and a folder of its own.

Where hundreds of runs of a program are wanted, and starting an interpreter takes longer than what it does.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from typing import BinaryIO, NamedTuple

LONGEST_S = 120


class Ended(NamedTuple):
    """`code` is negative for a process that a signal has ended, by the signal's number."""

    code: int
    stdout: bytes
    stderr: str


def run(
    work: Callable[[], object],
    *,
    env: Mapping[str, str],
    cwd: str,
    stdin: bytes = b"",
    later_s: float = 0.0,
    longest_s: int = LONGEST_S,
) -> Ended:
    """What `work` returns is the exit code. It sees a clock that is `later_s` ahead; an alarm ends it."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        pid = os.fork()
        if not pid:
            signal.alarm(longest_s)
            _become(work, (given, out, err), env=env, cwd=cwd, later_s=later_s)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        err.seek(0)
        return Ended(os.waitstatus_to_exitcode(status), out.read(), err.read().decode("utf-8", "replace"))


def _become(
    work: Callable[[], object],
    streams: tuple[BinaryIO, BinaryIO, BinaryIO],
    *,
    env: Mapping[str, str],
    cwd: str,
    later_s: float,
) -> None:
    code = 1
    leave = os._exit  # whatever becomes of the rest of `os`
    try:
        for handle, stream in enumerate(streams):
            os.dup2(stream.fileno(), handle)
        sys.stdin, sys.stdout, sys.stderr = (
            open(handle, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as this lives
            for handle, mode in enumerate("rww")
        )
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        _put_forward(later_s)
        code = _code(work)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        leave(code)


def _code(work: Callable[[], object]) -> int:
    try:
        said = work()
    except SystemExit as leaving:
        said = leaving.code
        if said is not None and not isinstance(said, int):
            sys.stderr.write(f"{said}\n")
            return 1
    return said if isinstance(said, int) else 0


def _put_forward(later_s: float) -> None:
    real = time.time
    setattr(time, "time", lambda: real() + later_s)  # noqa: B010 - mypy knows better
