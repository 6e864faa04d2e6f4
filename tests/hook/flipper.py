"""Run as a program: replaces a path by each of some spare files or links in turn, as fast as it can.

`flipper.py TARGET SPARE…` ends when it is killed, or by itself after two minutes. Each spare is a file or a
link that is copied beside the target and renamed over it, so that nobody ever sees half of one.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time


def flip(target: str, spares: list[str]) -> None:
    waiting = f"{target}.{os.getpid()}"
    contents = [os.readlink(path) if os.path.islink(path) else None for path in spares]
    texts = [b"" if link is not None else _read(path) for path, link in zip(spares, contents, strict=True)]
    deadline = time.monotonic() + 120.0
    turn = 0
    while time.monotonic() < deadline:
        place = turn % len(spares)
        link = contents[place]
        # The other side may have moved the folder away for a moment.
        with contextlib.suppress(OSError):
            if link is not None:
                os.symlink(link, waiting)
            else:
                with open(waiting, "wb") as file:
                    file.write(texts[place])
            os.replace(waiting, target)
        turn += 1


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    flip(sys.argv[1], sys.argv[2:])
