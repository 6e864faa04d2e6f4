"""Starts the program that tells the person about a loop's end, and never waits for it.

A child that keeps the hook's stdout open would make the client refuse our answer (2.1.325), so it gets a
session of its own and nothing of ours.
"""

from __future__ import annotations

import sys

from ralphloop import system as os
from ralphloop.domain.model import ASKED, PID_VARIABLE
from ralphloop.engine.words import own_script, package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Optional

    from ralphloop.domain.model import LoopState
    from ralphloop.store.loop import LoopFiles


def announce(
    loop: LoopFiles,
    state: LoopState,
    env: Mapping[str, str],
    *,
    before: tuple[Optional[str], str] = (None, ""),
) -> None:
    """Say what the loop has come to, once; `before` is what it had come to at the stop before, and why. A
    supervisor speaks for its loop itself."""
    if state.outcome is None or (state.outcome, state.detail) == before:
        return
    if loop.record.supervision is not None or not is_wanted(loop.record.root, env):
        return
    from ralphloop.domain.table import outcome

    if outcome(state.outcome).told:
        _start(loop, [state.outcome], env)


def announce_question(loop: LoopFiles, task: str, env: Mapping[str, str]) -> None:
    """Say that the agent asks about this task while the loop goes on."""
    if is_wanted(loop.record.root, env):
        _start(loop, [ASKED, "--task=" + task], env)


def is_wanted(root: str, env: Mapping[str, str]) -> bool:
    """Whether there are settings at all; what they say is read by the program that is started."""
    if env.get("RALPHLOOP_NOTIFY"):
        return True
    return os.path.exists(user_file(env)) or os.path.exists(os.path.join(root, ".ralph", "config.toml"))


def user_file(env: Mapping[str, str]) -> str:
    """The same place as `config.user_file`, which is not for the hot path."""
    base = env.get("XDG_CONFIG_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, "ralphloop", "config.toml")


def _start(loop: LoopFiles, about: list[str], env: Mapping[str, str]) -> None:
    pid = env.get(PID_VARIABLE) or "%d" % os.getppid()
    words = [*_program(), "notify", "--loop=" + loop.record.id, "--terminal=" + pid, "--about", *about]
    try:
        if sys.platform == "win32":
            _start_on_windows(words, loop.record.root, env)
        else:
            _start_detached(words, loop.record.root, env)
    except (OSError, ValueError) as error:
        loop.log("notify: cannot start (%s)" % error)


def _program() -> list[str]:
    """Our own command line: a plugin's finds a Python that is new enough, else this one must be."""
    own = own_script()
    if os.path.isfile(own) and sys.platform != "win32":
        return ["/bin/sh", own]
    return [os.path.realpath(sys.executable), "-I", package()]


def _start_detached(words: list[str], folder: str, env: Mapping[str, str]) -> None:
    """Fork twice: whoever started us sees no child of ours, and no zombie is left."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if not os.fork():
            _close_all()
            os.chdir(folder)
            os.execve(words[0], words, dict(env))
    finally:
        os._exit(0)


def _close_all() -> None:
    nowhere = os.open("/dev/null", os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nowhere, handle)
    try:
        handles = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        handles = list(range(3, 1024))
    for handle in handles:
        if handle > 2:
            try:
                os.close(handle)
            except OSError:
                pass


def _start_on_windows(words: list[str], folder: str, env: Mapping[str, str]) -> None:
    import subprocess

    flags = 0x00000008 | 0x00000200  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
    nowhere = subprocess.DEVNULL
    subprocess.Popen(
        words, cwd=folder, env=dict(env), stdin=nowhere, stdout=nowhere, stderr=nowhere, creationflags=flags
    )
