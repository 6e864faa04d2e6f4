"""Runs a program to its end in a process group of its own; whatever happens, none of the group is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Ended(NamedTuple):
    code: int | None  # None if its time was over
    output: str


def run(
    words: Sequence[str], env: Mapping[str, str], *, timeout_s: float | None = None, cwd: Path | None = None
) -> Ended:
    """Its exit code, and what it said on both streams."""
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return Ended(None, "")
            raise
    return Ended(process.returncode, output)
