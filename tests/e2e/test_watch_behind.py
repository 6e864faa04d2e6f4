"""`ralphloop watch &` and `timeout 20 ralphloop run`: a terminal is there, and another program has it."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from pathlib import Path

from e2e.cli_project import Project

SOON_S = 60.0


def test_without_the_terminal_for_itself_the_view_is_lines(tmp_path: Path) -> None:
    """Whoever sets the modes of a terminal that is not its own is stopped, and shows nothing."""
    project = Project(tmp_path)
    project.begin("shop")
    words, env = project.argv("watch", "shop"), project.env({"TERM": "xterm"})
    leader, master = pty.fork()
    if leader == 0:
        watching = os.fork()
        if watching == 0:
            os.setpgid(0, 0)
            os.chdir(project.root)
            os.execve(words[0], words, env)
        _, status = os.waitpid(watching, os.WUNTRACED)
        os._exit(9 if os.WIFSTOPPED(status) else 0)
    shown, due = b"", time.monotonic() + SOON_S
    while b"F1" not in shown and time.monotonic() < due:
        if select.select([master], [], [], 0.5)[0]:
            shown += os.read(master, 4096)
        if os.waitpid(leader, os.WNOHANG) != (0, 0):
            break
    os.close(master)  # its terminal is gone, and with it the watch
    assert b"F1" in shown, shown
    assert b"\x1b[?1049h" not in shown
    os.kill(leader, signal.SIGKILL)
    os.waitpid(leader, 0)
