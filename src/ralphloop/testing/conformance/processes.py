"""Runs commands so that nothing of them stays behind, however the run is ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ralphloop.testing.conformance.answer import Answer

LIMIT_S = 30.0
GRACE_S = 2.0  # for the pipes of what was ended; a child that left the group may hold them


class Processes:
    """The processes that are running; closing it ends them all and lets no other begin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
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
        try:
            out, err = process.communicate(data, timeout=limit_s)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            code, (out, err) = None, _ended(process)
        finally:
            _end(process.pid)
            with self._lock:
                self._groups.discard(process.pid)
        duration_ms = (time.perf_counter() - begun) * 1000
        return Answer(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), duration_ms)

    def _start(self, words: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with self._lock:
            if self._closed:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                list(words), cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe,
                start_new_session=True,
            )  # fmt: skip
            self._groups.add(process.pid)
        return process

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for group in self._groups:
                _end(group)


def _ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What it said until its group was ended."""
    _end(process.pid)
    try:
        return process.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()
        return b"", b""


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
