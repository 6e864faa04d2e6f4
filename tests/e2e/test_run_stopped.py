"""Ctrl-Z in `run`: the view stops, the work does not, and `fg` draws the view again."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

import pytest

from e2e import mistakes
from e2e.cli_project import Project
from e2e.screen import CommandScreen
from fakes.patience import eventually

BEAT = "#!/bin/sh\ncat >/dev/null\nwhile :; do echo >>beats; sleep 0.1; done\n"


def beats(project: Project) -> int:
    file = project.root / "beats"
    return file.stat().st_size if file.exists() else 0


@pytest.mark.parametrize("options", [(), ("--plain",)])
def test_ctrl_z_stops_the_view_and_not_the_work(tmp_path: Path, options: tuple[str, ...]) -> None:
    project = Project(tmp_path)
    project.program("claude", BEAT)
    project.new()
    command = shlex.join(project.argv("run", "shop", "--yes", *options))
    shell = ["bash", "-c", f"set -m; {command}; echo stopped $?; read line; fg; echo left $?; read line"]
    mark = "begins with task F1" if options else "q quit"
    try:
        with CommandScreen(shell, cwd=project.root, env=project.env()) as screen:
            screen.wait_for(mark)
            eventually(lambda: beats(project))
            screen.type("\x1a")
            screen.wait_for("stopped 148")
            assert options or "shop goes on meanwhile; `fg` shows it again.\n" in screen.text()
            assert screen.modes() == screen.modes_before
            before = beats(project)
            eventually(lambda: beats(project) > before + 2)
            assert "running" in project.run("status", "shop").out
            screen.type("\n")
            screen.wait_for(lambda shown: shown.count("--plain") == 2 if options else "q quit" in shown)
            screen.type("\x03")
            screen.wait_for("left 17")
            assert "why: paused by the person" in screen.text()
            assert screen.modes() == screen.modes_before
    finally:
        for pid in mistakes.supervisors(project):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not mistakes.alive(project))
