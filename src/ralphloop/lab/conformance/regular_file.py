"""Opens a file so that nobody waits at a pipe or reads a device without end: a regular one, or an error."""

from __future__ import annotations

import os
import stat
from pathlib import Path

NO_LINK = os.O_NOFOLLOW


def read(path: Path, flags: int = NO_LINK, *, most: int = -1) -> bytes:
    with open(_opened(path, os.O_RDONLY | flags), "rb") as file:
        if 0 <= most < os.fstat(file.fileno()).st_size:
            raise OSError(f"{path} is longer than {most} bytes")
        return file.read(most)


def write(path: Path, data: bytes) -> None:
    with open(_opened(path, os.O_WRONLY | os.O_CREAT | NO_LINK), "wb") as file:
        file.truncate(0)
        file.write(data)


def append(path: Path, data: bytes) -> None:
    with open(_opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK), "ab") as file:
        file.write(data)


def _opened(path: Path, flags: int) -> int:
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is no regular file")
    return handle
