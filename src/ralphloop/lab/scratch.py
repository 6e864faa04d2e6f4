"""A place of its own for a client or an agent: a folder that is gone afterwards, a home, an environment."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

API_KEY = "dummy-key-of-the-scripted-model"
OLD_S = 600.0
TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def scratch_folder(prefix: str, *, keep: bool = False) -> Iterator[Path]:
    """A folder that is removed however the work in it ends; `keep` leaves it."""
    with _terminations_unwind(), interrupts_held() as let_go:
        folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
        try:
            let_go()
            yield folder
        finally:
            if not keep:
                _remove(folder)


def remove_old(prefix: str) -> None:
    """Remove what killed processes of this user left, in folders called by the prefix and a process id."""
    named = re.compile(re.escape(prefix) + r"(\d+)-.+")
    for folder in Path(tempfile.gettempdir()).glob(prefix + "*"):
        found = named.fullmatch(folder.name)
        if found and is_gone(int(found[1])) and _is_old(folder):
            shutil.rmtree(folder, ignore_errors=True)


def is_gone(pid: int) -> bool:
    """Whether no process has this id any more."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _is_old(folder: Path) -> bool:
    """A process of another container, which has no id here, may be at work in a younger one."""
    with contextlib.suppress(OSError):
        found = folder.lstat()
        return (
            stat.S_ISDIR(found.st_mode)
            and found.st_uid == os.getuid()
            and time.time() - found.st_mtime > OLD_S
        )
    return False


@contextlib.contextmanager
def interrupts_held() -> Iterator[Callable[[], object]]:
    """Keep Ctrl-C waiting while something is made that must be cleaned up, until the function is called."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *TERMINATIONS))
    try:
        yield lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _remove(folder: Path) -> None:
    """Delete the folder; a second Ctrl-C does not stop that half-way."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _terminations_unwind() -> Iterator[None]:
    """Let SIGTERM and a closed terminal end the work as Ctrl-C does, through every clean-up."""

    def unwind(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, unwind) for number in TERMINATIONS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def client_env(home: Path, base_url: str, *, path: str) -> dict[str, str]:
    """The whole environment of a client that must not see the person's own: nothing is inherited."""
    return {
        "HOME": str(home),
        "PATH": path,
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": API_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # Makes each request say whether it is the main loop's, a subagent's or a side question.
        "CLAUDE_CODE_GATEWAY_HINT_HEADERS": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
    }


def trust(home: Path, project: Path) -> None:
    """Seed the client's own file, without which it asks about its theme, the key and the folder first."""
    file = home / ".claude.json"
    seeded = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    seeded |= {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
    }
    seeded.setdefault("projects", {})[str(project)] = {"hasTrustDialogAccepted": True}
    file.write_text(json.dumps(seeded), encoding="utf-8")
