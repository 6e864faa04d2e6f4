"""A pseudo-terminal with a process of its own in it, to be rung at."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys


class Terminal:
    """A pseudo-terminal with a process in it, and a child of that in a session without a terminal."""

    def __init__(self) -> None:
        self.master, slave = pty.openpty()
        self.path = os.ttyname(slave)
        script = (
            "import fcntl, os, subprocess, sys, termios\n"
            "os.setsid()\n"
            "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
            "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
            "sys.stderr.write(f'{child.pid}\\n')\n"
            "sys.stderr.flush()\n"
            "sys.stdin.read()\n"
            "child.kill()\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", script], stdin=slave, stderr=subprocess.PIPE, text=True
        )
        os.close(slave)
        assert self.process.stderr is not None
        self.below = int(self.process.stderr.readline())

    def heard(self, *, wait_s: float = 10.0) -> bytes:
        ready, _, _ = select.select([self.master], [], [], wait_s)
        return os.read(self.master, 100) if ready else b""

    def close(self) -> None:
        os.kill(self.below, 9)
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()
        os.close(self.master)
