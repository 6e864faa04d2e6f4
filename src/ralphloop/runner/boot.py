"""Which start of the machine this is: what was under way in another one was ended with it."""

from __future__ import annotations

import subprocess

from ralphloop.store import files

UNKNOWN = "unknown"  # the same in every start: nothing then counts as having been ended by one


def identity() -> str:
    """The same from one start of the machine to the next, as Linux or macOS tells it."""
    told = files.read_quietly("/proc/sys/kernel/random/boot_id") or _asked()
    return told.strip() or UNKNOWN


def _asked() -> str:
    try:
        words = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return done.stdout
