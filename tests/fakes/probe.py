"""Tells what a process was given, or ends in one of many ways: a real interpreter and a warm one run it."""

from __future__ import annotations

import atexit
import gc
import json
import locale
import os
import signal
import sys
import threading
import time


def shape() -> dict[str, object]:
    streams = {}
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        same = stream is getattr(sys, f"__{name}__")
        streams[name] = stream and [repr(stream), stream.errors, stream.line_buffering, stream.fileno(), same]
    streams["terminal"] = os.ttyname(0) if os.isatty(0) else None
    mask = os.umask(0)
    return {
        "argv": sys.argv,
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "controlled": os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp(),
        "cwd": os.getcwd(),
        "descriptors": [number for number in range(64) if _is_open(number)],
        "environment": {name: value for name, value in os.environ.items() if name != "_"},
        "file system": [sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()],
        "flags": list(sys.flags),
        "group": os.getpgrp(),
        "leads": os.getsid(0) == os.getpid(),
        "locale": locale.setlocale(locale.LC_CTYPE),
        "path": sys.path,
        "signals": {
            number: str(signal.getsignal(number)).split(" at ")[0] for number in signal.valid_signals()
        },
        "streams": streams,
        "threads": threading.active_count(),
        "collector": [gc.isenabled(), gc.get_threshold()],
        "umask": mask,
        "zone": [time.tzname, time.timezone],
    }


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


ENDS = {
    "shape": lambda: print(json.dumps(shape(), indent=1, sort_keys=True)),
    "none": lambda: None,
    "seven": lambda: sys.exit(7),
    "large": lambda: sys.exit(-1),
    "text": lambda: sys.exit("a last word"),
    "raise": lambda: 1 / 0,
    "leave": lambda: os._exit(9),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "interrupted": lambda: signal.raise_signal(signal.SIGINT),
    "terminated": lambda: signal.raise_signal(signal.SIGTERM),
    "echo": lambda: print(sys.stdin.read(), end=""),
    "unread": lambda: print("nobody reads this"),
    "at exit": lambda: atexit.register(lambda: print("the last act")),
    "a thread": lambda: threading.Timer(0.05, lambda: print("the thread's last word")).start(),
    "unfinished": lambda: print("a line without an end", end=""),
    "both": lambda: (print("out"), print("err", file=sys.stderr)),
    "wait": lambda: (print("ready", flush=True), time.sleep(600)),
}

if __name__ == "__main__":
    ENDS[sys.argv[1]]()
