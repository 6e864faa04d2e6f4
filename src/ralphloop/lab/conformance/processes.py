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

from ralphloop.errors import TooMuchError
from ralphloop.lab.conformance.answer import OUTPUT_MAX, Answer
from ralphloop.lab.conformance.exchange import Exchange
from ralphloop.lab.conformance.orphans import end_marked

LIMIT_S = 30.0


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
        heard = Exchange(process, data, most=OUTPUT_MAX)
        code, is_cut = None, False
        with process:
            try:
                code = heard.finish(limit_s)
            except subprocess.TimeoutExpired:
                pass
            except TooMuchError:
                is_cut = True
            finally:
                _end(process.pid)
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
        """End those who left their group, known by the folder in their environment; their command lines."""
        with self._lock:
            groups = frozenset(self._ended)
        return end_marked(folder, but_groups=groups)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for group in self._groups:
                _end(group)


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
