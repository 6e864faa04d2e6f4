"""A reader that leaves early (`| head`) is no success: the exit code is the command's own, or 141."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from e2e.cli_project import Project

UNDER_WAY, BROKEN_PIPE = 18, 141


def unread(project: Project, *words: str) -> tuple[int, str]:
    """Exit code and stderr where nobody reads what is printed."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            project.argv(*words),
            cwd=project.root, env=project.env(), stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip
    finally:
        os.close(writer)
    return done.returncode, done.stderr


def test_a_command_that_was_through_keeps_its_exit_code(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.begin()
    assert unread(project, "report", "shop") == (UNDER_WAY, "")


def test_one_that_was_in_the_middle_is_not_called_fine(tmp_path: Path) -> None:
    assert unread(Project(tmp_path), "conformance", "--list") == (BROKEN_PIPE, "")
