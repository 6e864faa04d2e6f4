"""The terminal's bell, rung in the terminal that a process runs in."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping

from ralphloop.config import Config
from ralphloop.domain.model import PID_VARIABLE
from ralphloop.errors import NotSentError
from ralphloop.notify.message import Message

BELL = b"\a"
DEPTH = 32  # parents that are looked at
_PTS_MAJORS, _CONSOLE_MAJOR = range(136, 144), 4


def send(_message: Message, _settings: Config, *, env: Mapping[str, str], pid: int) -> str:
    return ring(env, pid=pid)


def ring(env: Mapping[str, str], *, pid: int = 0) -> str:
    """Ring where this process runs, or one of those above it; the terminal's path."""
    for path in terminals(env, pid=pid):
        if _ring_at(path):
            return path
    raise NotSentError("no terminal of yours was found")


def terminals(env: Mapping[str, str], *, pid: int = 0) -> Iterator[str]:
    """Of the process that was named, of this one, of the client that runs it."""
    client = env.get(PID_VARIABLE, "")
    for known in (pid, os.getpid(), int(client) if client.isascii() and client.isdigit() else 0):
        for _ in range(DEPTH):
            if known <= 1:
                break
            path, known = _look(known)
            if path:
                yield path
                break


def _look(pid: int) -> tuple[str, int]:
    """The terminal of a process, if it has one, and its parent."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return _device(int(fields[4])), int(fields[1])
    except (OSError, IndexError, ValueError):
        return ("", 0) if os.path.isdir("/proc/self") else _ask_ps(pid)


def _device(number: int) -> str:
    major, minor = number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00
    if major in _PTS_MAJORS:
        path = f"/dev/pts/{minor + 256 * (major - _PTS_MAJORS[0])}"
    elif major == _CONSOLE_MAJOR:
        path = f"/dev/tty{minor}"
    else:
        return ""
    try:
        return path if os.stat(path).st_rdev == os.makedev(major, minor) else ""
    except OSError:
        return ""


def _ask_ps(pid: int) -> tuple[str, int]:
    """Where there is no /proc, as on a Mac."""
    try:
        words = ["/bin/ps", "-o", "tty=,ppid=", "-p", str(pid)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=5, check=True)
        name, parent = done.stdout.split()
        return ("" if "?" in name else "/dev/" + name), int(parent)
    except (OSError, ValueError, subprocess.SubprocessError):
        return "", 0


def _ring_at(path: str) -> bool:
    """Only at a terminal that is ours; it never becomes the one that controls us."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        found = os.fstat(handle)
        if not stat.S_ISCHR(found.st_mode) or found.st_uid != os.getuid() or not os.isatty(handle):
            return False
        return os.write(handle, BELL) == len(BELL)
    except OSError:
        return False
    finally:
        os.close(handle)
